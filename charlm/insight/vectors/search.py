"""The words nearest to a direction: fp16 vectors name the candidates, fp32 ones decide.

No word is lost to fp16: every word that could be among the nearest, given the largest error of a
number in fp16, is encoded again and ranked by the model's own vector.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.insight.vectors.cache import ERROR, Tell, unit_vectors, units
from charlm.insight.vectors.neighbourhood import DECIMALS, Neighbour
from charlm.insight.vectors.taps import Ids, Vectors

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
        candidates_C = is_candidate_QV.any(dim=0).nonzero()[:, 0].numpy()
        exact_QC = self._exact(queries_QE, candidates_C)
        for row, n in enumerate(wanted):
            if is_zero_Q[row]:
                allowed = (i for i in range(len(self.words)) if i not in left_out[row])
                yield tuple(Neighbour(self.words[i], 0.0) for i in islice(allowed, n))
                continue
            is_own_C = is_candidate_QV[row].numpy()[candidates_C]
            ids, cosines = candidates_C[is_own_C], exact_QC[row, is_own_C]
            order = np.lexsort((ids, -cosines))[:n]
            pairs = zip(ids[order].tolist(), cosines[order].tolist(), strict=True)
            yield tuple(Neighbour(self.words[i], cosine) for i, cosine in pairs)

    def _scores(self, queries_QE: Tensor) -> Tensor:
        """Cosines of the fp16 vectors, (Q, V), fp32."""
        scores_QV = torch.empty(len(queries_QE), len(self.words))
        for first in range(0, len(self.words), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            scores_QV[:, part] = queries_QE @ self.words_VE[part].float().T
        return scores_QV

    def _exact(self, queries_QE: Tensor, candidates_C: Ids) -> npt.NDArray[np.float64]:
        """Cosines with newly encoded vectors of the candidates, (Q, C), rounded."""
        cosines = [np.empty((len(queries_QE), 0))]
        for first in range(0, len(candidates_C), CANDIDATES_AT_ONCE):
            numbers = candidates_C[first : first + CANDIDATES_AT_ONCE]
            words_CE = units(self.vectors.of_words(numbers, tap=self.tap).double())
            cosines.append((queries_QE @ words_CE.T).numpy())
        return np.concatenate(cosines, axis=1).round(DECIMALS) + 0.0  # never -0
