"""N-grams of words, and those that texts have in common, of all pairs of many texts at once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array


def word_ngrams(words: Sequence[str], n: int) -> Counter[str]:
    """The n-grams of words of one order, with blanks between the words."""
    return Counter(" ".join(words[at : at + n]) for at in range(len(words) - n + 1))


def shared(ngrams_H: Iterable[Counter[str]]) -> npt.NDArray[np.int64]:
    """How many n-grams each two texts share, (H, H): of each as many as both texts have.

    The k-th occurrence of an n-gram is taken as an item of its own, which a text has or lacks, so
    that the numbers are one product of a matrix of zeros and ones with itself.
    """
    columns = defaultdict[str | tuple[str, int], int](count().__next__)
    items, ends = list[int](), [0]
    for ngrams in ngrams_H:
        items += map(columns.__getitem__, ngrams)
        items += [columns[ngram, k] for ngram, n in ngrams.items() for k in range(1, n)]
        ends.append(len(items))
    shape = len(ends) - 1, len(columns)
    has_HI = csr_array((np.ones(len(items), np.int64), items, ends), shape=shape)
    shared_HH: npt.NDArray[np.int64] = (has_HI @ has_HI.T).toarray()
    return shared_HH
