"""The weights that give the lowest error rate, by exact search along lines.

Along a line through the space of weights a hypothesis' total is a straight line, the winner of a
list changes at the breakpoints of their upper envelope, and the error rate is constant between
them: all of its values are found at once (Och, 2003, "Minimum error rate training in statistical
machine translation"). Winners' counts are whole numbers, summed without rounding.

The point taken is the middle of the widest interval with the lowest error, and not its edge: at an
edge two hypotheses tie. Where such an interval runs out of the range that was searched, nothing is
known of its other end: it then counts as ending two steps from the end that is known.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from charlm.nbest.features import Floats, weighted
from charlm.nbest.metrics.error_rates import Ints
from charlm.nbest.tuning.problem import Problem, first_highest, first_rows

NARROW = 1e-9  # of what is searched: an interval that rounding may hide
EQUAL = 1e-12  # the same counts may give rates that differ in the last bit
STEPS = 2.0  # of an interval without an end
MAX_ROUNDS = 100


@dataclass(frozen=True)
class Space:
    """Where weights are looked for; a feature with scale 0 keeps its weight."""

    scales_F: Floats  # how far a step goes
    low_F: Floats
    high_F: Floats

    def reach(self, origin_F: Floats, direction_F: Floats) -> tuple[float, float]:
        """Between what `origin + t·direction` is in the space."""
        moves = direction_F != 0
        with np.errstate(over="ignore"):
            ends_2F = np.stack(
                [
                    (bound_F[moves] - origin_F[moves]) / direction_F[moves]
                    for bound_F in (self.low_F, self.high_F)
                ]
            )
        return float(ends_2F.min(axis=0).max()), float(ends_2F.max(axis=0).min())


class Breakpoints(NamedTuple):
    """Where winners change: list by list in no order, within a list from left to right."""

    first_L: Ints  # rows that win at the left end
    points_M: Floats  # where they change
    before_M: Ints  # rows that win before
    after_M: Ints  # and after


def breakpoints(
    problem: Problem, origin_F: Floats, *, direction_F: Floats, low: float, high: float
) -> Breakpoints:
    """All changes of winners at `origin + t·direction` for t from `low` to `high`.

    A total is `value + t·slope`. From the left end on, the winner is overtaken by the steeper line
    that it meets first. Every pass over the rows finds one breakpoint of every list that still has
    one, and drops the rows that are no steeper than their list's winner: they are behind for good.
    """
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
        return Breakpoints(first_L, np.zeros(0), nothing, nothing)
    points, before, after = (np.concatenate(each) for each in zip(*passes, strict=True))
    return Breakpoints(first_L, points, before, after)


def _first_two_keys(keys_N: Floats, ties_N: Floats, *, lists_N: Ints) -> Ints:
    """The row of each list with the highest key; of equals the highest tie; of these the first."""
    starts_L = first_rows(lists_N)
    sizes_L = np.diff(np.append(starts_L, len(lists_N)))
    highest_N = np.repeat(np.maximum.reduceat(keys_N, starts_L), sizes_L)
    return first_highest(np.where(keys_N == highest_N, ties_N, -np.inf), lists_N)


@dataclass(frozen=True)
class Profile:
    """The error rate along a line: constant from each edge to the next."""

    edges_E: Floats  # (E,), the first and the last are where the search ended
    errors_I: Floats  # (E - 1,)

    def around(self, error: float) -> tuple[float, float]:
        """The interval around 0 in which the rate is at most `error`."""
        start = int(np.searchsorted(self.edges_E[1:-1], 0.0, side="right"))
        too_high = np.flatnonzero(self.errors_I > error + EQUAL)
        first = int(too_high[too_high < start].max(initial=-1)) + 1
        last = int(too_high[too_high >= start].min(initial=len(self.errors_I)))
        if last <= first:  # 0 itself lies in a bad interval
            return 0.0, 0.0
        return float(self.edges_E[first]), float(self.edges_E[last])

    def best(self) -> tuple[float, float]:
        """The error at the point to take, and that point."""
        lowest = float(self.errors_I.min())
        at_best = np.concatenate([[False], self.errors_I <= lowest + EQUAL, [False]])
        turns = np.flatnonzero(at_best[1:] != at_best[:-1])
        lows, highs = self.edges_E[turns[::2]], self.edges_E[turns[1::2]]
        without_end = (lows == self.edges_E[0]) & (highs == self.edges_E[-1])
        if without_end.any():
            return lowest, 0.0  # nothing changes on this line
        cut_lows = np.where(lows == self.edges_E[0], np.maximum(lows, highs - STEPS), lows)
        cut_highs = np.where(highs == self.edges_E[-1], np.minimum(highs, lows + STEPS), highs)
        middles = (cut_lows + cut_highs) / 2
        # The widest; of those as wide, the one nearest the start.
        chosen = np.lexsort((np.abs(middles), cut_lows - cut_highs))[0]
        return lowest, float(middles[chosen])


def profile(problem: Problem, origin_F: Floats, *, direction_F: Floats, space: Space) -> Profile:
    """The error rate at `origin + t·direction`, for every t within the space."""
    low, high = space.reach(origin_F, direction_F)
    found = breakpoints(problem, origin_F, direction_F=direction_F, low=low, high=high)
    order = np.argsort(found.points_M, kind="stable")
    changes_MK = (
        problem.statistics_NK[found.after_M[order]] - problem.statistics_NK[found.before_M[order]]
    )
    first_K = problem.statistics_NK[found.first_L].sum(axis=0)
    sums_IK = first_K + np.concatenate([np.zeros_like(first_K)[None], np.cumsum(changes_MK, 0)])
    edges_E = np.concatenate([[low], found.points_M[order], [high]])
    wide = np.diff(edges_E) > NARROW * np.maximum(1.0, np.abs(edges_E[1:]))
    if not wide.any():
        wide[-1] = True
    starts = edges_E[:-1][wide]
    return Profile(np.append(starts, high), problem.errors(sums_IK[wide]))


@dataclass(frozen=True)
class SearchResult:
    """Where a search ended."""

    weights_F: Floats
    error: float
    n_searches: int  # along lines


def minimise(
    problem: Problem,
    start_F: Floats,
    *,
    space: Space,
    restarts: int,
    generator: np.random.Generator,
) -> SearchResult:
    """The best of the descents from `start` and from `restarts` further points around it."""
    found = [_descend(problem, start_F, space=space, generator=generator)]
    for _ in range(restarts if space.scales_F.any() else 0):
        # Heavy tails: most points are near the start, some many steps away.
        drawn_F = start_F + space.scales_F * generator.standard_t(2, len(start_F))
        point_F = np.where(space.scales_F > 0, np.clip(drawn_F, space.low_F, space.high_F), start_F)
        found.append(_descend(problem, point_F, space=space, generator=generator))
    best = min(found, key=lambda each: each.error)  # of equals the first
    return SearchResult(best.weights_F, best.error, sum(each.n_searches for each in found))


def _descend(
    problem: Problem, start_F: Floats, *, space: Space, generator: np.random.Generator
) -> SearchResult:
    """Along every feature and as many random directions, until a round of them gains nothing."""
    weights_F, error = start_F, problem.error(start_F)
    axes_DF = np.diag(space.scales_F)[space.scales_F > 0]
    n_searches = 0
    for _ in range(MAX_ROUNDS):
        before = error
        random_DF = generator.standard_normal(axes_DF.shape) * space.scales_F
        for direction_F in np.concatenate([axes_DF, random_DF]):
            along = profile(problem, weights_F, direction_F=direction_F, space=space)
            n_searches += 1
            promised, step = along.best()
            if promised < error - EQUAL:
                moved_F = weights_F + step * direction_F
                found = problem.error(moved_F)
                if found < error - EQUAL:  # rounding may have misplaced a breakpoint
                    weights_F, error = moved_F, found
        if error == before:
            break
    for direction_F in axes_DF:
        weights_F = _centred(problem, weights_F, direction_F=direction_F, space=space)
    return SearchResult(weights_F, problem.error(weights_F), n_searches + len(axes_DF))


def _centred(problem: Problem, weights_F: Floats, *, direction_F: Floats, space: Space) -> Floats:
    """The middle of the interval that has the error of these weights, if it has an end."""
    error = problem.error(weights_F)
    along = profile(problem, weights_F, direction_F=direction_F, space=space)
    low, high = along.around(error)
    if low == along.edges_E[0] or high == along.edges_E[-1]:
        return weights_F
    moved_F = weights_F + (low + high) / 2 * direction_F
    return moved_F if problem.error(moved_F) <= error + EQUAL else weights_F
