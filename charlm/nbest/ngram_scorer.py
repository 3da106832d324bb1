"""An n-gram model as a scorer: Kneser–Ney of ours, an ARPA file, or KenLM's binary.

Every sentence starts from `<s>`: an n-gram model remembers nothing of the sentence before. A word
to which it gives nothing, as a model without `<unk>` does to words that it does not know, gets
log10 −99, as a back-off file writes its zero.
"""

import math
from collections.abc import Sequence

import numpy as np

from charlm.nbest.scorer import WordLogProbs, Words
from charlm.ngram.arpa_writing import LOG10_ZERO
from charlm.ngram.load import NgramModel
from charlm.ngram.word_ids import UNK


class NgramScorer:
    """Scores by an n-gram model."""

    def __init__(self, model: NgramModel, *, name: str = "kn") -> None:
        self.model = model
        self.name = name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scores of each sentence, from `<s>`."""
        scores = self.model.score([list(words) for words in sentences])
        log10s = scores.log10_probs
        log_probs = np.where(np.isneginf(log10s), LOG10_ZERO, log10s) * math.log(10)
        ends = np.cumsum([len(words) + 1 for words in sentences])
        known = scores.word_ids != UNK
        return [
            WordLogProbs(
                log_probs[end - len(words) - 1 : end], known[end - len(words) - 1 : end - 1]
            )
            for words, end in zip(sentences, ends.tolist(), strict=True)
        ]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """Nothing."""
        return None
