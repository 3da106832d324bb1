"""An n-gram model step by step, for many rows (hypotheses) at once.

A row's state is the index of its last n words among the model's n-grams, for every n below the
model's order: a step is one binary search for each order, for any number of rows. Words are
numbered as in runs, `</s>` 0 and `<unk>` 1, since `<s>` is never predicted.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from charlm.ngram.backoff import ROUNDING, BackoffModel, Log10s, require_probabilities
from charlm.ngram.files.arpa_writing import LOG10_ZERO
from charlm.ngram.ngram_counts import ABSENT
from charlm.ngram.word_ids import END, MARKS, START, UNK
from charlm.text.corpus.tokens import END_WORD, UNK_WORD

Position = npt.NDArray[np.int64]  # (O, N): for each n from 1 the last n words in order n, or −1
Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class NgramSteps:
    """Takes rows one word further under a back-off model, in nats.

    Words of probability 0 get log10 −99, as in ARPA.
    """

    def __init__(self, model: BackoffModel) -> None:
        self.model = model
        self.words = (END_WORD, UNK_WORD, *model.words[len(MARKS) :])
        self._own_ids = np.array([END, UNK, *range(len(MARKS), len(model.words))], np.int64)

    def start(self, n: int) -> Position:
        """`n` rows that have read `<s>`."""
        rows_ON = np.full((max(1, self.model.order - 1), n), ABSENT, np.int64)
        rows_ON[0] = START
        return rows_ON

    def gather(self, position: Position, rows: Rows) -> Position:
        """These rows, in this order, with repetition."""
        return position[:, rows]

    def log_probs(self, position: Position, *, rows: Rows, words: Rows) -> Floats:
        """A word's log probability after each of `rows`, as `BackoffModel.score_ids` finds it."""
        ids, rows_ON = self._own_ids[words], position[:, rows]
        log10s = self.model.orders[0].log10_probs[ids]
        for n, grams in enumerate(self.model.orders[1:], 2):
            contexts = rows_ON[n - 2]
            found = grams.find_after(contexts, ids, n_words=len(self.model.words))
            log10s += self._backoffs(contexts, order=n)
            hit = found >= 0
            log10s[hit] = grams.log10_probs[found[hit]]
        return _nats(self._checked(log10s))

    def read(
        self, position: Position, *, rows: Rows, tokens: Sequence[str], words: Rows
    ) -> Position:
        """The rows after one more word each; spellings are ignored."""
        before_ON, ids = position[:, rows], self._own_ids[words]
        rows_ON = np.empty_like(before_ON)
        rows_ON[0] = ids
        for n, grams in enumerate(self.model.orders[1 : len(rows_ON)], 1):
            rows_ON[n] = grams.find_after(before_ON[n - 1], ids, n_words=len(self.model.words))
        return rows_ON

    def distribution(self, position: Position) -> Floats:
        """The log-probabilities of all words, (N, V)."""
        return _nats(self.log10_distribution(position))

    def log10_distribution(self, position: Position) -> Log10s:
        """The log10 probabilities of all words, (N, V); −inf for probability 0."""
        model, n_words = self.model, len(self.model.words)
        log10s = np.tile(model.orders[0].log10_probs, (position.shape[1], 1))
        for n in range(2, model.order + 1):
            grams, contexts = model.orders[n - 1], position[n - 2]
            log10s += self._backoffs(contexts, order=n)[:, None]
            firsts = np.searchsorted(grams.keys, contexts * n_words)
            lasts = np.searchsorted(grams.keys, (contexts + 1) * n_words)
            for row in np.flatnonzero(contexts >= 0).tolist():
                own = slice(firsts[row], lasts[row])
                log10s[row, grams.keys[own] % n_words] = grams.log10_probs[own]
        return self._checked(log10s[:, self._own_ids])

    def _checked(self, log10s: Log10s) -> Log10s:
        require_probabilities(log10s, source=self.model.source, rounding=ROUNDING)
        return log10s

    def _backoffs(self, contexts: Rows, *, order: int) -> Log10s:
        """The back-offs of contexts of n-grams of an order; 0 where they are not listed."""
        found, seen = np.zeros(len(contexts)), contexts >= 0
        found[seen] = self.model.orders[order - 2].log10_backoffs[contexts[seen]]
        return found


def _nats(log10s: Log10s) -> Floats:
    nats: Floats = np.maximum(log10s, LOG10_ZERO) * math.log(10)
    return nats
