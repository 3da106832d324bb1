"""The neural model's probabilities of n-grams, as averages over the histories that share a context.

For every position of a text the model gives P(w | full history). An n-gram (h, w) gets the mean of
it over all positions whose last words are h, whatever word follows there. A mean over only those
positions where w follows would be too high, since w follows where it is likely.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor

from charlm.ngram.backoff import Log10s
from charlm.ngram.reshaping.ngram_set import Closure
from charlm.ngram.word_ids import START
from charlm.scoring.export.averages_over_text import OnTokens, ngram_numbers
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids

# A context is averaged over at most so many of its occurrences. Otherwise the most frequent
# contexts, which have the most followers, would take nearly all the time.
MOST_OCCURRENCES = 256
PRIOR = 1.0  # the prior probability weighs as much as so many occurrences

Probs = npt.NDArray[np.float32]


class HistoryAverages:
    """Sums of P(w | full history) for the n-grams of a closure, and the counts of each context."""

    def __init__(self, closure: Closure, *, most: int = MOST_OCCURRENCES) -> None:
        self._closure, self._most = closure, most
        n_words = len(closure.words)
        self._numbers = ngram_numbers(n_words - 1)
        of_ngram = np.full(n_words, -1)  # the model's id of each word; none of `<s>`
        of_ngram[self._numbers] = np.arange(n_words - 1)
        self.sums = [np.zeros(len(level)) for level in closure.levels]
        self.n_occurrences = [
            np.zeros(len(closure.levels[n - 1]) if n else 1, np.int64) for n in range(closure.order)
        ]
        self._last_words = [of_ngram[closure.last_words(n)] for n in range(1, closure.order + 1)]
        self._firsts = [
            np.searchsorted(closure.contexts(n), np.arange(len(closure.levels[n - 2]) + 1))
            for n in range(2, closure.order + 1)
        ]

    def add_text(self, steps: Iterable[tuple[Ids, Tensor]], *, on_tokens: OnTokens) -> None:
        """Add what `distributions` yields for a text."""
        n_positions = 0
        contexts: list[npt.NDArray[np.int64]] = []
        for inputs_B, probs_BV in steps:
            n_rows = len(inputs_B)
            contexts = self._advanced([rows[:n_rows] for rows in contexts], inputs_B)
            self._add(probs_BV.cpu().numpy(), contexts)
            n_positions += n_rows
            on_tokens(n_positions)

    def _advanced(
        self, contexts: Sequence[npt.NDArray[np.int64]], inputs_B: Ids
    ) -> list[npt.NDArray[np.int64]]:
        """For each length, the n-gram index of each row's last words, −1 where it is not listed."""
        n_words = len(self._closure.words)
        ends = inputs_B == END
        words = np.where(ends, START, self._numbers[inputs_B])
        results = [words]
        for level, before in zip(self._closure.levels[1:-1], contexts, strict=False):
            found = level.find_after(before, words, n_words=n_words)
            results.append(np.where(ends, -1, found))
        return results

    def _add(self, probs_BV: Probs, contexts: Sequence[npt.NDArray[np.int64]]) -> None:
        totals_V = probs_BV.sum(axis=0, dtype=np.float64)
        self.sums[0][self._numbers] += totals_V
        self.n_occurrences[0] += len(probs_BV)
        for n, rows in enumerate(contexts, 2):
            seen = np.flatnonzero(rows >= 0)
            seen = seen[self.n_occurrences[n - 1][rows[seen]] < self._most]
            context = rows[seen]
            np.add.at(self.n_occurrences[n - 1], context, 1)
            firsts = self._firsts[n - 2]
            n_followers = firsts[context + 1] - firsts[context]
            behind = np.cumsum(n_followers) - n_followers
            grams = np.arange(n_followers.sum()) + np.repeat(firsts[context] - behind, n_followers)
            probs = probs_BV[np.repeat(seen, n_followers), self._last_words[n - 1][grams]]
            np.add.at(self.sums[n - 1], grams, probs.astype(np.float64))

    def log10_probs(self, prior: Sequence[Log10s]) -> list[Log10s]:
        """The averages, by order; `prior`, of weight `PRIOR`, smooths those of rare contexts."""
        results = []
        for n, (sums, before) in enumerate(zip(self.sums, prior, strict=True), 1):
            n_occurrences = self.n_occurrences[n - 1]
            divisors = n_occurrences[self._closure.contexts(n)] if n > 1 else n_occurrences
            with np.errstate(divide="ignore"):  # `<s>`
                results.append(np.log10((sums + PRIOR * 10.0**before) / (divisors + PRIOR)))
        return results
