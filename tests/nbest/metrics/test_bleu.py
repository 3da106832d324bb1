"""BLEU, chrF, TER from summed counts: sacrebleu's for any choice, and lists with counts alone."""

from typing import get_args

import numpy as np
import pytest
import sacrebleu

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.metrics.bleu import Bleu, CountedBleu
from charlm.nbest.metrics.metric_names import MetricName, lower_is_better, metric_named, name_in
from charlm.nbest.references.references import SeveralReferences

VOCABULARY = [
    "the",
    "cat",
    "sat,",
    "on",
    "a",
    "Mat.",
    "don't",
    "10%",
    "\u4eca\u5929\uff0c",
    "\u00ab1,5\u00bb",
]


def random_lists(
    seed: int, *, n_lists: int
) -> tuple[list[NbestList], list[dict[str, tuple[str, ...]]]]:
    """Lists, and three files of their references, of which only the first has words in each."""
    generator = np.random.default_rng(seed)

    def text() -> tuple[str, ...]:
        return tuple(generator.choice(VOCABULARY, size=generator.integers(0, 12)).tolist())

    lists = [
        NbestList(str(number), tuple(Hypothesis(text(), {}, "x:1") for _ in range(4)))
        for number in range(n_lists)
    ]
    first = {nbest.id: (*text(), "the") for nbest in lists}
    return lists, [first, *({nbest.id: text() for nbest in lists} for _ in range(2))]


SACREBLEUS: dict[MetricName, sacrebleu.BLEU | sacrebleu.CHRF | sacrebleu.TER] = {
    "bleu": sacrebleu.BLEU(),
    "bleu-zh": sacrebleu.BLEU(tokenize="zh"),
    "bleu-char": sacrebleu.BLEU(tokenize="char"),
    "bleu-intl": sacrebleu.BLEU(tokenize="intl"),
    "bleu-none": sacrebleu.BLEU(tokenize="none"),
    "chrf": sacrebleu.CHRF(),
    "chrf++": sacrebleu.CHRF(word_order=2),
    "ter": sacrebleu.TER(),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_files", [1, 3])
@pytest.mark.parametrize("name", SACREBLEUS)
def test_summed_counts_give_sacrebleus_figure_of_a_corpus_for_every_choice(
    name: MetricName, n_files: int, seed: int
) -> None:
    lists, files = random_lists(seed, n_lists=1 + 2 * seed)
    metric = metric_named(name)
    statistics = metric.statistics(lists, SeveralReferences(files[:n_files]))
    for rank in range(4):
        sums_K = np.sum([counts_HK[rank] for counts_HK in statistics], axis=0)
        wanted = SACREBLEUS[name].corpus_score(
            [" ".join(nbest.hypotheses[rank].words) for nbest in lists],
            [[" ".join(each[nbest.id]) for nbest in lists] for each in files[:n_files]],
        )
        error = metric.error(sums_K)
        found = 100 * (error if name == "ter" else 1 - error)
        assert found == pytest.approx(wanted.score, abs=1e-9)


@pytest.mark.parametrize(
    ("matches", "totals", "lengths"),
    [
        ([0, 0, 0, 0], [5, 4, 3, 2], (5, 5)),
        ([3, 1, 0, 0], [5, 4, 3, 2], (5, 7)),
        ([3, 0, 1, 0], [5, 4, 3, 2], (5, 4)),
        ([2, 1, 0, 0], [2, 1, 0, 0], (2, 2)),
        ([0, 0, 0, 0], [0, 0, 0, 0], (0, 3)),
    ],
)
def test_counts_of_zero_are_smoothed_as_sacrebleu_does(
    matches: list[int], totals: list[int], lengths: tuple[int, int]
) -> None:
    wanted = sacrebleu.BLEU.compute_bleu(list(matches), list(totals), *lengths, "exp").score
    found = Bleu().errors(np.array([[*lengths, *matches, *totals]]))[0]
    assert 100 * (1 - found) == pytest.approx(wanted)


@pytest.mark.parametrize("name", [name for name in SACREBLEUS if "chrf" not in name])
def test_the_signature_says_what_sacrebleus_says(name: MetricName) -> None:
    metric = SACREBLEUS[name]
    metric.corpus_score(["a"], [["a"]])
    assert metric_named(name).signature == f"{name.partition('-')[0]}|{metric.get_signature()}"


@pytest.mark.parametrize("name", get_args(MetricName))
def test_a_signature_tells_the_name_of_its_metric(name: MetricName) -> None:
    assert name_in(metric_named(name).signature) == name


def counted(length: float, *matches: float) -> Hypothesis:
    names = ("hyp_len", "match1", "match2", "match3", "match4")
    return Hypothesis((), dict(zip(names, (length, *matches), strict=True)), "mt.tsv:4")


def test_counts_of_matches_and_lengths_of_references_are_enough() -> None:
    nbest = NbestList("s", (counted(12, 10, 8, 5, 3), counted(2, 1, 0, 0, 0)))
    (closest_HK,) = CountedBleu().statistics([nbest], {"s": ("13", "10", "14", "11")})
    assert closest_HK.tolist() == [
        [12, 11, 10, 8, 5, 3, 12, 11, 10, 9],
        [2, 10, 1, 0, 0, 0, 2, 1, 0, 0],
    ]


def test_the_signature_of_counts_does_not_claim_sacrebleus_tokens() -> None:
    assert metric_named("counted-bleu").signature == "bleu|counted|length:closest|eff:no|smooth:exp"


def test_counts_of_nine_digits_are_read() -> None:
    nbest = NbestList("s", (counted(999_999_999, 999_999_999, 8, 5, 3),))
    (counts_HK,) = CountedBleu().statistics([nbest], {"s": ("999999999",)})
    assert counts_HK[0, :3].tolist() == [999_999_999] * 3


@pytest.mark.parametrize(
    ("hypothesis", "lengths", "message"),
    [
        (
            counted(12.5, 1, 1, 1, 1),
            ("3",),
            "mt.tsv:4: hyp_len is 12.5; expected a count of up to 9 d",
        ),
        (counted(12, 1, -1, 1, 1), ("3",), "mt.tsv:4: match2 is -1; expected a count"),
        (
            counted(12, 1e30, 1, 1, 1),
            ("3",),
            "mt.tsv:4: match1 is 1e+30; expected a count of up to",
        ),
        (counted(1, 1, 1, 1, 1), (str(10**400),), "list 's': lengths of references are '1000"),
        (Hypothesis((), {}, "mt.tsv:4"), ("3",), "mt.tsv:4: hyp_len is None; expected a count"),
        (counted(1, 1, 1, 1, 1), ("a", "b"), "list 's': lengths of references are 'a b'; expected"),
        (counted(1, 1, 1, 1, 1), (), "list 's': lengths of references are ''; expected whole"),
    ],
)
def test_what_holds_no_counts_is_refused_with_its_place(
    hypothesis: Hypothesis, lengths: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        metric_named("counted-bleu").statistics([NbestList("s", (hypothesis,))], {"s": lengths})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["wer", "ter", "bleu", "counted-bleu", "chrf"])
def test_a_rate_is_1_minus_what_is_better_the_higher(name: MetricName) -> None:
    signature = metric_named(name).signature
    is_score = name in ("bleu", "counted-bleu", "chrf")
    assert lower_is_better(signature) == (f"1 - {signature}" if is_score else signature)


def test_a_metric_is_an_error_rate_if_nothing_else_is_said() -> None:
    assert lower_is_better("ser|case:mixed") == "ser|case:mixed"
