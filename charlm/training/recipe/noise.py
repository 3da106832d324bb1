"""Noise that smooths as Kneser–Ney does: in training some of the words read are replaced by others.

After Xie et al. (2017), "Data noising as smoothing in neural network language models".
A word gives way the oftener, the more of its occurrences had a follower of their own, as absolute
discounting takes more from such contexts; what comes in its place is drawn by how many words it
follows, as Kneser–Ney's lowest order is.
Differs from the paper, where what is to be predicted may be replaced, too.
"""

import numpy as np

from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids


class KneserNeyNoise:
    """Draws replacements for forms of a text; `</s>` neither goes nor comes."""

    def __init__(self, ids: Ids, n_forms: int, *, share: float) -> None:
        counts = np.bincount(ids, minlength=n_forms)
        before = np.concatenate([[END], ids[:-1]]).astype(np.int64)
        pairs = np.unique(before * n_forms + ids)
        n_followers = np.bincount(pairs // n_forms, minlength=n_forms)
        n_preceding = np.bincount(pairs % n_forms, minlength=n_forms)
        self.replaced_share = share * n_followers / np.maximum(counts, 1)
        self.replaced_share[END] = 0.0
        n_preceding[END] = 0
        self.cumulative = np.cumsum(n_preceding)

    def replace(self, inputs: Ids, generator: np.random.Generator) -> Ids:
        """Form ids of the same shape, some of them others."""
        is_replaced = generator.random(inputs.shape) < self.replaced_share[inputs]
        if not is_replaced.any():
            return inputs
        noised = inputs.copy()
        drawn = generator.integers(self.cumulative[-1], size=int(is_replaced.sum()))
        noised[is_replaced] = np.searchsorted(self.cumulative, drawn, side="right")
        return noised
