"""All hypotheses of all lists in one table, with their features and counts of errors.

A winner is the first row with the highest total. The rows of a list are in `tie_order`, so that
ties are broken here as in the ranking.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

import numpy as np
import numpy.typing as npt

from charlm.nbest.metrics.error_rates import Ints
from charlm.nbest.ranking.features import Floats, weighted

Rates = Callable[[Ints], Floats]


@dataclass(frozen=True)
class Problem:
    """The data of a tuning."""

    values_NF: Floats
    statistics_NK: Ints
    lists_N: Ints  # which list each hypothesis is of: 0, …, 0, 1, …, rising
    rates: Rates = field(compare=False)  # sums of statistics (n, K) → error rates (n,)

    @classmethod
    def of(cls, values: Sequence[Floats], statistics: Sequence[Ints], *, rates: Rates) -> "Problem":
        """The problem with each list's features (H, F) and counts (H, K)."""
        sizes = [len(each) for each in values]
        lists_N = np.repeat(np.arange(len(sizes)), sizes)
        return cls(np.concatenate(values), np.concatenate(statistics), lists_N, rates)

    def __post_init__(self) -> None:
        # Stored column by column, since sums read it in this order.
        for name in ("values_NF", "statistics_NK"):
            object.__setattr__(self, name, np.asfortranarray(getattr(self, name)))

    @cached_property
    def starts(self) -> Ints:
        """The row of each list's first hypothesis."""
        return first_rows(self.lists_N)

    @cached_property
    def largest(self) -> Floats:
        """The largest absolute value of each feature."""
        largest_F: Floats = np.abs(self.values_NF).max(axis=0)
        return largest_F

    @cached_property
    def _totals(self) -> Callable[[tuple[float, ...]], Floats]:
        # A search asks for the totals at its current point again and again.
        return lru_cache(maxsize=2)(partial(weighted, self.values_NF))

    def totals(self, weights_F: Floats) -> Floats:
        """Σ weight·feature of each hypothesis, (N,)."""
        return self._totals(tuple(weights_F.tolist()))

    def winners(self, weights_F: Floats) -> Ints:
        """The row of each list's best hypothesis, (L,)."""
        return first_highest(self.totals(weights_F), self.lists_N, starts_L=self.starts)

    def sums(self, rows_L: Ints) -> Ints:
        """Counts of some hypotheses, summed, (K,)."""
        sums_K: Ints = self.statistics_NK.T.take(rows_L, axis=1).sum(axis=1)
        return sums_K

    def error(self, weights_F: Floats) -> float:
        return float(self.rates(self.sums(self.winners(weights_F))[None])[0])

    def first_equals(self) -> list[int]:
        """The first feature with the values of each, which is mostly that feature itself, (F,)."""
        firsts: dict[bytes, int] = {}
        columns = ((column_N + 0.0).tobytes() for column_N in self.values_NF.T)  # −0 is 0
        return [firsts.setdefault(column, index) for index, column in enumerate(columns)]

    def spreads(self) -> Floats:
        """The standard deviation of each feature within lists, pooled, (F,).

        It is 0 if the feature never varies, exactly, although the mean of equal numbers is not
        always equal to them; and if an earlier feature has the same values.
        """
        sizes_L = np.bincount(self.lists_N)
        means_LF = np.add.reduceat(self.values_NF, self.starts) / sizes_L[:, None]
        squares_NF = (self.values_NF - means_LF[self.lists_N]) ** 2
        lows_LF = np.minimum.reduceat(self.values_NF, self.starts)
        highs_LF = np.maximum.reduceat(self.values_NF, self.starts)
        spreads_F: Floats = np.sqrt(squares_NF.mean(axis=0))
        is_first_F = np.array(self.first_equals()) == np.arange(len(spreads_F))
        return np.where((highs_LF > lows_LF).any(axis=0) & is_first_F, spreads_F, 0.0)

    def part(self, chosen_L: npt.NDArray[np.bool_]) -> "Problem":
        """The problem with only the chosen lists."""
        return self.of_rows(np.flatnonzero(chosen_L[self.lists_N]))

    def of_rows(self, rows: Ints) -> "Problem":
        """The problem with only some hypotheses, in their order."""
        _, lists_N = np.unique(self.lists_N[rows], return_inverse=True)
        return Problem(self.values_NF[rows], self.statistics_NK[rows], lists_N, self.rates)


def first_rows(lists_N: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    begins_N = np.ones(len(lists_N), bool)
    begins_N[1:] = lists_N[1:] != lists_N[:-1]
    return np.flatnonzero(begins_N)


def first_highest(
    keys_N: Floats, lists_N: Ints, *, starts_L: Ints | None = None, ties_N: Floats | None = None
) -> Ints:
    """The row with the highest key of each list; ties go by `ties_N`, highest first, then by order.

    `starts_L` are the rows where lists begin, if known; list numbers need not be consecutive.
    """
    starts_L = first_rows(lists_N) if starts_L is None else starts_L
    sizes_L = np.append(starts_L[1:], len(lists_N)) - starts_L
    highest_N = np.repeat(np.maximum.reduceat(keys_N, starts_L), sizes_L)
    rows = np.flatnonzero(keys_N == highest_N)
    if len(rows) == len(starts_L):  # no two are equal
        return rows
    if ties_N is None:
        return rows[first_rows(lists_N[rows])]
    return rows[first_highest(ties_N[rows], lists_N[rows])]
