"""Counts and perplexities against hand calculations."""

import json
import math

import pytest

from charlm.text.corpus.tokens import share
from charlm.text.perplexity.perplexity import (
    Counts,
    Evaluation,
    Log10Sums,
    Perplexity,
    ScoredSentence,
    counts_of,
    log10_sums,
    shown_ppl,
)

# "a b" and "zz", of which zz is unknown: 3 words, 2 sentences, 5 tokens.
COUNTS = Counts(n_sentences=2, n_words=3, n_oov=1, n_characters=7, n_bytes=7)
SUMS = log10_sums([-1.0, -2.0, -0.5, -3.0, -0.5], [True, True, True, False, True])
BY_HAND = {
    "log10_prob": -7.0,
    "n_left_out": 0,
    "ppl": 10 ** (7 / 5),
    "ppl1": 10 ** (7 / 3),
    "ppl_known": 10 ** (4 / 4),
    "bits_per_character": 7 * math.log2(10) / 7,
    "bits_per_byte": 7 * math.log2(10) / 7,
}


def test_every_perplexity_divides_by_its_own_denominator() -> None:
    assert Perplexity(COUNTS, SUMS).to_dict() == pytest.approx(BY_HAND)


def test_tokens_of_probability_zero_leave_sum_and_denominator() -> None:
    perplexity = Perplexity(Counts(1, 2), log10_sums([-math.inf, -2.0, -1.0], [True] * 3))
    assert perplexity.sums == Log10Sums(-3.0, 0.0, 1)
    assert perplexity.ppl == pytest.approx(10 ** (3 / 2))
    assert perplexity.ppl1 == pytest.approx(10 ** (3 / 1))


@pytest.mark.parametrize(
    ("counts", "log10_prob", "which"),
    [
        (Counts(n_sentences=1), -1.0, "ppl1"),  # no words
        (Counts(), 0.0, "ppl"),
        (Counts(), 0.0, "bits_per_character"),
        (Counts(1, 1), -700.0, "ppl"),  # 10 to the 350 is not a float
    ],
)
def test_a_perplexity_that_does_not_exist_is_none(
    counts: Counts, log10_prob: float, which: str
) -> None:
    assert Perplexity(counts, Log10Sums(log10_prob)).to_dict()[which] is None


@pytest.mark.parametrize(
    ("words", "n_characters", "n_bytes"),
    [
        ([], 1, 1),
        (["a"], 2, 2),
        (["naïve", "語"], 8, 11),
        (["<unk>:cat", "<unk>"], 10, 10),
        (["<unk>:"], 7, 7),
    ],
)
def test_a_sentence_has_its_blanks_and_one_newline_as_characters(
    words: list[str], n_characters: int, n_bytes: int
) -> None:
    counts = counts_of(words, n_oov=0)
    assert (counts.n_characters, counts.n_bytes) == (n_characters, n_bytes)


def test_counts_add_up_field_by_field() -> None:
    assert Counts(1, 2, 3, 4, 5, 6) + Counts(10, 20, 30, 40, 50, 60) == Counts(
        11, 22, 33, 44, 55, 66
    )
    assert Counts(n_sentences=2, n_words=3).n_tokens == 5
    assert COUNTS.n_known_tokens == 4


def test_sums_add_up_field_by_field() -> None:
    assert Log10Sums(-1.0, -0.5, 1) + Log10Sums(-2.0, -0.25, 2) == Log10Sums(-3.0, -0.75, 3)


def test_a_million_small_probabilities_are_summed_without_loss() -> None:
    assert log10_sums([-0.1] * 1_000_000, [True] * 1_000_000).log10_prob == -100_000.0


def test_a_sentence_alone_has_the_perplexities_of_its_tokens() -> None:
    sentence = ScoredSentence(("a", "zz"), (2, 1), (True, False), (-1.0, -3.0, -0.5))
    assert sentence.mapped == ("a", "<unk>")
    assert sentence.perplexity.counts == Counts(1, 2, 1, 0, 5, 5)
    assert sentence.perplexity.ppl == pytest.approx(10 ** (4.5 / 3))
    assert sentence.perplexity.ppl_known == pytest.approx(10 ** (1.5 / 2))


def test_an_evaluation_is_one_flat_object_of_json() -> None:
    evaluation = Evaluation(
        "a.txt", COUNTS, {"sentence": Perplexity(COUNTS, SUMS)}, {"sentence": "s"}
    )
    value = evaluation.to_dict()
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert value.pop("sentence") == {**Perplexity(COUNTS, SUMS).to_dict(), "signature": "s"}
    assert value == {
        "name": "a.txt",
        "n_sentences": 2,
        "n_words": 3,
        "n_oov": 1,
        "n_changed": 0,
        "n_characters": 7,
        "n_bytes": 7,
        "n_pieces": 0,
        "n_unmarked": 0,
        "n_tokens": 5,
        "n_known_tokens": 4,
        "oov_share": 1 / 3,
        "changed_share": 0.0,
    }


def test_a_share_of_nothing_is_zero() -> None:
    assert (share(1, 4), share(0, 0)) == (0.25, 0.0)


@pytest.mark.parametrize(
    ("ppl", "shown"),
    [
        (77.8, "77.80"),
        (9_999_999.0, "9999999.00"),
        (1e7, "1.00e+07"),
        (1.76381e211, "1.76e+211"),  # two decimals would take 215 characters
        (-2.5e80, "-2.50e+80"),
        (None, "undefined"),
    ],
)
def test_a_perplexity_is_as_long_as_it_can_be_read(ppl: float | None, shown: str) -> None:
    assert shown_ppl(ppl) == shown
