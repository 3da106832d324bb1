"""What rescoring gained, what could have been gained, and what the lists do not hold.

The oracle at n picks among the first n hypotheses in the order of the list, not of the rescoring.
Errors that it still makes are the recogniser's: no language model can correct them in these lists.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from charlm.errors import DataError
from charlm.interface.json_results import JsonResult
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.metrics.error_rates import ErrorRate, Ints, Metric, WordErrorRate
from charlm.nbest.metrics.significance import Significance, compare
from charlm.nbest.references.error_kinds import KINDS, error_kinds
from charlm.nbest.references.references import References

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
MAX_ROUNDS = 20
GROWTH = 0.05  # share of an oracle's errors that more hypotheses correct; less is negligible


@dataclass(frozen=True)
class Rate:
    """An error rate as a share, and the edits that it counts; these are of WER and CER alone."""

    error: float
    substitutions: int | None = None
    deletions: int | None = None
    insertions: int | None = None
    n_tokens: int | None = None  # words or characters of the references


@dataclass(frozen=True)
class RecordingRates:
    """The rates of the lists of one recording."""

    n_lists: int
    first: Rate
    rescored: Rate


@dataclass(frozen=True)
class RateReport(JsonResult):
    """Rates of a set of lists: first-best, rescored, best possible and worst possible."""

    metric: str
    n_lists: int
    n_hypotheses: int
    longest: int  # hypotheses of the longest list
    first: Rate
    rescored: Rate
    oracles: dict[int, Rate]  # by depth; those beyond the longest list are left out
    oracle: Rate  # of whole lists
    worst: Rate
    recovered: float | None  # share of the gap from first to oracle; None if there is none
    n_better: int  # lists whose choice has fewer errors than their first hypothesis
    n_worse: int
    n_best: int  # lists whose choice is as good as their oracle's
    significance: Significance
    # Errors of the first hypotheses and of the choice by kind, none of which is left out; of WER
    # alone.
    kinds: dict[str, tuple[int, int]] | None
    recordings: dict[str, RecordingRates]  # by name; empty: not asked for, one, or one a list
    derived = ("share_of_lists", "share_of_lists_in_first", "grows", "is_limited_by_lists")

    @property
    def share_of_lists(self) -> float | None:
        """The share of the errors left that no choice from the lists avoids; None if none is left.

        Also None for BLEU, chrF and TER, which count right answers in other words as wrong.
        """
        is_counted = self.oracle.n_tokens is not None and self.rescored.error > 0
        return self.oracle.error / self.rescored.error if is_counted else None

    @property
    def share_of_lists_in_first(self) -> float | None:
        """The same share of the first hypotheses' errors; None in the same cases."""
        is_counted = self.oracle.n_tokens is not None and self.first.error > 0
        return self.oracle.error / self.first.error if is_counted else None

    @property
    def half_depth(self) -> int | None:
        """The depth whose oracle tells whether longer lists hold more; None for short lists."""
        return max((depth for depth in self.oracles if 2 * depth <= self.longest), default=None)

    @property
    def grows(self) -> bool:
        """Whether the last half of the lists still corrects a noticeable share of the errors."""
        depth = self.half_depth
        return depth is not None and self.oracle.error < (1 - GROWTH) * self.oracles[depth].error

    @property
    def is_limited_by_lists(self) -> bool:
        """Whether the lists cause most errors left, so better weights or models correct few."""
        share = self.share_of_lists
        return share is not None and share > 1 / 2


def report(
    rescored: Sequence[Rescored],
    *,
    references: References,
    metric: Metric,
    recordings: Sequence[str] = (),
) -> RateReport:
    """Rates of the lists, in their own order and rescored; and by `recordings`, one for each list.

    Raises:
        DataError: no lists.
    """
    if not rescored:
        raise DataError("report: no lists; expected some, with references")
    lists = [each.nbest for each in rescored]
    statistics = metric.statistics(lists, references)
    best = oracle(statistics, metric)
    worst = oracle(statistics, metric, worst=True)
    firsts_LK, choices_LK, bests_LK = (
        chosen_counts(statistics, chosen)
        for chosen in ([0] * len(lists), [each.ranking[0] for each in rescored], best)
    )
    first, chosen, whole = (
        _rate(metric, each.sum(axis=0)) for each in (firsts_LK, choices_LK, bests_LK)
    )
    gap = first.error - whole.error
    changes_L = metric.errors_alone(choices_LK) - metric.errors_alone(firsts_LK)
    return RateReport(
        metric=metric.signature,
        n_lists=len(lists),
        n_hypotheses=sum(map(len, statistics)),
        longest=max(map(len, statistics)),
        first=first,
        rescored=chosen,
        oracles=_by_depth(statistics, metric),
        oracle=whole,
        worst=_rate(metric, chosen_counts(statistics, worst).sum(axis=0)),
        recovered=(first.error - chosen.error) / gap if gap > 0 else None,
        n_better=int((changes_L < 0).sum()),
        n_worse=int((changes_L > 0).sum()),
        n_best=int((metric.errors_alone(choices_LK) <= metric.errors_alone(bests_LK)).sum()),
        significance=compare(firsts_LK, choices_LK, metric=metric, lists=lists),
        kinds=_kinds(rescored, references) if isinstance(metric, WordErrorRate) else None,
        recordings=_by_recording(recordings, metric, first_LK=firsts_LK, choice_LK=choices_LK),
    )


def _by_recording(
    recordings: Sequence[str], metric: Metric, *, first_LK: Ints, choice_LK: Ints
) -> dict[str, RecordingRates]:
    places = defaultdict[str, list[int]](list)
    for place, recording in enumerate(recordings):
        places[recording].append(place)
    if not 1 < len(places) < len(recordings):
        return {}
    return {
        name: RecordingRates(
            len(own), *(_rate(metric, each[own].sum(axis=0)) for each in (first_LK, choice_LK))
        )
        for name, own in sorted(places.items())
    }


def _kinds(rescored: Sequence[Rescored], references: References) -> dict[str, tuple[int, int]]:
    first, chosen = Counter[str](), Counter[str]()
    for result in rescored:
        said, words = references[result.nbest.id], result.nbest.hypotheses[0].words
        own = error_kinds(said, words)
        first += own
        chosen += own if result.best.words == words else error_kinds(said, result.best.words)
    return {kind: (first[kind], chosen[kind]) for kind in KINDS}


def oracle(
    statistics: Sequence[Ints], metric: Metric, *, depth: int | None = None, worst: bool = False
) -> list[int]:
    """Which of the first `depth` hypotheses of each list (all, if None) give the lowest rate.

    `worst`: the highest rate. Of equal hypotheses, the first is taken. BLEU of a corpus, like
    chrF, is not a sum over sentences: its oracle is found by hill climbing, one list at a time with
    the others fixed, and may be missed by a little.
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


def _by_depth(statistics: Sequence[Ints], metric: Metric) -> dict[int, Rate]:
    deepest = max(map(len, statistics))
    return {
        depth: _rate(
            metric, chosen_counts(statistics, oracle(statistics, metric, depth=depth)).sum(axis=0)
        )
        for depth in DEPTHS
        if depth <= deepest
    }


def _rate(metric: Metric, sums_K: Ints) -> Rate:
    error = metric.error(sums_K)
    return Rate(error, *sums_K.tolist()) if isinstance(metric, ErrorRate) else Rate(error)
