"""The weights that give the lowest error rate, by exact search along lines.

Along a line through the space of weights, the total of each hypothesis is a straight line. The
winner of a list changes at the breakpoints of the upper envelope of these lines, and the error rate
is constant between breakpoints, so all of its values are found at once (Och, 2003, "Minimum error
rate training in statistical machine translation"). Winners' counts are whole numbers, summed
without rounding.

The point taken is the middle of the widest interval with the lowest error, not its edge, where two
hypotheses tie. If such an interval extends beyond the searched range, its other end is unknown; it
then counts as ending two steps from its known end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from charlm.interface.progress_messages import with_progress
from charlm.nbest.metrics.error_rates import Ints
from charlm.nbest.ranking.features import Floats, weighted
from charlm.nbest.tuning.problem import Problem, first_highest

NEAR = 1e-12  # of the largest total: a gap that rounding may turn into a tie
NARROW = 1e-9  # of the searched values: an interval that rounding may hide
EQUAL = 1e-12  # the same counts may give rates that differ in the last bit
STEPS = 2.0  # assumed length of an interval with one unknown end
MAX_ROUNDS = 100


@dataclass(frozen=True)
class Space:
    """Where weights are searched; a feature with scale 0 keeps its weight."""

    scales_F: Floats  # the size of a step
    low_F: Floats
    high_F: Floats

    def reach(self, origin_F: Floats, direction_F: Floats) -> tuple[float, float]:
        """The lowest and highest t for which `origin + t·direction` is in the space."""
        moves = direction_F != 0
        with np.errstate(over="ignore"):
            ends = [
                (bound_F[moves] - origin_F[moves]) / direction_F[moves]
                for bound_F in (self.low_F, self.high_F)
            ]
        return float(np.minimum(*ends).max()), float(np.maximum(*ends).min())


def contenders(problem: Problem, start_F: Floats, *, space: Space) -> Problem:
    """The problem without the hypotheses that win nowhere in the space.

    Among the hypotheses of a list that agree in all searched features, the one with the highest
    total over the other features is the best everywhere. It is kept, with those that rounding may
    tie with it; of equal ones only the first.
    """
    is_free_F = space.scales_F > 0
    fixed_N = weighted(problem.values_NF, np.where(is_free_F, 0.0, start_F))
    same_GN = np.stack([problem.lists_N, *problem.values_NF.T[is_free_F]])
    order = np.lexsort([-fixed_N, *same_GN])
    begins_N, differs_N = np.ones((2, len(order)), bool)
    begins_N[1:] = (np.diff(same_GN[:, order]) != 0).any(axis=0)
    differs_N[1:] = begins_N[1:] | (np.diff(fixed_N[order]) != 0)
    best_N = fixed_N[order][begins_N][np.cumsum(begins_N) - 1]
    reach_F = np.abs([start_F, space.low_F, space.high_F]).max(axis=0)
    is_near_N = fixed_N[order] >= best_N - NEAR * (reach_F @ problem.largest)
    return problem.of_rows(np.sort(order[differs_N & is_near_N]))


class Breakpoints(NamedTuple):
    """Where winners change: from left to right within a list, lists in no particular order."""

    first_L: Ints  # rows that win at the left end
    points_M: Floats  # where they change
    before_M: Ints  # rows that win before
    after_M: Ints  # and after


def breakpoints(
    problem: Problem, origin_F: Floats, *, direction_F: Floats, low: float, high: float
) -> Breakpoints:
    """All changes of winners at `origin + t·direction` for t from `low` to `high`.

    A total is `value + t·slope`. No winner lies below both of the lines that win at the two ends,
    so rows that are below the point where these two lines meet are left out, which are most. From
    the left end on, the winner is overtaken by the steeper line that it meets first. Every pass
    over the rows finds one breakpoint of every list that still has one, and drops the rows that are
    no steeper than their list's winner, since they cannot win again.
    """
    lists_N, starts_L = problem.lists_N, problem.starts
    values_N = problem.totals(origin_F)
    slopes_N = weighted(problem.values_NF, direction_F)
    first_L = first_highest(values_N + low * slopes_N, lists_N, starts_L=starts_L, ties_N=slopes_N)
    last_L = first_highest(values_N + high * slopes_N, lists_N, starts_L=starts_L)
    values_L, slopes_L, points_L = values_N[first_L], slopes_N[first_L], np.full(len(first_L), low)
    winners_L = first_L.copy()
    passes = [(points_L[:0], first_L[:0], first_L[:0])]
    # A line that is hardly steeper meets far away; if one row wins at both ends, no lines meet.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        gains_L = slopes_N[last_L] - slopes_L
        meets_L = np.clip((values_L - values_N[last_L]) / gains_L, low, high)
        reach_F = np.abs(origin_F) + max(abs(low), abs(high)) * np.abs(direction_F)
        floors_L = values_L + meets_L * slopes_L - NARROW * (reach_F @ problem.largest)
        floors_L[~(gains_L > 0)] = np.inf
        rows = np.flatnonzero(values_N + meets_L[lists_N] * slopes_N >= floors_L[lists_N])
        values, slopes, lists = values_N[rows], slopes_N[rows], lists_N[rows]
        while True:
            gains = slopes - slopes_L[lists]
            steeper = np.flatnonzero(gains > 0)
            if not len(steeper):
                break
            gains, rows, lists = gains[steeper], rows[steeper], lists[steeper]
            values, slopes = values[steeper], slopes[steeper]
            meets = (values_L[lists] - values) / gains
            meets = np.maximum(meets, points_L[lists])  # rounding may put it to the left
            chosen = first_highest(-meets, lists, ties_N=slopes)
            slopes_L[lists[chosen]] = np.inf  # in a list that is done, none is steeper
            chosen = chosen[meets[chosen] < high]
            which = lists[chosen]
            passes.append((meets[chosen], winners_L[which], rows[chosen]))
            winners_L[which], points_L[which] = rows[chosen], meets[chosen]
            values_L[which], slopes_L[which] = values[chosen], slopes[chosen]
    points, before, after = (np.concatenate(each) for each in zip(*passes, strict=True))
    return Breakpoints(first_L, points, before, after)


@dataclass(frozen=True)
class Profile:
    """The error rate along a line: constant from each edge to the next."""

    edges_E: Floats  # (E,); the first and the last are the limits of the search
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
        """The lowest error, and the point to take."""
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
        # The widest; of equally wide ones, the one nearest the start.
        chosen = np.lexsort((np.abs(middles), cut_lows - cut_highs))[0]
        return lowest, float(middles[chosen])


def profile(problem: Problem, origin_F: Floats, *, direction_F: Floats, space: Space) -> Profile:
    """The error rate at `origin + t·direction`, for every t within the space."""
    low, high = space.reach(origin_F, direction_F)
    found = breakpoints(problem, origin_F, direction_F=direction_F, low=low, high=high)
    order = np.argsort(found.points_M)  # equal points in any order: what is between is not wide
    counts_KN = problem.statistics_NK.T
    before_KM, after_KM = (
        counts_KN.take(rows[order], axis=1) for rows in (found.before_M, found.after_M)
    )
    first_K1 = problem.sums(found.first_L)[:, None]
    sums_KI = np.cumsum(np.concatenate([first_K1, after_KM - before_KM], axis=1), axis=1)
    edges_E = np.concatenate([[low], found.points_M[order], [high]])
    wide = np.diff(edges_E) > NARROW * np.maximum(1.0, np.abs(edges_E[1:]))
    if not wide.any():
        wide[-1] = True
    starts = edges_E[:-1][wide]
    return Profile(np.append(starts, high), problem.rates(np.ascontiguousarray(sums_KI.T[wide])))


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
    stage: str = "",
    tell: Callable[[str], object] | None = None,
) -> SearchResult:
    """The best of the descents from `start` and from `restarts` further points around it."""
    found = [_descend(problem, start_F, space=space, generator=generator)]
    again = range(restarts if space.scales_F.any() else 0)
    for _ in with_progress(again, stage, unit="restart", tell=tell):
        # Heavy tails: most points are near the start, some many steps away.
        drawn_F = start_F + space.scales_F * generator.standard_t(2, len(start_F))
        point_F = np.where(space.scales_F > 0, np.clip(drawn_F, space.low_F, space.high_F), start_F)
        found.append(_descend(problem, point_F, space=space, generator=generator))
    best = min(found, key=lambda each: each.error)  # of equals the first
    return SearchResult(best.weights_F, best.error, sum(each.n_searches for each in found))


def _descend(
    problem: Problem, start_F: Floats, *, space: Space, generator: np.random.Generator
) -> SearchResult:
    """Search along every feature and as many random directions until a round gains nothing."""
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
    """The middle of the interval with the error of these weights, if both its ends are known."""
    error = problem.error(weights_F)
    along = profile(problem, weights_F, direction_F=direction_F, space=space)
    low, high = along.around(error)
    if low == along.edges_E[0] or high == along.edges_E[-1]:
        return weights_F
    moved_F = weights_F + (low + high) / 2 * direction_F
    return moved_F if problem.error(moved_F) <= error + EQUAL else weights_F
