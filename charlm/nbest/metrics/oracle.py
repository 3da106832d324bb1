"""The best and the worst choice that lists allow: what no weights can go beyond.

For error rates that choice is made list by list. BLEU of a corpus is no sum over sentences: its
oracle is climbed to, one list after the other while the others stay as they are, and may be missed
by a little.
"""

from collections.abc import Sequence

import numpy as np

from charlm.nbest.metrics.error_rates import ErrorRate, Ints, Metric

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
MAX_ROUNDS = 20


def oracle(
    statistics: Sequence[Ints], metric: Metric, *, depth: int | None = None, worst: bool = False
) -> list[int]:
    """Which of the first `depth` hypotheses of each list (all, if None) give the lowest rate.

    `worst`: the highest. Of equals the first of the list.
    """
    tops = [counts_HK[:depth] for counts_HK in statistics]
    if isinstance(metric, ErrorRate):
        sign = -1 if worst else 1
        return [int(np.argmin(sign * counts_HK[:, :3].sum(axis=1))) for counts_HK in tops]
    return _climb(tops, metric, sign=-1 if worst else 1)


def chosen_counts(statistics: Sequence[Ints], chosen: Sequence[int]) -> Ints:
    """Counts of the chosen hypothesis of each list, (L, K)."""
    return np.stack([counts_HK[rank] for counts_HK, rank in zip(statistics, chosen, strict=True)])


def _climb(tops: Sequence[Ints], metric: Metric, *, sign: int) -> list[int]:
    chosen = [0] * len(tops)
    sums_K = chosen_counts(tops, chosen).sum(axis=0)
    for _ in range(MAX_ROUNDS):
        before = list(chosen)
        for index, counts_HK in enumerate(tops):
            others_K = sums_K - counts_HK[chosen[index]]
            rates_H = sign * metric.errors(others_K + counts_HK)
            best = int(np.argmin(rates_H))
            if rates_H[best] < rates_H[chosen[index]]:
                chosen[index] = best
            sums_K = others_K + counts_HK[chosen[index]]
        if chosen == before:
            break
    return chosen
