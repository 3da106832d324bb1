"""The report on three lists with errors counted by hand; oracles against all choices."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.metrics.bleu import Bleu
from charlm.nbest.metrics.error_rates import Ints, WordErrorRate
from charlm.nbest.metrics.rates_report import Rate, RateReport, chosen_counts, oracle, report

TEXTS = {
    "u1": ["the cat sit", "the cat sat", "a cat sit"],  # 1, 0 and 2 errors
    "u2": ["a dog", "a dog on", "dog", "a b", "b", "the end of it all"],  # 1, 0, 2, 2, 3, 5
    "u3": ["no"],  # 1
}
REFERENCES = {"u1": ("the", "cat", "sat"), "u2": ("a", "dog", "on"), "u3": ("yes", "no")}
LISTS = [
    NbestList(id, tuple(Hypothesis(tuple(text.split()), {}, "x:1") for text in texts))
    for id, texts in TEXTS.items()
]


def reported(*orders: tuple[int, ...]) -> RateReport:
    chosen = [Rescored(nbest, order=order) for nbest, order in zip(LISTS, orders, strict=True)]
    return report(chosen, references=REFERENCES, metric=WordErrorRate())


def test_the_rates_are_those_counted_by_hand() -> None:
    result = reported((1, 0, 2), (2, 0, 1, 3, 4, 5), ())
    assert (result.n_lists, result.n_hypotheses) == (3, 10)
    assert result.first == Rate(3 / 8, 1, 2, 0, 8)
    assert result.rescored == Rate(3 / 8, 0, 3, 0, 8)
    assert result.oracle == Rate(1 / 8, 0, 1, 0, 8)
    oracles = {depth: rate.error for depth, rate in result.oracles.items()}
    assert oracles == {1: 3 / 8, 2: 1 / 8, 5: 1 / 8}
    assert (result.longest, result.half_depth, result.grows) == (6, 2, False)
    assert result.worst.error == (2 + 5 + 1) / 8
    assert (result.n_better, result.n_worse, result.n_best) == (1, 1, 2)
    assert result.recovered == 0.0
    assert result.significance.difference == 0.0
    found = {kind: counts for kind, counts in result.kinds.items() if any(counts)}
    assert found == {"other word": (1, 0), "deleted": (2, 3)}


def test_what_is_left_in_every_hypothesis_is_the_lists_own() -> None:
    result = reported((1, 0, 2), (1, 0, 2, 3, 4, 5), ())
    assert result.recovered == 1.0
    assert (result.share_of_lists, result.is_limited_by_lists) == (1.0, True)
    worse = reported((0, 1, 2), (0, 1, 2, 3, 4, 5), ())
    assert worse.share_of_lists == pytest.approx(1 / 3)
    assert not worse.is_limited_by_lists


def test_a_sentence_of_three_words_can_be_better_by_bleu() -> None:
    texts, long = ("no", "thank you ."), "a b c d e"
    short = NbestList("u", tuple(Hypothesis(tuple(text.split()), {}, "x:1") for text in texts))
    other = NbestList("v", (Hypothesis(tuple(long.split()), {}, "x:2"),))
    references = {"u": ("thank", "you", "."), "v": tuple(long.split())}
    rescored = [Rescored(short, order=(1, 0)), Rescored(other)]
    better = report(rescored, references=references, metric=Bleu())
    assert (better.n_better, better.n_worse, better.n_best, better.kinds) == (1, 0, 2, None)
    rescored = [Rescored(short), Rescored(other)]
    kept = report(rescored, references=references, metric=Bleu())
    assert (kept.n_better, kept.n_worse, kept.n_best) == (0, 0, 1)


def test_an_oracle_that_later_hypotheses_lower_still_grows() -> None:
    texts = ("a x x", "a x x", "a b x", "a b x", "a b x")
    nbest = NbestList("u", tuple(Hypothesis(tuple(text.split()), {}, "x:1") for text in texts))
    references, last_first = {"u": ("a", "b", "c")}, Rescored(nbest, order=(4, 0, 1, 2, 3))
    found = report([last_first], references=references, metric=WordErrorRate())
    assert (found.half_depth, found.grows, found.share_of_lists_in_first) == (2, True, 1 / 2)
    assert (found.share_of_lists, list(found.oracles)) == (1.0, [1, 2, 5])
    short = replace(nbest, hypotheses=nbest.hypotheses[:1])
    alone = report([Rescored(short)], references=references, metric=WordErrorRate())
    assert (alone.half_depth, alone.grows, alone.share_of_lists_in_first) == (None, False, 1.0)


@pytest.mark.parametrize(("n_wrong", "grows"), [(40, False), (38, False), (37, True)])
def test_an_oracle_that_falls_by_a_twentieth_or_less_does_not_grow(
    n_wrong: int, grows: bool
) -> None:
    words = [("x",) * wrong + ("a",) * (40 - wrong) for wrong in (40, 40, n_wrong, n_wrong)]
    nbest = NbestList("u", tuple(Hypothesis(each, {}, "x:1") for each in words))
    references = {"u": ("a",) * 40}
    found = report([Rescored(nbest)], references=references, metric=WordErrorRate())
    assert (found.half_depth, found.grows) == (2, grows)


def test_lists_that_leave_nothing_to_gain_have_no_share_of_it() -> None:
    lists = [NbestList("u", (Hypothesis(("a",), {}, "x:1"),))]
    result = report([Rescored(lists[0])], references={"u": ("a",)}, metric=WordErrorRate())
    assert (result.recovered, result.share_of_lists) == (None, None)
    assert result.share_of_lists_in_first is None
    assert not result.is_limited_by_lists


def test_bleu_has_no_edits_and_no_share_of_the_lists() -> None:
    texts = ["the cat sat on a mat", "the cat sat on the mat", "cat the on sat the mat"]
    nbest = NbestList("u", tuple(Hypothesis(tuple(text.split()), {}, "x:1") for text in texts))
    references = {"u": nbest.hypotheses[1].words}
    result = report([Rescored(nbest)], references=references, metric=Bleu())
    assert result.first.substitutions is None
    assert result.share_of_lists is None
    assert result.oracle.error == pytest.approx(0.0)
    assert 0 < result.first.error < result.worst.error
    assert (result.n_better, result.n_worse, result.n_best) == (0, 0, 0)


def test_sentences_whose_choice_has_another_bleu_are_counted() -> None:
    texts = ["the cat sat on a mat", "the cat sat on the mat", "cat the on sat the mat"]
    lists = [
        NbestList(id, tuple(Hypothesis(tuple(text.split()), {}, "x:1") for text in texts))
        for id in ("u", "v", "w")
    ]
    references = {nbest.id: lists[0].hypotheses[1].words for nbest in lists}
    orders = [(1, 0, 2), (2, 0, 1), (1, 2, 0)]
    chosen = [Rescored(nbest, order=order) for nbest, order in zip(lists, orders, strict=True)]
    result = report(chosen, references=references, metric=Bleu())
    assert (result.n_better, result.n_worse, result.n_best) == (2, 1, 2)


def test_a_report_is_one_json_object() -> None:
    result = json.loads(json.dumps(reported((), (), ()).to_dict(), allow_nan=False))
    assert result["oracles"]["5"]["error"] == 1 / 8
    assert result["significance"]["test"] == "exact"
    assert result["first"]["n_tokens"] == 8


def test_no_lists_are_refused() -> None:
    with pytest.raises(DataError, match=r"^report: no lists; expected some, with references"):
        report([], references={}, metric=WordErrorRate())


def wer_lists(*errors: list[int]) -> list[Ints]:
    return [np.array([[0, each, 0, 5] for each in row]) for row in errors]


def test_the_oracle_takes_the_fewest_errors_of_the_first_n_and_of_equals_the_first() -> None:
    statistics = wer_lists([3, 2, 2, 0], [1], [0, 4])
    metric = WordErrorRate()
    assert oracle(statistics, metric, depth=1) == [0, 0, 0]
    assert oracle(statistics, metric, depth=3) == [1, 0, 0]
    assert oracle(statistics, metric) == [3, 0, 0]
    assert oracle(statistics, metric, worst=True) == [0, 0, 1]
    assert chosen_counts(statistics, [3, 0, 1])[:, 1].tolist() == [0, 1, 4]


def bleu_lists(seed: int) -> list[Ints]:
    generator = np.random.default_rng(seed)
    lists = []
    for _ in range(4):
        lengths_H = generator.integers(4, 12, 3)
        totals_H4 = lengths_H[:, None] - np.arange(4)
        shares_H4 = np.minimum.accumulate(generator.random((3, 4)), axis=1)
        matches_H4 = (shares_H4 * totals_H4).astype(int)
        lists.append(np.column_stack([lengths_H, np.full(3, 8), matches_H4, totals_H4]))
    return lists


@pytest.mark.parametrize("worst", [False, True])
def test_the_oracle_of_bleu_is_never_beyond_and_mostly_at_the_best_of_all_choices(
    worst: bool,
) -> None:
    metric = Bleu()
    n_exact = 0
    for seed in range(20):
        statistics = bleu_lists(seed)
        sums = [chosen_counts(statistics, each).sum(0) for each in product(range(3), repeat=4)]
        rates = metric.errors(np.stack(sums))
        limit = rates.max() if worst else rates.min()
        chosen = oracle(statistics, metric, worst=worst)
        found = metric.errors(chosen_counts(statistics, chosen).sum(0)[None])[0]
        first = metric.errors(chosen_counts(statistics, [0] * 4).sum(0)[None])[0]
        assert (first <= found <= limit) if worst else (limit <= found <= first)
        n_exact += found == pytest.approx(limit)
    assert n_exact >= 17


def test_the_only_hypothesis_of_a_list_and_the_first_of_equals_are_the_oracle_of_bleu() -> None:
    (only, *_), equals = bleu_lists(1), np.tile(bleu_lists(2)[0][:1], (3, 1))
    assert oracle([only[:1], equals], Bleu()) == [0, 0]
