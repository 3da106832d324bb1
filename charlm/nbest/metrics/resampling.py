"""The bootstrap: units are drawn with replacement, as many as there are, and each draw is measured.

A unit is what belongs together: the tokens of a sentence, the lists of a recording.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from charlm.nbest.ranking.features import Floats

OUTSIDE = 5.0  # per cent of the draws that lie outside the interval
FEW = 10  # units; fewer have few draws, which are much alike
BLOCK = 1 << 22  # counts held in memory at a time, or one draw's if they are more

Number = TypeVar("Number", np.int64, np.float64)


def drawn_sums(values_UC: npt.NDArray[Number], *, samples: int, seed: int) -> npt.NDArray[Number]:
    """Sums of the columns over each draw of rows, (B, C); one random stream for any block size."""
    generator = np.random.default_rng(seed)
    n_units = len(values_UC)
    block = max(1, BLOCK // n_units)
    sums = []
    for first in range(0, samples, block):
        counts_BU = np.empty((min(block, samples - first), n_units), values_UC.dtype)
        for counts_U in counts_BU:
            drawn = generator.integers(n_units, size=n_units)
            counts_U[:] = np.bincount(drawn, minlength=n_units)
        sums.append(counts_BU @ values_UC)
    return np.concatenate(sums)


def interval(drawn_B: Floats) -> tuple[float, float]:
    """The interval that holds 95 % of the draws."""
    low, high = np.percentile(drawn_B, [OUTSIDE / 2, 100 - OUTSIDE / 2])
    return float(low), float(high)


def remarks_on_units(name: str, n_units: int) -> tuple[str, ...]:
    """A remark on units, named in the plural, that are too few to tell anything by draws."""
    if n_units >= FEW:
        return ()
    return (f"{name}: {n_units}; intervals from fewer than {FEW} say nothing",)
