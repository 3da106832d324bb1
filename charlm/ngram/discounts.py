"""The discounts of modified Kneser–Ney (Chen & Goodman, 1998), for counts of 1, 2, 3 or more.

They are ratios of counts of counts, which a small or odd text may not have; then the whole order
takes fixed ones, as under lmplz's `--discount_fallback`, instead of ending the program.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FALLBACK = (0.5, 1.0, 1.5)  # lmplz's
N_DISCOUNTS = 3


@dataclass(frozen=True)
class Discounts:
    """What is taken from counts of 1, of 2, and of 3 or more."""

    values: tuple[float, ...]
    are_fallback: bool

    def of(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The discount of each count; 0 of a count of 0."""
        table = np.array([0.0, *self.values])
        discounts: npt.NDArray[np.float64] = table[np.minimum(counts, N_DISCOUNTS)]
        return discounts


def discounts_of(counts: npt.NDArray[np.int64]) -> Discounts:
    """D_j = j − (j + 1) · Y · n_(j+1) / n_j, Y = n_1 / (n_1 + 2 n_2), where n_j counts are j.

    The fallback where n_1, n_2 or n_3 is 0 or a discount lies outside [0, j]. In 32 bits, as lmplz
    has it: where a discount nearly equals its count or a limit, more would give another model.
    """
    n = np.bincount(counts[(counts > 0) & (counts <= N_DISCOUNTS + 1)], minlength=N_DISCOUNTS + 2)
    sizes = n.astype(np.float32)
    if 0.0 in sizes[1 : N_DISCOUNTS + 1]:
        return Discounts(FALLBACK, are_fallback=True)
    y = sizes[1] / np.float32(n[1] + 2 * n[2])
    values = tuple(
        float(j - (j + 1) * y * sizes[j + 1] / sizes[j]) for j in range(1, N_DISCOUNTS + 1)
    )
    if not all(0 <= value <= j for j, value in enumerate(values, 1)):
        return Discounts(FALLBACK, are_fallback=True)
    return Discounts(values, are_fallback=False)
