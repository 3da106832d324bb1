"""A back-off model: sorted n-grams with log10 probabilities and back-offs, and their lookup.

Contexts of n-grams must be listed; suffixes need not be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.ngram.ngram_counts import ABSENT, SortedKeys, words_of_rows
from charlm.ngram.word_ids import START, Ids, WordIds, encode

Log10s = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.int8]
ROUNDING = 1e-6  # log10; files have seven decimals, and a certain word may end this little above 0


@dataclass(frozen=True)
class Grams(SortedKeys):
    """The n-grams of one order with their numbers."""

    log10_probs: Log10s
    log10_backoffs: Log10s  # of these as contexts; none in the highest order


@dataclass(frozen=True)
class TokenScores:
    """A model's scores of sentences, token by token: words and any `</s>`, without `<s>`."""

    word_ids: Ids  # lmplz's numbering: `<unk>` is 0
    log10_probs: Log10s  # −inf where the model gives nothing
    lengths: Lengths  # of the longest n-gram found, the token included


@dataclass(frozen=True)
class BackoffModel:
    """Words, `<unk>`, `<s>` and `</s>` first, and n-grams of orders 1, 2, …"""

    words: tuple[str, ...]
    orders: tuple[Grams, ...]
    source: str = "model"  # what messages call it
    unlisted: frozenset[str] = frozenset()  # words that its file does not list, which get nothing

    precision = "fp64"

    @property
    def order(self) -> int:
        return len(self.orders)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The n-grams of each order, as the model's file lists them."""
        n_words, *further = map(len, self.orders)
        return (n_words - len(self.unlisted), *further)

    @property
    def n_ngrams(self) -> int:
        """The number of n-grams of all orders."""
        return sum(self.sizes)

    @cached_property
    def word_ids(self) -> WordIds:
        return WordIds(self.words, closed=True)

    def score(self, sentences: Sequence[list[str]], *, marked: bool = True) -> TokenScores:
        """log10 probabilities of all tokens of sentences; OOVs are `<unk>`.

        Those that are `marked` start from `<s>` and end with `</s>`, the others from no context.

        Raises:
            DataError: as `score_ids`.
        """
        ids = encode(sentences, self.word_ids, marked=marked)
        return self.score_ids(ids, marked=marked)

    def score_ids(self, ids: Ids, *, marked: bool = True) -> TokenScores:
        """log10 probabilities of the tokens of sentences, as `encode` puts them together.

        Raises:
            DataError: a probability of more than 1, which the back-offs of a broken file can make.
        """
        log10s = self.orders[0].log10_probs[ids]
        lengths = np.ones(len(ids), np.int8)
        rows = ids.astype(np.int64)  # of the n-gram of the last order that ends at each position
        if not marked:
            rows[ids == START] = ABSENT
        for n, grams in enumerate(self.orders[1:], 2):
            contexts, rows = rows[:-1], np.full(len(ids), ABSENT)
            seen = 1 + np.flatnonzero((contexts >= 0) & (ids[1:] != START))
            contexts = contexts[seen - 1]
            found = grams.find(contexts * len(self.words) + ids[seen])
            rows[seen] = found
            hit = found >= 0
            log10s[seen[~hit]] += self.orders[n - 2].log10_backoffs[contexts[~hit]]
            log10s[seen[hit]] = grams.log10_probs[found[hit]]
            lengths[seen[hit]] = n
        predicted = ids != START
        require_probabilities(log10s[predicted], source=self.source, rounding=ROUNDING)
        return TokenScores(ids[predicted], log10s[predicted], lengths[predicted])

    def ngram_words(self, n: int, rows: slice) -> list[Ids]:
        """The word ids of some n-grams of order `n`, first words first: n arrays."""
        return words_of_rows(self.orders[:n], rows, n_words=len(self.words))


def log10_in_place(values: Log10s) -> Log10s:
    """Replace probabilities by their logarithms, in place; 0 becomes −inf."""
    with np.errstate(divide="ignore"):
        results: Log10s = np.log10(values, out=values)
    return results


def require_probabilities(log10_probs: Log10s, *, source: str, rounding: float) -> None:
    """Refuse logarithms that cannot be of probabilities.

    Raises:
        DataError: one is larger than `rounding`; `source` is the model.
    """
    highest = log10_probs.max(initial=-np.inf)
    if highest > rounding:
        raise DataError(
            f"{source}: gives a token the log10 probability {highest:.4g}; expected 0 or less; its "
            "back-offs are broken"
        )
