"""Sentences with common prefixes, as a tree: what they share is computed once.

Level d has one node for every distinct prefix of d words. All prefixes follow `</s>`, which is the
only node of level 0. Sentences are sorted by their words, so that the sentences of a node are
adjacent, and a node begins where a sentence no longer shares the prefix of the one before it. Nodes
are numbered level by level, and within a level in the order of the sentences.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ABSENT = -1


class PrefixTree:
    """The tree of some sentences, given as form ids."""

    form_ids_N: Ids  # the form read on entering each node
    parents_N: Places  # the parent of each node, 0 for node 0; ascending
    ends: Places  # the nodes at which a sentence ends, ascending
    starts: Places  # each level's first node, and then the number of nodes

    def __init__(self, sentences: Sequence[Ids]) -> None:
        lengths = np.array([len(ids) for ids in sentences], np.int64)
        ids_SL = _padded(sentences, lengths)
        # Big-endian bytes of non-negative numbers sort in the order of the numbers.
        keys = [row.tobytes() for row in (ids_SL + 1).astype(">i4")]
        self._order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        self._lengths, ids_SL = lengths[self._order], ids_SL[self._order]
        begins_SL = _begins(ids_SL)
        self.starts = np.concatenate([[0], np.cumsum(begins_SL.sum(axis=0))])
        self._nodes_SL = np.cumsum(begins_SL, axis=0, dtype=np.int32) - 1
        self._nodes_SL += self.starts[:-1].astype(np.int32)
        depths, rows = np.nonzero(begins_SL.T)
        self.form_ids_N = ids_SL[rows, depths]
        parents_N = np.where(depths > 0, self._nodes_SL[rows, depths - 1], 0)
        self.parents_N = parents_N.astype(np.int64)
        ends_S = self._nodes_SL[np.arange(len(lengths)), self._lengths]
        self.ends = np.unique(ends_S).astype(np.int64)

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences, their ends included."""
        return int(self._lengths.sum()) + len(self._lengths)

    @property
    def n_prefixes(self) -> int:
        """Distinct prefixes, with the empty one: the softmax is computed so many times."""
        return len(self.form_ids_N)

    def bands(self, least: int) -> Iterator[range]:
        """Consecutive levels that have at least `least` nodes together, or are the last ones."""
        n_levels = len(self.starts) - 1
        first = 0
        while first < n_levels and self.starts[first] < self.n_prefixes:
            last = int(np.searchsorted(self.starts, self.starts[first] + least))
            last = min(max(last, first + 1), n_levels)
            yield range(first, last)
            first = last

    def nodes(self, levels: range) -> slice:
        """The nodes of some levels; an empty slice for levels beyond the last one."""
        first, last = np.minimum([levels.start, levels.stop], len(self.starts) - 1)
        return slice(int(self.starts[first]), int(self.starts[last]))

    def rows_before(self, level: int) -> Places:
        """For each node of this level, the place of its parent within the level before."""
        nodes = self.nodes(range(level, level + 1))
        rows: Places = self.parents_N[nodes] - self.starts[max(level - 1, 0)]
        return rows

    def along(self, words_N: Floats, ends_N: Floats) -> list[Floats]:
        """For each sentence, in the order given, the values of its words and of its end.

        `words_N[n]` belongs to the word that leads to node n, `ends_N[n]` to an end at node n.
        """
        log_probs_SL = np.empty(self._nodes_SL.shape)
        log_probs_SL[:, :-1] = words_N[self._nodes_SL[:, 1:]]
        rows = np.arange(len(self._lengths))
        log_probs_SL[rows, self._lengths] = ends_N[self._nodes_SL[rows, self._lengths]]
        results: list[Floats] = [np.empty(0)] * len(rows)
        for i, length, own_L in zip(
            self._order.tolist(), self._lengths.tolist(), log_probs_SL, strict=True
        ):
            results[i] = own_L[: length + 1].copy()
        return results


def _padded(sentences: Sequence[Ids], lengths: Places) -> npt.NDArray[np.int32]:
    """Sentences after `</s>`, one per row."""
    longest = int(lengths.max(initial=0))
    ids_SL = np.full((len(lengths), 1 + longest), ABSENT, np.int32)
    ids_SL[:, 0] = END
    is_word_SL = np.arange(longest) < lengths[:, None]
    ids_SL[:, 1:][is_word_SL] = np.concatenate([np.empty(0, np.int32), *sentences])
    return ids_SL


def _begins(ids_SL: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Where a sentence is the first to pass through its node."""
    begins_SL: npt.NDArray[np.bool_] = ids_SL != ABSENT
    begins_SL[1:] &= ~np.logical_and.accumulate(ids_SL[1:] == ids_SL[:-1], axis=1)
    return begins_SL
