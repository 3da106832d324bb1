"""BLEU of a corpus from the counts of its sentences, as in sacrebleu.

It is not the mean of the sentences' BLEU: counts are added up before anything is divided. Some
lists hold no texts to compare, only the counts of matches of each hypothesis; these are enough.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import sacrebleu
from sacrebleu.metrics.bleu import BLEU

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.metrics.error_rates import Ints, Metric, Pair
from charlm.nbest.metrics.shared_ngrams import shared, word_ngrams
from charlm.nbest.ranking.features import Floats
from charlm.nbest.references.references import References

ORDER = 4
MATCHES = tuple(f"match{n}" for n in range(1, ORDER + 1))
LENGTH = "hyp_len"
COUNT = re.compile("[0-9]{1,9}")
MOST = 999_999_999


class Bleu(Metric):
    """1 − BLEU, from the lengths of both texts, and matches and n-grams of orders 1 to 4."""

    name = "bleu"

    def __init__(self, tokeniser: str = "") -> None:
        super().__init__()
        # For single sentences sacrebleu wants the effective order; the counts are the same.
        self._bleu = BLEU(effective_order=True, tokenize=tokeniser or None)

    @property
    def signature(self) -> str:
        """The signature as sacrebleu prints it."""
        told = f"tok:{self._bleu.tokenizer_signature}|smooth:exp|version:{sacrebleu.__version__}"
        return f"bleu|nrefs:{self.n_references}|case:mixed|eff:no|{told}"

    def count(self, pairs: Sequence[Pair]) -> Iterable[tuple[int, ...]]:
        """Lengths of hypothesis and reference, four counts of matches, four of n-grams.

        Of several references the length is the closest, and any of them may hold a match.
        """
        for *references, hypothesis in pairs:
            found = self._bleu.sentence_score(hypothesis, references)
            yield (found.sys_len, found.ref_len, *found.counts, *found.totals)

    def counts_between(self, texts: Sequence[str]) -> Iterator[Ints]:
        """Each text is split into words once, by sacrebleu's tokeniser, and its n-grams counted."""
        words = [self._bleu.tokenizer(text.rstrip()).split() for text in texts]
        lengths_H1 = np.array([[len(each)] for each in words], np.int64)
        totals_HO = np.maximum(0, lengths_H1 - np.arange(ORDER))
        shared_HHO = np.stack(
            [shared(word_ngrams(each, n) for each in words) for n in range(1, ORDER + 1)], axis=-1
        )
        for wanted, matches_HO in zip(lengths_H1, shared_HHO, strict=True):
            yield np.hstack([lengths_H1, np.full_like(lengths_H1, wanted), matches_HO, totals_HO])

    def errors(self, sums_NK: Ints) -> Floats:
        """1 − BLEU of each row of sums, with sacrebleu's default smoothing (NIST's)."""
        return _errors(sums_NK, n_orders_N=np.full(len(sums_NK), ORDER))

    def errors_alone(self, counts_LK: Ints) -> Floats:
        """1 − BLEU of each sentence, over the orders of which it has n-grams, as in sacrebleu."""
        return _errors(counts_LK, n_orders_N=np.maximum(1, (counts_LK[:, 6:] > 0).sum(axis=1)))


class CountedBleu(Bleu):
    """1 − BLEU for lists that hold counts of matches; the references are then their lengths.

    The columns are hyp_len and match1 to match4, as in SRILM's test of nbest-optimize-bleu.
    """

    reads = (LENGTH, *MATCHES)

    @property
    def signature(self) -> str:
        """What is known about counts that another tool made."""
        return "bleu|counted|length:closest|eff:no|smooth:exp"

    def statistics(self, lists: Sequence[NbestList], references: References) -> list[Ints]:
        """Counts of every hypothesis, (H, 10) for each list.

        Raises:
            DataError: a list without lengths of references, or a hypothesis without counts.
        """
        return [self._of_list(nbest, references) for nbest in lists]

    def _of_list(self, nbest: NbestList, references: References) -> Ints:
        lengths = references.get(nbest.id, ())
        if not lengths or not all(map(COUNT.fullmatch, lengths)):
            raise DataError(
                f"list {nbest.id!r}: lengths of references are {' '.join(lengths)[:60]!r}; "
                "expected whole numbers of up to 9 digits between blanks; texts want --metric bleu"
            )
        wanted = sorted(map(int, lengths))
        return np.array([self._row(each, wanted) for each in nbest.hypotheses], np.int64)

    def _row(self, hypothesis: Hypothesis, wanted: Sequence[int]) -> list[int]:
        length, *matches = (_whole(hypothesis, name) for name in self.reads)
        closest = min(wanted, key=lambda each: abs(each - length))  # of two as close, the shorter
        totals = [max(0, length - n) for n in range(ORDER)]
        return [length, closest, *matches, *totals]


def _errors(sums_NK: Ints, *, n_orders_N: Ints) -> Floats:
    lengths_N, wanted_N = sums_NK[:, 0], sums_NK[:, 1]
    matches_N4, totals_N4 = sums_NK[:, 2:6], sums_NK[:, 6:]
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity_N = np.exp(np.minimum(0.0, 1 - wanted_N / lengths_N))
        # Each order without a match halves the made-up count of such orders from there on.
        halvings_N4 = np.cumsum(matches_N4 == 0, axis=1)
        made_up_N4 = 0.5**halvings_N4
        precisions_N4 = np.where(matches_N4 > 0, matches_N4, made_up_N4) / totals_N4
        logs_N4 = np.where(totals_N4 > 0, np.log(precisions_N4), 0.0)
        bleu_N = brevity_N * np.exp(logs_N4.sum(axis=1) / n_orders_N)
    has_score_N = ((totals_N4 > 0).sum(axis=1) >= n_orders_N) & matches_N4.any(axis=1)
    errors_N: Floats = np.where(has_score_N, 1 - bleu_N, 1.0)
    return errors_N


def _whole(hypothesis: Hypothesis, name: str) -> int:
    value = hypothesis.features.get(name)
    if value is None or not 0 <= value <= MOST or value != int(value):
        raise DataError(
            f"{hypothesis.place}: {name} is {value}; expected a count of up to 9 digits, "
            f"with columns {LENGTH} and {', '.join(MATCHES)}"
        )
    return int(value)
