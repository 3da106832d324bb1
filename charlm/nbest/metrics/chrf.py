"""chrF of a corpus (Popović, 2015) from the counts of its sentences, as in sacrebleu.

It compares character n-grams, so that a wrong ending costs a part of a word, where BLEU counts the
word as wrong.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import sacrebleu

from charlm.nbest.features import Floats
from charlm.nbest.metrics.error_rates import Ints, Metric, Pair

ORDER = 6
BETA = 2  # how many times as much recall counts as precision


class ChrF(Metric):
    """1 − chrF2, from n-grams of the hypothesis, of the reference, and of both, by order."""

    name = "chrf"

    @property
    def signature(self) -> str:
        """The signature as sacrebleu prints it, and the beta that is in its name there."""
        told = f"case:mixed|eff:yes|nc:6|nw:0|space:no|version:{sacrebleu.__version__}"
        return f"chrf|beta:{BETA}|nrefs:{self.n_references}|{told}"

    def count(self, pairs: Sequence[Pair]) -> Iterable[tuple[int, ...]]:
        """Six counts of the hypothesis' n-grams, six of the reference's, six of the matches.

        Of several references it is the one by which the sentence has the highest chrF.
        """
        last: list[str] = []
        ngrams: list[list[Counter[str]]] = []
        for *references, hypothesis in pairs:
            if references != last:  # they stand beside all hypotheses of their list
                last, ngrams = references, [*map(_ngrams, references)]
            found = _ngrams(hypothesis)
            rows = [_compared(found, wanted) for wanted in ngrams]
            yield rows[0] if len(rows) == 1 else rows[np.argmax(_scores(np.array(rows)))]

    def errors(self, sums_NK: Ints) -> Floats:
        """1 − chrF of each row of sums."""
        errors_N: Floats = 1 - _scores(sums_NK)
        return errors_N

    def errors_alone(self, counts_LK: Ints) -> Floats:
        """1 − chrF of each sentence."""
        return self.errors(counts_LK)


def _scores(sums_NK: Ints) -> Floats:
    """chrF of each row of sums, over the orders of which both sides have n-grams."""
    found_N6, wanted_N6, matches_N6 = np.split(sums_NK, 3, axis=1)
    is_told_N6 = (found_N6 > 0) & (wanted_N6 > 0)
    n_orders_N = np.maximum(1, is_told_N6.sum(axis=1))
    precision_N, recall_N = (
        (np.where(is_told_N6, matches_N6, 0) / np.maximum(1, sums_N6)).sum(axis=1) / n_orders_N
        for sums_N6 in (found_N6, wanted_N6)
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


def _ngrams(text: str) -> list[Counter[str]]:
    """The n-grams of each order, blanks left out."""
    letters = "".join(text.split())
    return [
        Counter(letters[at : at + order] for at in range(len(letters) - order + 1))
        for order in range(1, ORDER + 1)
    ]
