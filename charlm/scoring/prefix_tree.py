"""Sentences that begin alike, as a tree: what they share is computed once.

Level d holds one node for every distinct beginning of d words; level 0 holds the roots. Sentences
stand in the order of their words, so that those of a node stand side by side, and a node begins
where a sentence has fewer words in common with the one before it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from charlm.text.corpus import Ids

Places = npt.NDArray[np.int64]


class Level(NamedTuple):
    """What follows the nodes of one level."""

    parents: Places  # the node of this level that each node of the next one follows
    form_ids: Ids  # what is read on the way there
    ends: Places  # the nodes of this level at which a sentence ends, rising


class PrefixTree:
    """The tree of some sentences of form ids; `roots[i]` is where sentence i begins, 0 if none."""

    def __init__(self, sentences: Sequence[Ids], *, roots: Sequence[int] | None = None) -> None:
        roots = [0] * len(sentences) if roots is None else roots
        keyed = [np.concatenate([[root], ids]) for root, ids in zip(roots, sentences, strict=True)]
        # Big-endian bytes of numbers that are not negative stand in the order of the numbers.
        keys = [key.astype(">i4").tobytes() for key in keyed]
        self.order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        self.lengths = np.array([len(ids) for ids in sentences], np.int64)[self.order]
        self._ids_SL = np.full((len(keys), 1 + int(self.lengths.max(initial=0))), -1, np.int32)
        for row, i in enumerate(self.order.tolist()):
            self._ids_SL[row, : len(keyed[i])] = keyed[i]
        alike_SL = (self._ids_SL[1:] == self._ids_SL[:-1]) & (self._ids_SL[1:] >= 0)
        shared = np.logical_and.accumulate(alike_SL, axis=1).sum(axis=1)
        self._shared = np.concatenate([[0], shared])  # with the sentence before, its root included

    @property
    def n_tokens(self) -> int:
        """Of all sentences, their ends included."""
        return int(self.lengths.sum()) + len(self.lengths)

    @property
    def n_prefixes(self) -> int:
        """Distinct beginnings, the empty one included: as often the softmax is computed."""
        return int((self.lengths + 1 - self._shared).clip(min=0).sum())

    def nodes(self, depth: int) -> Places:
        """The node of this level that each sentence, in order, goes through, −1 behind its end."""
        is_there = self.lengths >= depth
        begins = is_there & (self._shared <= depth)
        return np.where(is_there, np.cumsum(begins) - 1, -1)

    def levels(self) -> Iterator[Level]:
        """What follows each level, from the roots on."""
        here = self.nodes(0)
        for depth in range(self._ids_SL.shape[1]):
            ends = np.unique(here[self.lengths == depth])
            begins = (self.lengths > depth) & (self._shared <= depth + 1)
            form_ids = self._ids_SL[begins, depth + 1] if begins.any() else np.empty(0, np.int32)
            yield Level(here[begins], form_ids, ends)
            here = self.nodes(depth + 1)
