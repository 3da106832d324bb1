"""How sure a ranking is: posteriors of hypotheses, and confidences of the best one's words.

A posterior is relative to the list: what the list does not hold has none. So a word that all
hypotheses share has the sum 1, right or wrong; the ceiling says how often such words are right.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.ranking.features import Floats

Bools = npt.NDArray[np.bool_]


def posteriors(item: Rescored) -> Floats:
    """The probability of each hypothesis in its list, (H,): the softmax of scale·total.

    Hypotheses that another one of the same words represents have 0, since it has their total.

    Raises:
        ConfigError: a list without totals.
    """
    if not item.totals:
        raise ConfigError(
            f"list {item.nbest.id[:80]!r}: no feature has a weight, so that all hypotheses are "
            "equally likely; expected a model, --weights or --weight"
        )
    scaled_H = item.sureness.positive_scale * np.array(item.totals)
    scaled_H[list(item.duplicates)] = -np.inf
    return softmax(scaled_H)


def softmax(logits_H: Floats) -> Floats:
    """exp of each number as a share of their sum, (H,)."""
    weights_H = np.exp(logits_H - logits_H.max())
    shares_H: Floats = weights_H / weights_H.sum()
    return shares_H


def word_confidences(item: Rescored) -> Floats:
    """For each word of the best hypothesis, ceiling·Σ posteriors of those that have it there."""
    return summed(posteriors(item), agreement(item), ceiling=item.sureness.ceiling)


def summed(posteriors_H: Floats, agreement_HW: Bools, *, ceiling: float) -> Floats:
    """ceiling·Σ posteriors of the hypotheses that agree, for each word, (W,)."""
    sums_W = np.minimum(posteriors_H @ agreement_HW, 1.0)  # rounding may exceed 1
    confidences_W: Floats = ceiling * sums_W
    return confidences_W


def agreement(item: Rescored) -> Bools:
    """Whether each hypothesis has each word of the best one there, (H, W); each text aligned once.

    The best hypothesis agrees with itself in all words.
    """
    best = item.best.words
    texts = [hypothesis.words for hypothesis in item.nbest.hypotheses]
    rows = {words: is_in(words, best) for words in dict.fromkeys(texts)}
    return np.stack([rows[words] for words in texts])


def is_in(reference: Sequence[str], hypothesis: Sequence[str]) -> Bools:
    """Whether each word of a hypothesis is aligned with the same word of a reference, (W,).

    By the alignment that error rates count, wherever several have as few edits.
    """
    found_W = np.zeros(len(hypothesis), bool)
    for block in Levenshtein.editops(reference, hypothesis).as_matching_blocks():
        found_W[block.b : block.b + block.size] = True
    return found_W
