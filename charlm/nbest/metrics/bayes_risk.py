"""The choice of minimum Bayes risk: the hypothesis that is the least wrong on average.

Each hypothesis of a list is taken as the reference with its posterior, so that a hypothesis on
whose parts many others agree may be better than the likeliest one (Kumar & Byrne, 2004).
"""

from dataclasses import replace

import numpy as np

from charlm.nbest.hypotheses import Rescored
from charlm.nbest.metrics.error_rates import Metric
from charlm.nbest.ranking.confidences import posteriors
from charlm.nbest.ranking.features import Floats

DIGITS = 9  # risks that differ by less are equal: sums in another order differ by rounding


def by_risk(item: Rescored, metric: Metric) -> Rescored:
    """The list ranked by expected errors, Σ posterior·error; equal ones stay in their order.

    Without weights all totals are 0, and all hypotheses equally likely.
    """
    texts = [" ".join(each.words) for each in item.nbest.hypotheses]
    item = item if item.totals else replace(item, totals=(0.0,) * len(texts))
    risks_H = _risks(texts, posteriors(item), metric=metric)
    order = sorted(item.ranking, key=risks_H.tolist().__getitem__)
    return replace(item, order=tuple(order), risks=tuple(risks_H.tolist()))


def _risks(texts: list[str], shares_H: Floats, *, metric: Metric) -> Floats:
    """The expected error of each text, (H,); those that stand in a list twice are compared once."""
    distinct = list(dict.fromkeys(texts))
    places = [*map({text: which for which, text in enumerate(distinct)}.__getitem__, texts)]
    shares_D = np.bincount(places, weights=shares_H)
    risks_H: Floats = np.round(shares_D @ metric.between(distinct), DIGITS)[places]
    return risks_H
