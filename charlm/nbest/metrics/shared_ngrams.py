"""N-grams that texts have in common, of all pairs of many texts at once."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array


def shared(ngrams_H: Iterable[Counter[str]]) -> npt.NDArray[np.int64]:
    """How many n-grams each two texts share, (H, H): of each as many as both texts have.

    The k-th occurrence of an n-gram is taken as an item of its own, which a text has or lacks, so
    that the numbers are one product of a matrix of zeros and ones with itself.
    """
    columns: dict[tuple[str, int], int] = {}
    items, ends = list[int](), [0]
    for ngrams in ngrams_H:
        for ngram, n in ngrams.items():
            items += [columns.setdefault((ngram, k), len(columns)) for k in range(n)]
        ends.append(len(items))
    shape = len(ends) - 1, len(columns)
    has_HI = csr_array((np.ones(len(items), np.int64), items, ends), shape=shape)
    shared_HH: npt.NDArray[np.int64] = (has_HI @ has_HI.T).toarray()
    return shared_HH
