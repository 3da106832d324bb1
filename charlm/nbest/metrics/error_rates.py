"""Error rates as functions of summed counts.

A metric gives every hypothesis a row of counts; those of the chosen hypotheses are added up, and
the rate of the corpus is a function of the sums. Tuning, oracles and the bootstrap therefore need
no texts. Texts are compared as they stand in the list and the references, not as a model reads
them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from charlm.nbest.hypotheses import NbestList
from charlm.nbest.ranking.features import Floats
from charlm.nbest.references.references import References, by_file

Ints = npt.NDArray[np.int64]
Pair = tuple[str, ...]  # a reference, or several, and a hypothesis


class Metric(ABC):
    """A rate of a corpus that is a function of sums of counts; lower is better."""

    name: str
    # Features of a list that the metric reads: made from the reference, so useless for ranking.
    reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._counts: dict[Pair, tuple[int, ...]] = {}
        self.n_references = 1  # of a list, in the latest statistics

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything that could change the rate, on one line."""

    @abstractmethod
    def errors(self, sums_NK: Ints) -> Floats:
        """The rate of each row of sums, (N,): a share, 0 where nothing is wrong."""

    def error(self, sums_K: Ints) -> float:
        """The rate of a single row of sums."""
        return float(self.errors(sums_K[None])[0])

    @abstractmethod
    def errors_alone(self, counts_LK: Ints) -> Ints | Floats:
        """The error of each hypothesis by itself, (L,), to compare those of one list by."""

    @abstractmethod
    def count(self, pairs: Sequence[Pair]) -> Iterable[tuple[int, ...]]:
        """The counts of each pair."""

    def statistics(self, lists: Sequence[NbestList], references: References) -> list[Ints]:
        """Counts of every hypothesis, (H, K) for each list; a repeated text is compared once."""
        files = by_file(references)
        self.n_references = len(files)
        pairs_L = [_pairs(nbest, files) for nbest in lists]
        new = dict.fromkeys(pair for pairs in pairs_L for pair in pairs)
        missing = [pair for pair in new if pair not in self._counts]
        self._counts.update(zip(missing, self.count(missing), strict=True))
        return [np.array([self._counts[pair] for pair in pairs], np.int64) for pairs in pairs_L]

    def between(self, texts: Sequence[str]) -> Floats:
        """The error of each text (column) if each is the reference (row), (H, H)."""
        return np.array([self.errors_alone(counts_HK) for counts_HK in self.counts_between(texts)])

    def counts_between(self, texts: Sequence[str]) -> Iterator[Ints]:
        """With each text as the reference the counts of all, (H, K)."""
        for reference in texts:
            yield np.array([*self.count([(reference, text) for text in texts])], np.int64)


def _pairs(nbest: NbestList, files: Sequence[References]) -> list[Pair]:
    references = [" ".join(each[nbest.id]) for each in files]
    return [(*references, " ".join(each.words)) for each in nbest.hypotheses]


class ErrorRate(Metric):
    """Edits per token of the reference: substitutions, deletions, insertions, as jiwer has them."""

    @abstractmethod
    def tokens(self, text: str) -> Sequence[str]:
        """What edits are counted in; jiwer's default would also split words at U+00A0."""

    @property
    def signature(self) -> str:
        return f"{self.name}|case:mixed|rapidfuzz:{version('rapidfuzz')}"

    def errors(self, sums_NK: Ints) -> Floats:
        """Edits divided by tokens of the references, or by 1 if there are none, as in jiwer."""
        rates_N: Floats = sums_NK[:, :3].sum(axis=1) / np.maximum(sums_NK[:, 3], 1)
        return rates_N

    def errors_alone(self, counts_LK: Ints) -> Ints:
        """The edits of each hypothesis."""
        edits_L: Ints = counts_LK[:, :3].sum(axis=1)
        return edits_L

    def count(self, pairs: Sequence[Pair]) -> Iterable[tuple[int, ...]]:
        """Substitutions, deletions, insertions, and tokens of the reference.

        By the alignment that jiwer takes, too; through its own objects it takes six times as long.
        """
        for pair in pairs:
            reference, hypothesis = map(self.tokens, pair)
            kinds = [edit.tag for edit in Levenshtein.editops(reference, hypothesis)]
            yield *map(kinds.count, ("replace", "delete", "insert")), len(reference)

    def between(self, texts: Sequence[str]) -> Floats:
        """The edits between each two texts, (H, H)."""
        tokens = [*map(self.tokens, texts)]
        edits_HH: Floats = cdist(tokens, tokens, scorer=Levenshtein.distance, dtype=np.float64)
        return edits_HH


class WordErrorRate(ErrorRate):
    """WER: edits per word of the reference."""

    name = "wer"

    def tokens(self, text: str) -> list[str]:
        return [word for word in text.split(" ") if word]


class CharacterErrorRate(ErrorRate):
    """CER: edits per code point of the reference, marks and the blanks between words among them."""

    name = "cer"

    def tokens(self, text: str) -> str:
        return text
