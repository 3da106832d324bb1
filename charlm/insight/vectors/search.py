"""The words nearest to a direction: fp16 vectors name the candidates, fp32 ones decide.

No word is lost to fp16: whoever could still be among the nearest, given the largest error that a
number in fp16 may have, is encoded again and ranked by what the model itself says.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.insight.vectors.cache import ERROR, Tell, unit_vectors, units
from charlm.insight.vectors.neighbourhood import DECIMALS, Neighbour
from charlm.insight.vectors.taps import Vectors

SCORES_AT_ONCE = 1 << 24  # of a block of queries, all words: 64 MB
ROWS_AT_ONCE = 512  # of the words' vectors: in fp32 they stay within the cache
CANDIDATES_AT_ONCE = 2048


class Search:
    """The words of a run at one tap, ready to be searched."""

    def __init__(self, vectors: Vectors, tap: str, *, tell: Tell | None = None) -> None:
        self.vectors = vectors
        self.tap = tap
        self.words = vectors.run.inventory.words
        self.words_VE = unit_vectors(vectors, tap, tell=tell)

    def nearest(
        self, queries_QE: Tensor, *, k: int, left_out: Sequence[Collection[int]]
    ) -> Iterator[tuple[Neighbour, ...]]:
        """The `k` words of the highest cosine with each query, of equal ones the lower id first.

        `left_out` are ids of words that are no answer to a query. Zero vectors are like nothing: 0.
        """
        n_queries = max(1, SCORES_AT_ONCE // len(self.words))
        for first in range(0, len(queries_QE), n_queries):
            part = slice(first, first + n_queries)
            queries_PE = units(queries_QE[part].double())
            yield from self._of_block(queries_PE, k=k, left_out=left_out[part])

    def _of_block(
        self, queries_QE: Tensor, *, k: int, left_out: Sequence[Collection[int]]
    ) -> Iterator[tuple[Neighbour, ...]]:
        scores_QV = self._scores(queries_QE.float())
        wanted = []
        for row, ids in enumerate(left_out):
            scores_QV[row, list(ids)] = -torch.inf
            wanted.append(min(k, len(self.words) - len(set(ids))))
        highest_QK = scores_QV.topk(max(1, *wanted), dim=1).values
        lasts_Q1 = torch.tensor([[max(0, n - 1)] for n in wanted])  # 0 are wanted of three words
        lowest_Q1 = highest_QK.gather(1, lasts_Q1)
        is_candidate_QV = scores_QV >= lowest_Q1 - 2 * ERROR
        is_zero_Q = ~queries_QE.any(dim=1)
        is_candidate_QV[is_zero_Q] = False  # all words are equally far: no need to encode them
        found = self._exact(queries_QE, is_candidate_QV)
        for row, n in enumerate(wanted):
            if is_zero_Q[row]:
                allowed = (i for i in range(len(self.words)) if i not in left_out[row])
                yield tuple(Neighbour(self.words[i], 0.0) for i in islice(allowed, n))
                continue
            ids, cosines = found[row]
            order = np.lexsort((ids, -cosines))[:n]
            pairs = zip(ids[order].tolist(), cosines[order].tolist(), strict=True)
            yield tuple(Neighbour(self.words[i], cosine) for i, cosine in pairs)

    def _scores(self, queries_QE: Tensor) -> Tensor:
        """Cosines as fp16 has them, (Q, V), fp32."""
        scores_QV = torch.empty(len(queries_QE), len(self.words))
        for first in range(0, len(self.words), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            scores_QV[:, part] = queries_QE @ self.words_VE[part].float().T
        return scores_QV

    def _exact(
        self, queries_QE: Tensor, is_candidate_QV: Tensor
    ) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
        """The candidates of each query, and their cosines of newly encoded vectors, rounded."""
        candidates = is_candidate_QV.any(dim=0).nonzero()[:, 0].numpy()
        ids: list[list[npt.NDArray[np.int64]]] = [[] for _ in queries_QE]
        cosines: list[list[npt.NDArray[np.float64]]] = [[] for _ in queries_QE]
        for first in range(0, len(candidates), CANDIDATES_AT_ONCE):
            numbers = candidates[first : first + CANDIDATES_AT_ONCE]
            words_CE = units(self.vectors.of_words(numbers, tap=self.tap).double())
            exact_QC = np.round((queries_QE @ words_CE.T).numpy(), DECIMALS) + 0.0  # never -0
            for row, is_own in enumerate(is_candidate_QV[:, torch.from_numpy(numbers)].numpy()):
                ids[row].append(numbers[is_own])
                cosines[row].append(exact_QC[row, is_own])
        nothing: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
        nothing = np.empty(0, np.int64), np.empty(0)
        return [
            (np.concatenate([nothing[0], *i]), np.concatenate([nothing[1], *c]))
            for i, c in zip(ids, cosines, strict=True)
        ]
