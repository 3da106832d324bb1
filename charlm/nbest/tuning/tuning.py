"""Weights tuned for a set of lists with references, and how far they can be trusted.

The error rate on the tuning lists is too optimistic: it is the best of thousands that were tried.
The cross-validated rate is not, since every list was left out of the tuning that ranked it; the
lists of a recording are left out together, if there are several recordings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.metrics.error_rates import Ints, Metric
from charlm.nbest.metrics.significance import Significance, compare, groups_of
from charlm.nbest.ranking.features import (
    FeatureTable,
    Floats,
    require_known,
    require_same_names,
    tie_order,
)
from charlm.nbest.ranking.weights import Origin, Weights
from charlm.nbest.references.fingerprint import fingerprint
from charlm.nbest.references.references import References
from charlm.nbest.tuning.line_search import NARROW, Space, contenders, minimise, profile
from charlm.nbest.tuning.problem import Problem
from charlm.nbest.tuning.search_options import HIGH, LOW, SearchOptions, parse_ranges
from charlm.version import __version__

TOLERANCE = 0.001  # a rate that is this much worse still counts as flat: 0.1 % absolute
DIGITS = 6  # of a weight, unless rounding makes the rate worse


@dataclass(frozen=True)
class TunedWeight:
    """A weight, and how much it matters."""

    feature: str
    weight: float
    is_fixed: bool  # it sets the scale: only the ratios of weights matter
    has_effect: bool  # false: all hypotheses of a list have one value, or that of `same_as`
    # Between these the weight can be moved alone while the rate rises by at most 0.1 % absolute.
    flat_low: float
    flat_high: float
    at_border: bool  # the best rate extends to the end of the range: a wider one may be better
    same_as: str = ""  # an earlier feature with the same values, whose weight is tuned for both


@dataclass(frozen=True)
class Tuned(JsonResult):
    """What tuning found, and on what. Rates are shares: 0.017 is 1.7 %."""

    weights: Weights
    details: tuple[TunedWeight, ...]
    metric: str
    n_lists: int
    n_hypotheses: int
    first_error: float  # of the lists' first hypotheses
    start_error: float  # of the weights that the search started from
    error: float
    held_out_error: float | None  # all lists, each ranked by a tuning without it
    fold_errors: tuple[float, ...]  # of each fold when it was left out
    held_out_gain: Significance | None  # of all lists left out, against their first hypotheses
    restarts: int
    n_searches: int  # along lines, without cross-validation
    seed: int
    derived = ("generalises",)

    @property
    def generalises(self) -> bool | None:
        """Whether held-out lists are better than their first hypotheses; None: not tried."""
        return None if self.held_out_error is None else self.held_out_error < self.first_error

    def to_dict(self) -> dict[str, object]:
        found = super().to_dict()
        return {**found.pop("weights"), **found}


def tune_weights(
    lists: Sequence[NbestList],
    tables: Sequence[FeatureTable],
    *,
    references: References,
    metric: Metric,
    start: Mapping[str, float] | None = None,
    options: SearchOptions,
    spelled_by: Sequence[str] = (),
    history: str | None = None,
) -> Tuned:
    """The weights of features with the lowest error rate on these lists.

    The first feature that varies keeps its weight in `start`, or 1. Other weights start at their
    values in `start`, or 0. `spelled_by`: the scorers whose unknown words were spelled.
    `history`: what the models knew of earlier lists.

    Raises:
        ConfigError: an unknown feature, a range that does not hold its start, a number below 0.
        DataError: no lists, nothing that varies.
    """
    if not lists:
        raise DataError("tuning: no lists; expected some, with references")
    require_same_names(lists, tables, needed=options.tuned_names)
    names = _names(options.tuned_names, tables[0].names, reads=metric.reads)
    statistics = metric.statistics(lists, references)
    orders = [tie_order(table) for table in tables]  # of equal rows the first is to win
    problem = Problem.of(
        [table.take(names).values_HF[order] for table, order in zip(tables, orders, strict=True)],
        [each_HK[order] for each_HK, order in zip(statistics, orders, strict=True)],
        rates=metric.errors,
    )
    ranges = parse_ranges(options.ranges)
    start_F, space = _start(problem, names, start=start or {}, ranges=ranges)
    whole = problem  # a contender may be alone in its list
    problem = contenders(problem, start_F, space=space)
    search = partial(_search, start_F=start_F, space=space, options=options)
    weights_F, n_searches = search(problem)
    firsts_LK = np.stack([each_HK[0] for each_HK in statistics])
    chosen_LK, folds = _left_out(problem, search, groups=groups_of(lists)[0], options=options)
    error = problem.error(weights_F)
    prints = fingerprint(lists, references)
    facts = (metric.signature, error, options.seed, __version__, prints)
    origin = Origin(*facts, bool(spelled_by), history, tuple(spelled_by))
    return Tuned(
        weights=Weights(dict(zip(names, weights_F.tolist(), strict=True)), origin),
        details=_details(problem, weights_F, names=names, space=space, whole=whole),
        metric=metric.signature,
        n_lists=len(lists),
        n_hypotheses=sum(map(len, statistics)),
        first_error=metric.error(firsts_LK.sum(axis=0)),
        start_error=problem.error(start_F),
        error=error,
        held_out_error=metric.error(chosen_LK.sum(axis=0)) if folds else None,
        fold_errors=tuple(metric.error(chosen_LK[fold_L].sum(axis=0)) for fold_L in folds),
        held_out_gain=compare(firsts_LK, chosen_LK, metric=metric, lists=lists) if folds else None,
        restarts=options.restarts,
        n_searches=n_searches,
        seed=options.seed,
    )


def _names(asked: Sequence[str], known: Sequence[str], *, reads: Sequence[str]) -> tuple[str, ...]:
    """The features to tune, each once, without those that were made from the references."""
    for name in asked:
        if name in reads:
            raise ConfigError(f"feature {name!r}: made from the references; expected others")
    return tuple(name for name in dict.fromkeys(asked or known) if name not in reads)


def _search(
    problem: Problem,
    start_F: Floats,
    *,
    space: Space,
    options: SearchOptions,
    stage: str = "finding weights",
) -> tuple[Floats, int]:
    """The weights, rounded to few digits, and the number of line searches."""
    generator = np.random.default_rng(options.seed)
    found = minimise(
        problem,
        start_F,
        space=space,
        restarts=options.restarts,
        generator=generator,
        stage=stage,
        tell=options.on_stage,
    )
    rounded_F = np.array([float(f"{weight:.{DIGITS}g}") for weight in found.weights_F])
    is_as_good = problem.error(rounded_F) <= found.error
    return rounded_F if is_as_good else found.weights_F, found.n_searches


def _start(
    problem: Problem,
    names: Sequence[str],
    *,
    start: Mapping[str, float],
    ranges: Mapping[str, tuple[float, float]],
) -> tuple[Floats, Space]:
    require_known([*start, *ranges], names)
    spreads_F = problem.spreads()
    if not spreads_F.any():
        raise DataError(
            f"tuning: {', '.join(names)}: none differs between the hypotheses of a list; "
            "expected lists of several hypotheses and a feature that does"
        )
    anchor = int(np.flatnonzero(spreads_F)[0])
    if names[anchor] in ranges:
        raise ConfigError(
            f"--range {names[anchor]}: its weight sets the scale and is not looked for; expected a "
            "range of another feature; drop it, or name another feature first (--tuned)"
        )
    start_F = np.array([start.get(name, 0.0) for name in names])
    start_F[anchor] = start.get(names[anchor], 1.0)
    for index, first in enumerate(problem.first_equals()):
        if index != first and spreads_F[first]:  # one weight for both
            if names[index] in ranges:
                raise ConfigError(
                    f"--range {names[index]}: always equals {names[first]}, whose weight is tuned "
                    f"for both; expected a range of {names[first]}"
                )
            start_F[first] += start_F[index]
            start_F[index] = 0.0
    low_F, high_F = np.array([ranges.get(name, (LOW, HIGH)) for name in names]).T
    for name, value, low, high in zip(names, start_F, low_F, high_F, strict=True):
        if not low <= value <= high and name != names[anchor]:
            raise ConfigError(
                f"weight {name!r}: starts at {value:g}, outside of its range {low:g}:{high:g}; "
                "give another range or start"
            )
    scales_F = np.zeros(len(names))
    np.divide(spreads_F[anchor], spreads_F, out=scales_F, where=spreads_F > 0)
    scales_F[anchor] = 0.0
    return start_F, Space(scales_F, low_F, high_F)


def _left_out(
    problem: Problem,
    search: Callable[..., tuple[Floats, int]],
    *,
    groups: Sequence[str],
    options: SearchOptions,
) -> tuple[Ints, list[npt.NDArray[np.bool_]]]:
    """Counts of each list's winner (L, K) by weights tuned on other folds, and each fold's lists.

    There are no folds if there are too few groups.
    """
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    folds = min(options.folds, len(numbers))
    chosen_LK = np.zeros((len(groups), problem.statistics_NK.shape[1]), np.int64)
    if folds < 2:
        return chosen_LK, []
    drawn = np.random.default_rng(options.seed).permutation(len(numbers)) % folds
    fold_L = drawn[[numbers[group] for group in groups]]
    parts = [fold_L == fold for fold in range(folds)]
    for number, part_L in enumerate(parts, 1):
        stage = f"cross-validation, fold {number} of {folds}"
        weights_F, _ = search(problem.part(~part_L), stage=stage)
        part = problem.part(part_L)
        chosen_LK[part_L] = part.statistics_NK[part.winners(weights_F)]
    return chosen_LK, parts


def _details(
    problem: Problem, weights_F: Floats, *, names: Sequence[str], space: Space, whole: Problem
) -> tuple[TunedWeight, ...]:
    error, has_effect_F = problem.error(weights_F), (whole.spreads() > 0).tolist()
    firsts = enumerate(whole.first_equals())
    same_as = [names[n] if n != index and has_effect_F[n] else "" for index, n in firsts]
    details = []
    for index, (name, weight) in enumerate(zip(names, weights_F.tolist(), strict=True)):
        low = high = weight
        at_border = False
        scale = space.scales_F[index]
        if scale > 0:
            axis_F = np.eye(len(names))[index] * scale
            along = profile(problem, weights_F, direction_F=axis_F, space=space)
            low, high = (_moved(weight, scale * t) for t in along.around(error + TOLERANCE))
            at_border = bool((along.edges_E[[0, -1]] == along.around(error)).any())
        has_effect = has_effect_F[index]
        is_fixed = has_effect and not scale > 0
        ends = (float(low), float(high), at_border, same_as[index])
        details.append(TunedWeight(name, weight, is_fixed, has_effect, *ends))
    return tuple(details)


def _moved(weight: float, by: float) -> float:
    """The weight after a move; 0 where rounding alone keeps it from 0, as at a bound of 0."""
    moved = weight + by
    return moved if abs(moved) > NARROW * abs(by) else 0.0
