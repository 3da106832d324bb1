"""The probability that the next word begins with given letters, which decoders need within a word.

P(prefix) = Σ P(v) over the vocabulary's words that begin with the prefix. A speller s adds
P(<unk>) · (s(prefix) − Σ s(v) over these words) / (1 − Σ s(v) over all words), because it also
spells the vocabulary's words, for which `<unk>` never stands. In a sorted vocabulary, words with
the same beginning are adjacent, so that each sum is the difference of two running sums.
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
# A smaller difference of two running sums, each about 1, has fewer than seven digits left. In that
# case the words are summed one by one.
LEAST_DIFFERENCE = 1e-9


class PrefixSums:
    """Sums over the words of one vocabulary, by their first letters."""

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
        """log P(prefixes[k]) after row rows[k], (K,); −inf where no word begins with the prefix."""
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
        """Whether any word of the vocabulary begins with the prefix."""
        first, last = self._range(prefix)
        return first < last

    def log_prob_of_others(self, prefix: str) -> float:
        """log P(prefix | <unk>): of all words outside the vocabulary that begin with the prefix."""
        share = float(self._others([prefix], np.array([self._range(prefix)]))[0])
        return math.log(share) if share else -math.inf

    def _range(self, prefix: str) -> tuple[int, int]:
        """The range of the sorted vocabulary whose words begin with the prefix."""
        found = self._ranges.get(prefix)
        if found is None:
            first = bisect_left(self._sorted, prefix)
            last = bisect_right(self._sorted, prefix, lo=first, key=lambda w: w[: len(prefix)])
            found = first, last
            if len(self._ranges) > MOST_REMEMBERED:
                self._ranges = {}
            self._ranges[prefix] = found
        return found

    def _others(self, prefixes: Sequence[str], ranges: Rows) -> Floats:
        """P(prefix | <unk>): of all spellings that begin with the prefix and are not words."""
        assert self.speller is not None
        if len(self._shares) > MOST_REMEMBERED:
            self._shares = {}
        shares = self._shares  # another thread may replace the attribute
        new = [each for each in dict.fromkeys(prefixes) if each not in shares]
        log_probs = self.speller.speller.log_probs(new, are_whole=False).tolist()
        shares.update(zip(new, map(math.exp, log_probs), strict=True))
        all_that_begin_so = np.array([shares[each] for each in prefixes])
        words = self._spelled[ranges[:, 1]] - self._spelled[ranges[:, 0]]
        # The speller computes in fp32: where nearly all spellings with a prefix are words, the
        # difference can come out below 0.
        left: Floats = np.maximum(all_that_begin_so - words, 0) / (1 - self.speller.known_mass)
        return left
