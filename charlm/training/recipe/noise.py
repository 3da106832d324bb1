"""Noise that smooths as Kneser–Ney does: in training, some input words are replaced by others.

After Xie et al. (2017), "Data noising as smoothing in neural network language models". The
probability that a word is replaced grows with its number of distinct followers relative to its
count, as absolute discounting takes more from such contexts. The replacement is drawn in proportion
to the number of distinct words that precede it, like Kneser–Ney's lowest order.
Differs from the paper, in which the words to predict may also be replaced.
"""

import numpy as np

from charlm.ngram.ngram_counts import distinct
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids


class KneserNeyNoise:
    """Draws replacements for forms of a text; `</s>` is never replaced, nor a replacement."""

    def __init__(self, ids: Ids, n_forms: int, *, share: float) -> None:
        counts = np.bincount(ids, minlength=n_forms)
        before = np.concatenate([[END], ids[:-1]]).astype(np.int64)
        pairs = distinct(before * n_forms + ids)
        n_followers = np.bincount(pairs // n_forms, minlength=n_forms)
        n_preceding = np.bincount(pairs % n_forms, minlength=n_forms)
        self.replaced_share = share * n_followers / np.maximum(counts, 1)
        self.replaced_share[END] = 0.0
        n_preceding[END] = 0
        self.cumulative = np.cumsum(n_preceding)

    def replace(self, inputs: Ids, generator: np.random.Generator) -> Ids:
        """The form ids with some of them replaced, in the same shape."""
        is_replaced = generator.random(inputs.shape) < self.replaced_share[inputs]
        if not is_replaced.any():
            return inputs
        noised = inputs.copy()
        drawn = generator.integers(self.cumulative[-1], size=int(is_replaced.sum()))
        noised[is_replaced] = np.searchsorted(self.cumulative, drawn, side="right")
        return noised
