"""How sure totals are: the scale and the ceiling at which confidences are likeliest to be true.

Only the ratios of tuned weights have a meaning, so posteriors from their totals are as a rule far
too sure, or not sure enough. Neither number moves a ranking.
"""

from collections.abc import Iterable
from math import exp, log

import numpy as np

from charlm.nbest.hypotheses import Rescored, Sureness
from charlm.nbest.metrics.calibration import log2_likelihood
from charlm.nbest.ranking.confidences import agreement, is_in, softmax, summed
from charlm.nbest.ranking.features import Floats
from charlm.nbest.references.references import References

LOW, HIGH = 1e-6, 1e6
STEPS = 28  # of the grid on which the search begins, since the likelihood is flat at both ends
DIGITS = 4


def fitted_sureness(lists: Iterable[Rescored], references: References) -> Sureness | None:
    """What makes it likeliest which words of the best hypotheses are right.

    The ceiling is the share of right words among those that all hypotheses of a list have, with
    one right and one wrong word more, so that few words are no certainty. The scale is 0 where none
    is better than equal posteriors. None where nothing tells: no words, all of them right or all
    wrong, or in all hypotheses.
    """
    from scipy.optimize import minimize_scalar  # loaded where it is used: it takes long

    parts = [
        (np.array(each.totals), agreement(each), is_in(references[each.nbest.id], each.best.words))
        for each in lists
    ]
    correct_N = np.concatenate([np.zeros(0, bool), *(correct_W for *_, correct_W in parts)])
    agreed_N = np.concatenate([np.zeros(0, bool), *(rows.all(0) for _, rows, _ in parts)])
    if correct_N.all() or not correct_N.any() or agreed_N.all():
        return None
    n_agreed = int(agreed_N.sum())
    ceiling = (int(correct_N[agreed_N].sum()) + 1) / (n_agreed + 2) if n_agreed else 1.0

    def loss(log_scale: float) -> float:
        scale = exp(log_scale)
        confidences: list[Floats] = [
            summed(softmax(scale * totals_H), agreement_HW, ceiling=ceiling)
            for totals_H, agreement_HW, _ in parts
        ]
        return -log2_likelihood(np.concatenate(confidences), correct_N)

    grid = np.linspace(log(LOW), log(HIGH), STEPS)
    best = int(np.argmin([loss(each) for each in grid]))
    scale = 0.0
    if best:
        ends = grid[best - 1], grid[min(best + 1, STEPS - 1)]
        found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-4})
        scale = exp(found.x)
    return Sureness(*(float(f"{each:.{DIGITS}g}") for each in (scale, ceiling)))
