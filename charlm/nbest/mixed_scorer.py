"""Several scorers mixed linearly word by word, as one scorer.

A mixture of probabilities is one again, so its weights may be found by EM on any text; a weighted
sum of log-probabilities is not, and is what weights of features are for.
"""

import math
from collections.abc import Sequence

import numpy as np

from charlm.nbest.scorer import LogProbs, Scorer, WordLogProbs, Words


class MixedScorer:
    """Σ_k weight_k · P_k(word | words before); weights of sum 1."""

    def __init__(self, scorers: Sequence[Scorer], weights: Sequence[float], *, name: str) -> None:
        if len(scorers) != len(weights) or abs(math.fsum(weights) - 1) > 1e-6:
            raise ValueError(f"weights {weights!r}: expected {len(scorers)}, of sum 1")
        used = [pair for pair in zip(scorers, weights, strict=True) if pair[1] > 0]
        self.scorers = [scorer for scorer, _ in used]
        self.log_weights = np.log([weight for _, weight in used])
        self.name = name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The mixture's scores; a word is known where the first scorer knows it."""
        memories = self._memories(memory)
        scores = [
            scorer.score(sentences, memory=each)
            for scorer, each in zip(self.scorers, memories, strict=True)
        ]
        return [
            WordLogProbs(self._mixed([each.log_probs for each in of_one]), of_one[0].known)
            for of_one in zip(*scores, strict=True)
        ]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """What each scorer remembers."""
        memories = self._memories(memory)
        return tuple(
            scorer.remember(sentence, memory=each)
            for scorer, each in zip(self.scorers, memories, strict=True)
        )

    def _memories(self, memory: object) -> tuple[object, ...]:
        return memory if isinstance(memory, tuple) else (None,) * len(self.scorers)

    def _mixed(self, log_probs: Sequence[LogProbs]) -> LogProbs:
        mixed: LogProbs = np.logaddexp.reduce(np.stack(log_probs) + self.log_weights[:, None])
        return mixed
