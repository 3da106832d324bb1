"""How good confidences of words are: normalised cross-entropy, and a table of reliability.

NCE is NIST's, as sclite prints it: 0 for a confidence that is always the share of right words, 1
for certainty about each, below 0 for confidences that are worse than that share. A word is right if
the alignment that error rates count pairs it with the same word of the reference. Words on which
all hypotheses agree have one confidence, which totals do not move: the others have an NCE of their
own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from charlm.interface.json_results import JsonResult
from charlm.nbest.ranking.confidences import Bools
from charlm.nbest.ranking.features import Floats

FLOOR = 1e-7  # sclite's, of a confidence and of 1 - confidence: one word costs 23 bits at most
EDGES = (0.0, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - FLOOR)  # most words are sure; the last are certain


@dataclass(frozen=True)
class ConfidenceBin:
    """The words with a confidence from `low` on, up to the next bin's."""

    low: float
    n_words: int
    mean: float | None  # of the confidences; None: no words
    correct: float | None  # share of right words


@dataclass(frozen=True)
class Calibration(JsonResult):
    """How the confidences of words go with their being right."""

    n_words: int
    n_correct: int
    mean: float | None  # of the confidences; None: no words
    nce: float | None  # None: no word is right, or none is wrong
    n_contested: int  # words that not all hypotheses of their list have there
    nce_contested: float | None  # of these alone
    bins: tuple[ConfidenceBin, ...]


def calibration(
    confidences: Sequence[Floats], correct: Sequence[Bools], *, agreed: Sequence[Bools]
) -> Calibration:
    """The calibration of the words of lists, of which each has an array of every kind.

    `agreed`: whether all hypotheses of the list have the word there.
    """
    confidences_N = np.concatenate([np.zeros(0), *confidences])
    correct_N = np.concatenate([np.zeros(0, bool), *correct])
    contested_N = ~np.concatenate([np.zeros(0, bool), *agreed])
    number_N = np.searchsorted(EDGES, confidences_N, side="right") - 1
    parts = [(low, number_N == number) for number, low in enumerate(EDGES)]
    return Calibration(
        n_words=len(correct_N),
        n_correct=int(correct_N.sum()),
        mean=_mean(confidences_N),
        nce=normalised_cross_entropy(confidences_N, correct_N),
        n_contested=int(contested_N.sum()),
        nce_contested=normalised_cross_entropy(confidences_N[contested_N], correct_N[contested_N]),
        bins=tuple(
            ConfidenceBin(
                low, int(part_N.sum()), _mean(confidences_N[part_N]), _mean(correct_N[part_N])
            )
            for low, part_N in parts
        ),
    )


def normalised_cross_entropy(confidences_N: Floats, correct_N: Bools) -> float | None:
    """(H + Σ log2 P) / H, with H the entropy of words that all have the share of right ones."""
    share = _mean(correct_N)
    if share in (None, 0.0, 1.0):
        return None
    entropy = -log2_likelihood(np.full(len(correct_N), share), correct_N)
    return (entropy + log2_likelihood(confidences_N, correct_N)) / entropy


def log2_likelihood(confidences_N: Floats, correct_N: Bools) -> float:
    """Σ log2 of the confidences of right words, and of 1 less those of wrong ones, with FLOOR."""
    clipped_N = np.clip(confidences_N, FLOOR, 1 - FLOOR)
    return float(np.log2(np.where(correct_N, clipped_N, 1 - clipped_N)).sum())


def _mean(values_N: Floats | Bools) -> float | None:
    return float(values_N.mean()) if len(values_N) else None
