"""Which hypothesis wins its list at each point of a line, for all lists at once.

A total is `value + t·slope`. From the left end on, the winner is overtaken by the steeper line
that it meets first. Every pass over the rows finds one corner of every list that still has one, and
drops the rows that are no steeper than their list's winner: they are behind for good.
"""

from typing import NamedTuple

import numpy as np

from charlm.nbest.features import Floats, weighted
from charlm.nbest.metrics.error_rates import Ints
from charlm.nbest.tuning.problem import Problem, first_highest, first_rows


class Corners(NamedTuple):
    """Where winners change: list by list in no order, within a list from left to right."""

    first_L: Ints  # rows that win at the left end
    points_M: Floats  # where they change
    before_M: Ints  # rows that win before
    after_M: Ints  # and after


def corners(
    problem: Problem, origin_F: Floats, *, direction_F: Floats, low: float, high: float
) -> Corners:
    """All changes of winners at `origin + t·direction` for t from `low` to `high`."""
    values_N = weighted(problem.values_NF, origin_F)
    slopes_N = weighted(problem.values_NF, direction_F)
    first_L = _first_two_keys(values_N + low * slopes_N, slopes_N, lists_N=problem.lists_N)
    winners_L, points_L = first_L.copy(), np.full(len(first_L), low)
    rows = np.arange(len(values_N))
    passes: list[tuple[Floats, Ints, Ints]] = []
    while True:
        winners = winners_L[problem.lists_N[rows]]
        gains = slopes_N[rows] - slopes_N[winners]
        steeper = gains > 0
        rows, winners, gains = rows[steeper], winners[steeper], gains[steeper]
        if not len(rows):
            break
        lists = problem.lists_N[rows]
        with np.errstate(over="ignore"):  # a slope that is hardly steeper meets far away
            meets = (values_N[winners] - values_N[rows]) / gains
        meets = np.maximum(meets, points_L[lists])  # rounding may put it behind
        chosen = _first_two_keys(-meets, slopes_N[rows], lists_N=lists)
        inside = meets[chosen] < high
        chosen = chosen[inside]
        passes.append((meets[chosen], winners[chosen], rows[chosen]))
        winners_L[lists[chosen]] = rows[chosen]
        points_L[lists[chosen]] = meets[chosen]
        goes_on_L = np.zeros(len(first_L), bool)
        goes_on_L[lists[chosen]] = True
        rows = rows[goes_on_L[lists]]
    if not passes:
        nothing = np.zeros(0, np.int64)
        return Corners(first_L, np.zeros(0), nothing, nothing)
    points, before, after = (np.concatenate(each) for each in zip(*passes, strict=True))
    return Corners(first_L, points, before, after)


def _first_two_keys(keys_N: Floats, ties_N: Floats, *, lists_N: Ints) -> Ints:
    """The row of each list with the highest key; of equals the highest tie; of these the first."""
    starts_L = first_rows(lists_N)
    sizes_L = np.diff(np.append(starts_L, len(lists_N)))
    highest_N = np.repeat(np.maximum.reduceat(keys_N, starts_L), sizes_L)
    return first_highest(np.where(keys_N == highest_N, ties_N, -np.inf), lists_N)
