"""The estimator against lmplz's stored figures, and a slow one where lmplz has no answer."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from charlm.errors import ConfigError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import FALLBACK, Estimate, discounts_of, estimate
from charlm.ngram.word_ids import MARKS, WordIds, encode

Sentences = list[list[str]]
Entries = tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]
EntriesOf = Callable[[BackoffModel], Entries]
Slow = Callable[..., Any]
Says = Callable[[str, int, str], Any]
TextOf = Callable[[str], Sentences]

CLOSE = 1e-6  # log10; discounts are rounded as lmplz rounds them
PRUNINGS = ("0", "0 0 1", "0 1 2", "1", "1 1 2")
answers = pytest.mark.parametrize(
    ("name", "order", "pruning"),
    [
        (name, order, pruning)
        for name in ("two", "tiny", "made")
        for order in range(1, 7)
        for pruning in PRUNINGS
        if len(pruning.split()) <= order
    ],
)
TEXT = """\
he saw <unk> and she saw <unk>
<unk> saw her and he saw the dog
the dog saw <unk>

he
<unk> and the dog and the cat
he saw the cat and she saw the cat
the cat saw <unk> and she ran
"""
WITH_UNK = [line.split() for line in TEXT.split("\n")[:-1]]
UNSEEN = ("owl", "fox")


def estimated(
    sentences: Sentences, *, order: int, prune: Sequence[int] = (0,), words: Sequence[str] = ()
) -> Estimate:
    word_ids = WordIds((*MARKS, *words))
    ids = encode(sentences, word_ids)
    return estimate(ids, words=word_ids.words, order=order, prune=prune)


def numbers(pruning: str) -> tuple[int, ...]:
    return tuple(map(int, pruning.split()))


def assert_equal_entries(found: Entries, expected: Any) -> None:
    for ours, theirs in zip(found, (expected.probs, expected.backoffs), strict=True):
        assert ours.keys() == theirs.keys()
        mine = np.array([ours[ngram] for ngram in theirs])
        np.testing.assert_allclose(mine, list(theirs.values()), rtol=0, atol=CLOSE)


@answers
def test_every_probability_back_off_discount_and_fallback_is_lmplzs(
    name: str, order: int, pruning: str, lmplz_says: Says, text_of: TextOf, entries_of: EntriesOf
) -> None:
    result = estimated(text_of(name), order=order, prune=numbers(pruning))
    expected = lmplz_says(name, order, pruning)
    probs, backoffs = entries_of(result.model)
    if order == 1:  # lmplz lists no back-offs where all are of the highest order
        assert expected.backoffs == {}
    assert_equal_entries((probs, backoffs), expected)
    values = [each.values for each in result.discounts]
    np.testing.assert_allclose(values, expected.discounts, rtol=0, atol=1e-5)
    assert result.fallback_orders == expected.fallback_orders


@answers
def test_the_slow_estimator_has_lmplzs_figures(
    name: str, order: int, pruning: str, lmplz_says: Says, text_of: TextOf, slow_estimate: Slow
) -> None:
    slow = slow_estimate(text_of(name), order=order, prune=numbers(pruning))
    expected = lmplz_says(name, order, pruning)
    assert_equal_entries((slow.probs, slow.backoffs), expected)
    np.testing.assert_allclose(slow.discounts, expected.discounts, rtol=0, atol=1e-5)
    assert slow.fallback_orders == expected.fallback_orders


@pytest.mark.parametrize("order", [2, 3, 6])
def test_without_its_slip_over_the_last_ngram_lmplz_would_give_other_figures(
    order: int, lmplz_says: Says, text_of: TextOf, slow_estimate: Slow
) -> None:
    expected = lmplz_says("made", order, "0")
    without = slow_estimate(text_of("made"), order=order, has_slip=False)
    gaps = np.abs(np.array(without.discounts) - expected.discounts)
    assert gaps[:-1].max() > 0.01
    assert gaps[-1].max() < 1e-5


@pytest.mark.parametrize("prune", [(0,), (0, 0, 1), (0, 1), (1,), (1, 2)])
@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])
def test_unk_in_the_text_is_a_word_like_any_other(
    order: int, prune: Sequence[int], entries_of: EntriesOf, slow_estimate: Slow
) -> None:
    prune = prune[:order]
    model = estimated(WITH_UNK, order=order, prune=prune).model
    slow = slow_estimate(WITH_UNK, order=order, prune=prune)
    assert_equal_entries(entries_of(model), slow)
    counts = Counter(word for words in WITH_UNK for word in words)
    kept = {word for word, count in counts.items() if count > prune[0]}
    assert set(model.words) == {*kept, "<s>", "</s>"}


def test_unk_in_the_text_has_the_figures_of_a_renamed_word_without_lmplzs_own_unk(
    entries_of: EntriesOf,
) -> None:
    renamed = [["it" if word == "<unk>" else word for word in words] for words in WITH_UNK]
    probs, _ = entries_of(estimated(WITH_UNK, order=3).model)
    others, _ = entries_of(estimated(renamed, order=3).model)
    n_words = len(estimated(WITH_UNK, order=3).model.words) - 1
    # lmplz's word that does not occur has γ / (V + 1), so a word seen has γ / V − γ / (V + 1) more.
    gain = 10 ** others["<unk>",] * ((n_words + 1) / n_words - 1)
    for word in ("<unk>", "he", "dog", "</s>"):
        other = others["it" if word == "<unk>" else word,]
        assert 10 ** probs[word,] == pytest.approx(10**other + gain, rel=1e-6)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_words_that_do_not_occur_share_the_back_off_of_the_unigrams(
    order: int, entries_of: EntriesOf, slow_estimate: Slow
) -> None:
    model = estimated(WITH_UNK, order=order, words=UNSEEN).model
    slow = slow_estimate(WITH_UNK, order=order, words=UNSEEN)
    assert_equal_entries(entries_of(model), slow)
    probs, _ = entries_of(model)
    assert probs["owl",] == probs["fox",] < probs["ran",]


def test_pruned_words_go_with_those_that_do_not_occur_and_the_marks_stay(
    entries_of: EntriesOf,
) -> None:
    text = [["a", "b", "a"], ["a", "c"], ["a"]]
    model = estimated(text, order=3, prune=(1,), words=UNSEEN).model
    assert model.words == ("<unk>", "<s>", "</s>", "a")
    assert estimated(text, order=3, prune=(9,)).model.words == ("<unk>", "<s>", "</s>")
    probs, _ = entries_of(model)
    assert set(probs) == {*((word,) for word in model.words), ("<s>", "a"), ("a", "</s>")}


def test_the_order_in_which_a_closed_vocabulary_lists_its_words_changes_nothing(
    text_of: TextOf, entries_of: EntriesOf, lmplz_says: Says
) -> None:
    sentences = text_of("made")
    words = sorted({word for sentence in sentences for word in sentence})
    model = estimated(sentences, order=5, words=words).model
    assert_equal_entries(entries_of(model), lmplz_says("made", 5, "0"))


@pytest.mark.parametrize("prune", [(0,), (0, 0, 1)])
def test_orders_beyond_lmplzs_have_the_slow_estimators_figures(
    prune: tuple[int, ...], slow_estimate: Slow, entries_of: EntriesOf
) -> None:
    letters = [list(" ".join(words)) for words in WITH_UNK]
    model = estimated(letters, order=9, prune=prune).model
    assert len(model.orders[8]) > 0
    slow = slow_estimate(letters, order=9, prune=prune)
    assert_equal_entries(entries_of(model), slow)


def test_longer_orders_than_the_longest_sentence_are_empty() -> None:
    model = estimated([["a"], []], order=6).model
    assert list(map(len, model.orders)) == [4, 3, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("order", "prune", "message"),
    [
        (3, (0, 2, 1), "--prune 0,2,1: expected counts that do not fall, as 0,0,1"),
        (2, (0, 0, 1), "--prune 0,0,1: 3 counts for order 2; expected fewer"),
    ],
)
def test_what_makes_no_model_is_said_in_one_line(
    order: int, prune: Sequence[int], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        estimated(WITH_UNK, order=order, prune=prune)
    assert str(caught.value) == message


def test_ngrams_keep_their_contexts_where_only_a_shorter_order_loses_some() -> None:
    text = [["a", "b"], ["a", "b"], []]  # `<s> </s>` stands once, and in no trigram
    word_ids = WordIds()
    ids = encode(text, word_ids)
    model = estimate(ids, words=word_ids.words, order=3, prune=(0, 1, 1)).model
    assert [len(grams) for grams in model.orders] == [5, 3, 2]
    scores = model.score([["a", "b"]])
    assert scores.lengths.tolist() == [2, 3, 3]


def counts_of_counts(*sizes: int) -> np.ndarray:
    """So many counts of 1, of 2, …"""
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def test_the_discounts_are_those_of_the_formula() -> None:
    # Y = 8 / (8 + 2 · 4) = 1/2; 1 − 2 · Y · 4/8, 2 − 3 · Y · 2/4, 3 − 4 · Y · 1/2
    found = discounts_of(counts_of_counts(8, 4, 2, 1, 7))
    assert (found.values, found.are_fallback) == ((0.5, 1.25, 2.0), False)


def test_counts_of_zero_do_not_matter() -> None:
    counts = counts_of_counts(8, 4, 2, 1)
    assert discounts_of(np.concatenate([np.zeros(9, int), counts])) == discounts_of(counts)


def test_no_count_of_four_leaves_the_third_discount_whole() -> None:
    assert discounts_of(counts_of_counts(8, 4, 2)).values == (0.5, 1.25, 3.0)


@pytest.mark.parametrize(
    "sizes",
    [
        (0, 4, 2, 1),
        (8, 0, 2, 1),
        (8, 4, 0, 1),
        (),
        (2, 1, 2, 1),  # Y = 1/2; the second is 2 − 3 · Y · 2 = −1
        (8, 4, 2, 7),  # Y = 1/2; the third is 3 − 4 · Y · 7/2 = −4
    ],
)
def test_an_order_without_counts_of_1_2_and_3_or_with_a_discount_below_zero_takes_the_fallback(
    sizes: tuple[int, ...],
) -> None:
    found = discounts_of(counts_of_counts(*sizes))
    assert (found.values, found.are_fallback) == (FALLBACK, True)


def test_a_discount_of_zero_is_one() -> None:
    # Y = 1/2; the third is 3 − 4 · Y · 3/2 = 0
    assert discounts_of(counts_of_counts(8, 4, 2, 3)).values == (0.5, 1.25, 0.0)


def test_three_and_more_share_a_discount_and_zero_has_none() -> None:
    found = discounts_of(counts_of_counts(8, 4, 2, 1))
    assert found.of(np.array([0, 1, 2, 3, 4, 900])).tolist() == [0.0, 0.5, 1.25, 2.0, 2.0, 2.0]
