"""chrF of a corpus (Popović, 2015) from the counts of its sentences, as in sacrebleu.

It compares character n-grams, so that a wrong ending costs a part of a word, where BLEU counts the
word as wrong. chrF++ (Popović, 2017) compares single words and pairs of words as well.
"""

import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import sacrebleu

from charlm.nbest.metrics.error_rates import Ints, Metric, Pair
from charlm.nbest.metrics.shared_ngrams import shared, word_ngrams
from charlm.nbest.ranking.features import Floats

ORDER = 6
ORDERS = range(1, ORDER + 1)
BETA = 2  # how many times as much recall counts as precision


class ChrF(Metric):
    """1 − chrF2, from n-grams of the hypothesis, of the reference, and of both, by order."""

    def __init__(self, *, of_words: int = 0) -> None:
        super().__init__()
        self.name = f"chrf{'+' * of_words}"
        self._of_words = of_words

    @property
    def signature(self) -> str:
        """The signature as sacrebleu prints it, and the beta that is in its name there."""
        orders = f"nc:{ORDER}|nw:{self._of_words}"
        told = f"case:mixed|eff:yes|{orders}|space:no|version:{sacrebleu.__version__}"
        return f"{self.name}|beta:{BETA}|nrefs:{self.n_references}|{told}"

    def count(self, pairs: Sequence[Pair]) -> Iterable[tuple[int, ...]]:
        """By order the hypothesis' n-grams, then the reference's, then the matches.

        Of several references it is the one by which the sentence has the highest chrF.
        """
        last: list[str] = []
        ngrams: list[list[Counter[str]]] = []
        for *references, hypothesis in pairs:
            if references != last:  # they stand beside all hypotheses of their list
                last, ngrams = references, [*map(self._ngrams, references)]
            found = self._ngrams(hypothesis)
            rows = [_compared(found, wanted) for wanted in ngrams]
            yield rows[0] if len(rows) == 1 else rows[np.argmax(_scores(np.array(rows)))]

    def counts_between(self, texts: Sequence[str]) -> Iterator[Ints]:
        """The n-grams of each text are counted once."""
        ngrams = [*map(self._ngrams, texts)]
        totals_HO = np.array([[each.total() for each in orders] for orders in ngrams], np.int64)
        shared_HHO = np.stack([*map(shared, zip(*ngrams, strict=True))], axis=-1)
        for wanted_O, matches_HO in zip(totals_HO, shared_HHO, strict=True):
            found_HO = np.where(wanted_O > 0, totals_HO, 0)
            yield np.hstack([found_HO, np.broadcast_to(wanted_O, totals_HO.shape), matches_HO])

    def errors(self, sums_NK: Ints) -> Floats:
        """1 − chrF of each row of sums."""
        errors_N: Floats = 1 - _scores(sums_NK)
        return errors_N

    def errors_alone(self, counts_LK: Ints) -> Floats:
        """1 − chrF of each sentence."""
        return self.errors(counts_LK)

    def _ngrams(self, text: str) -> list[Counter[str]]:
        """The n-grams of each order: of letters without blanks, then of words."""
        letters, words = "".join(text.split()), _words(text) if self._of_words else []
        return [
            *(_letter_ngrams(letters, n) for n in ORDERS),
            *(word_ngrams(words, n) for n in range(1, self._of_words + 1)),
        ]


def _letter_ngrams(letters: str, n: int) -> Counter[str]:
    return Counter(letters[at : at + n] for at in range(len(letters) - n + 1))


def _words(text: str) -> list[str]:
    """Words, one mark of punctuation cut off each: the last letter, else the first."""
    words = list[str]()
    for word in text.split():
        at = len(word) - 1 if word[-1] in string.punctuation else word[0] in string.punctuation
        words += [part for part in (word[:at], word[at:]) if part]
    return words


def _scores(sums_NK: Ints) -> Floats:
    """chrF of each row of sums, over the orders of which both sides have n-grams."""
    found_NO, wanted_NO, matches_NO = np.split(sums_NK, 3, axis=1)
    is_told_NO = (found_NO > 0) & (wanted_NO > 0)
    n_orders_N = np.maximum(1, is_told_NO.sum(axis=1))
    precision_N, recall_N = (
        (np.where(is_told_NO, matches_NO, 0) / np.maximum(1, sums_NO)).sum(axis=1) / n_orders_N
        for sums_NO in (found_NO, wanted_NO)
    )
    weighted_N = BETA**2 * precision_N + recall_N
    products_N = (1 + BETA**2) * precision_N * recall_N
    scores_N: Floats = products_N / np.where(weighted_N > 0, weighted_N, 1)
    return scores_N


def _compared(found: Sequence[Counter[str]], wanted: Sequence[Counter[str]]) -> tuple[int, ...]:
    # Where the reference is too short for an order, there is nothing to compare.
    n_found = (own.total() if each else 0 for own, each in zip(found, wanted, strict=True))
    matches = ((own & each).total() for own, each in zip(found, wanted, strict=True))
    return (*n_found, *(each.total() for each in wanted), *matches)
