"""The probability that the next word begins with some letters, for decoders within a word.

P(prefix) = Σ P(v) over the vocabulary's words that begin so, and with a speller s more:
P(<unk>) · (s(prefix) − Σ s(v) over these words) / (1 − Σ s(v) over all words), since the speller
gives the vocabulary's words a share that `<unk>` never stands for. In a sorted vocabulary words
that begin alike stand side by side, so that a sum is the difference of two running ones.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from charlm.text.corpus.tokens import UNK

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

MOST_REMEMBERED = 1 << 20  # prefixes
# Below it a difference of running sums, each about 1, has fewer than seven digits left: then the
# words are summed one by one.
LEAST_DIFFERENCE = 1e-9


class PrefixSums:
    """Sums over the words of one vocabulary, by their beginnings."""

    def __init__(self, words: Sequence[str], *, speller: "OpenVocabulary | None") -> None:
        self.speller = speller
        self._order = np.array(sorted(range(UNK + 1, len(words)), key=words.__getitem__), np.int64)
        self._sorted = [words[number] for number in self._order.tolist()]
        self._ranges: dict[str, tuple[int, int]] = {}
        self._shares: dict[str, float] = {}
        self._spelled = np.zeros(1)  # running sums of s(v)
        if speller is not None:
            own = np.exp(speller.speller.log_probs(self._sorted).numpy())
            self._spelled = np.concatenate([[0.0], np.cumsum(own)])

    def sums(self, log_probs_NV: Floats) -> Floats:
        """The running sums of P(v) over the sorted words, (N, V')."""
        sums = np.zeros((len(log_probs_NV), 1 + len(self._order)))
        np.cumsum(np.exp(log_probs_NV[:, self._order]), axis=1, out=sums[:, 1:])
        return sums

    def log_probs(
        self, log_probs_NV: Floats, sums: Floats, *, rows: Rows, prefixes: Sequence[str]
    ) -> Floats:
        """log P(prefixes[k]) behind row rows[k], (K,); −inf where nothing begins so."""
        ranges = np.array([self._range(each) for each in prefixes], np.int64).reshape(-1, 2)
        firsts, lasts = ranges[:, 0], ranges[:, 1]
        totals = sums[rows, lasts] - sums[rows, firsts]
        for k in np.flatnonzero((totals < LEAST_DIFFERENCE) & (lasts > firsts)).tolist():
            words = self._order[firsts[k] : lasts[k]]
            totals[k] = np.exp(log_probs_NV[rows[k], words]).sum()
        if self.speller is not None:
            totals += np.exp(log_probs_NV[rows, UNK]) * self._others(prefixes, ranges)
        with np.errstate(divide="ignore"):
            log_probs: Floats = np.log(totals)
        return log_probs

    def begins_word(self, prefix: str) -> bool:
        """Whether any word of the vocabulary begins so."""
        first, last = self._range(prefix)
        return first < last

    def log_prob_of_others(self, prefix: str) -> float:
        """log P(prefix | <unk>): of all words outside the vocabulary that begin so."""
        share = float(self._others([prefix], np.array([self._range(prefix)]))[0])
        return math.log(share) if share else -math.inf

    def _range(self, prefix: str) -> tuple[int, int]:
        """Where the words that begin with a prefix stand in the sorted vocabulary."""
        found = self._ranges.get(prefix)
        if found is None:

            def cut(word: str) -> str:
                return word[: len(prefix)]

            first = bisect_left(self._sorted, prefix, key=cut)
            found = first, bisect_right(self._sorted, prefix, key=cut, lo=first)
            if len(self._ranges) > MOST_REMEMBERED:
                self._ranges = {}
            self._ranges[prefix] = found
        return found

    def _others(self, prefixes: Sequence[str], ranges: Rows) -> Floats:
        """P(prefix | <unk>): of all spellings that begin so and are no words."""
        assert self.speller is not None
        if len(self._shares) > MOST_REMEMBERED:
            self._shares = {}
        shares = self._shares  # another thread may put a new one in its place
        new = [each for each in dict.fromkeys(prefixes) if each not in shares]
        log_probs = self.speller.speller.log_probs(new, are_whole=False).tolist()
        shares.update(zip(new, map(math.exp, log_probs), strict=True))
        all_that_begin_so = np.array([shares[each] for each in prefixes])
        words = self._spelled[ranges[:, 1]] - self._spelled[ranges[:, 0]]
        # fp32 in the speller: where all that begins so are words, the difference may be below 0.
        left: Floats = np.maximum(all_that_begin_so - words, 0) / (1 - self.speller.known_mass)
        return left
