"""A run's model step by step, through the same `Walker` as prefix trees and lattices."""

import os
from collections.abc import Sequence
from threading import Lock

import numpy as np
import torch

from charlm.errors import broken_model
from charlm.model.language_model import LanguageModel
from charlm.scoring.decoding.states import Floats, Rows, Steps
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.walker import SCORES_AT_ONCE, Paths, Walker
from charlm.text.vocabulary.vocabulary import Inventory

# Forms are numbered and cached as they come, by one thread at a time. All models share one lock,
# because a model with a lock of its own could not be pickled.
READING = Lock()
# A fork waits for the thread that reads: it would not exist in the child, yet hold the lock there.
os.register_at_fork(
    before=READING.acquire, after_in_parent=READING.release, after_in_child=READING.release
)


class RunSteps(Steps):
    """Takes paths one word further; words outside the vocabulary are read as the run reads them."""

    def __init__(
        self, model: LanguageModel, inventory: Inventory, *, oov_input: str, source: object
    ) -> None:
        """`source` is what messages call the model."""
        self._forms = FormCache(model, inventory, oov_input=oov_input)
        self._walker = Walker(self._forms)
        self.words = inventory.words
        self._source = source

    def start(self, n: int) -> Paths:
        with READING:
            begun = self._walker.begin()
        return self.gather(begun, np.zeros(n, np.int64))

    def gather(self, position: Paths, rows: Rows) -> Paths:
        return position.gather(torch.from_numpy(rows).to(self._forms.device))

    def log_probs(self, position: Paths, *, rows: Rows, words: Rows) -> Floats:
        """The log-probability of one word for each of `rows`; equal rows share the computation."""
        if not len(rows):
            return np.empty(0)
        used, where = np.unique(rows, return_inverse=True)
        own = position if len(used) == len(position) else self.gather(position, used)
        log_probs = self._walker.log_probs(own.h_NH, rows=where, words=words)
        self._require_numbers(log_probs)
        return log_probs

    def read(self, position: Paths, *, rows: Rows, tokens: Sequence[str], words: Rows) -> Paths:
        if not len(rows):
            return self.gather(position, rows)
        with READING:
            self._forms.forget()
            return self._walker.advance(position, rows=rows, form_ids=self._forms.ids(tokens))

    @torch.no_grad()
    def distribution(self, position: Paths) -> Floats:
        n_at_once = max(1, SCORES_AT_ONCE[self._forms.device.type] // len(self.words))
        table = np.empty((len(position), len(self.words)))
        for first in range(0, len(position), n_at_once):
            part = slice(first, first + n_at_once)
            table[part] = self._walker.model.output.log_probs(position.h_NH[part]).cpu().numpy()
        self._require_numbers(table)
        return table

    def _require_numbers(self, log_probs: Floats) -> None:
        if not np.isfinite(log_probs).all():
            raise broken_model(self._source)
