"""Oracles against every possible choice of hypotheses."""

from itertools import product

import numpy as np
import pytest

from charlm.nbest.metrics.bleu import Bleu
from charlm.nbest.metrics.error_rates import Ints, WordErrorRate
from charlm.nbest.metrics.oracle import chosen_counts, oracle


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
