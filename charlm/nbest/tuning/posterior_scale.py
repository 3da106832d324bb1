"""The one scale of totals at which confidences of words are most likely to be what they say.

Only the ratios of tuned weights have a meaning, so posteriors from their totals are as a rule far
too sure, or not sure enough. The scale moves no ranking.
"""

from collections.abc import Iterable
from math import exp, log

import numpy as np

from charlm.nbest.confidences import agreement, is_in, softmax, summed
from charlm.nbest.features import Floats
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.metrics.calibration import log2_likelihood
from charlm.nbest.references import References

LOW, HIGH = 1e-6, 1e6
STEPS = 28  # of the grid on which the search begins, since the likelihood is flat at both ends
DIGITS = 4


def posterior_scale(lists: Iterable[Rescored], references: References) -> float | None:
    """The scale with the highest likelihood of which words of the best hypotheses are right.

    0 where no scale is better than equal posteriors. None where nothing tells: no words, all of
    them right or all wrong, or in all hypotheses.
    """
    from scipy.optimize import minimize_scalar  # loaded where it is used: it takes long

    parts = [
        (np.array(each.totals), agreement(each), is_in(references[each.nbest.id], each.best.words))
        for each in lists
    ]
    correct_N = np.concatenate([np.zeros(0, bool), *(correct_W for *_, correct_W in parts)])

    def loss(log_scale: float) -> float:
        scale = exp(log_scale)
        confidences: list[Floats] = [
            summed(softmax(scale * totals_H), agreement_HW) for totals_H, agreement_HW, _ in parts
        ]
        return -log2_likelihood(np.concatenate(confidences), correct_N)

    if correct_N.all() or not correct_N.any():
        return None
    grid = np.linspace(log(LOW), log(HIGH), STEPS)
    losses = [loss(each) for each in grid]
    if np.ptp(losses) == 0:
        return None
    best = int(np.argmin(losses))
    if best == 0:
        return 0.0
    ends = grid[best - 1], grid[min(best + 1, STEPS - 1)]
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return float(f"{exp(found.x):.{DIGITS}g}")
