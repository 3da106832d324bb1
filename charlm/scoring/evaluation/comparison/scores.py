"""A system's scores of a text, token by token, for any kind of model.

Words have the ids of n-gram models, so that two systems' targets can be compared before their
probabilities are mixed.
"""

import time
from array import array
from dataclasses import dataclass

import numpy as np

from charlm.ngram.backoff import Log10s
from charlm.ngram.word_ids import UNK, Ids
from charlm.text.perplexity.perplexity import (
    Counts,
    Evaluation,
    Perplexity,
    ScoredSentence,
    log10_sums,
)


@dataclass(frozen=True)
class Scores:
    """The tokens of a text, each sentence ending with `</s>`, under a model in one state."""

    targets: Ids
    log10s: Log10s
    perplexity: Perplexity
    signature: str
    seconds: float  # for reading and scoring

    @property
    def counts(self) -> Counts:
        return self.perplexity.counts

    def perplexity_of(self, log10s: Log10s) -> Perplexity:
        """The perplexity of other log10 probabilities of the same tokens."""
        known = (self.targets != UNK).tolist()
        return Perplexity(self.counts, log10_sums(log10s.tolist(), known))


class Collector:
    """Collects the scored sentences of one text and measures the time."""

    def __init__(self) -> None:
        self._log10s, self._targets = array("d"), array("i")
        self._began = time.perf_counter()

    def __call__(self, sentence: ScoredSentence) -> None:
        self._log10s.extend(sentence.log10_probs)
        self._targets.extend(sentence.ngram_ids)

    def scores(self, evaluation: Evaluation, *, state: str) -> Scores:
        """All collected scores, with the evaluation's perplexity and signature."""
        return Scores(
            targets=np.frombuffer(self._targets, np.int32),
            log10s=np.frombuffer(self._log10s),
            perplexity=evaluation.by_state[state],
            signature=evaluation.signatures[state],
            seconds=time.perf_counter() - self._began,
        )
