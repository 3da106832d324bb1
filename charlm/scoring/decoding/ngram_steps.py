"""An n-gram model step by step, in nats; what it gives nothing to gets log10 −99, as in ARPA."""

import math
from collections.abc import Sequence

import numpy as np

from charlm.ngram.arpa_writing import LOG10_ZERO
from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.ngram_states import BackoffSteps, Histories
from charlm.scoring.decoding.states import Floats, Rows, Steps


class NgramSteps(Steps):
    """Takes histories one word further under a back-off model, to which spellings say nothing."""

    def __init__(self, model: BackoffModel) -> None:
        self._steps = BackoffSteps(model)
        self.words = self._steps.words

    def start(self, n: int) -> Histories:
        return self._steps.start(n)

    def gather(self, position: Histories, rows: Rows) -> Histories:
        return self._steps.gather(position, rows)

    def log_probs(self, position: Histories, *, rows: Rows, words: Rows) -> Floats:
        return _nats(self._steps.log10_probs(self.gather(position, rows), words))

    def read(
        self, position: Histories, *, rows: Rows, tokens: Sequence[str], words: Rows
    ) -> Histories:
        return self._steps.read(self.gather(position, rows), words)

    def distribution(self, position: Histories) -> Floats:
        return _nats(self._steps.distribution(position))


def _nats(log10s: Log10s) -> Floats:
    nats: Floats = np.maximum(log10s, LOG10_ZERO) * math.log(10)
    return nats
