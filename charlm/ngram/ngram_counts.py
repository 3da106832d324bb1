"""How often each n-gram occurs in a text, by sorting, order by order.

An n-gram is the pair (index of its first n − 1 words among the n-grams of the order below, last
word), packed into one integer. So an order is one sorted array for any n, in which the n-grams of a
context are neighbours.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from charlm.ngram.word_ids import END, START, Ids

Keys = npt.NDArray[np.int64]
CountArray = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]  # indices into the n-grams of one order


@dataclass(frozen=True)
class Counted:
    """The distinct n-grams of one order, sorted by context and word."""

    keys: Keys  # index of the context in the order below · number of words + last word
    counts: CountArray  # how often each stands in the text
    suffixes: Rows  # each without its first word, in the order below; none for unigrams
    opens: npt.NDArray[np.bool_]  # whether it begins with `<s>`


def count_ngrams(ids: Ids, *, order: int, n_words: int) -> list[Counted]:
    """The n-grams of orders 1 to `order` within the sentences of `ids`, `<s>` … `</s>` each.

    Every word has its unigram at its own index, even if it does not occur. Orders longer than the
    longest sentence are empty.
    """
    room = _room(ids)
    rows: Rows = ids  # of the n-gram of the last order that begins at each position
    begins = np.arange(len(ids), dtype=np.int32)
    unigrams = np.arange(n_words, dtype=np.int64)
    orders = [
        Counted(
            keys=unigrams,
            counts=np.bincount(ids, minlength=n_words).astype(np.int64),
            suffixes=np.empty(0, np.int32),
            opens=unigrams == START,
        )
    ]
    for n in range(2, order + 1):
        begins = begins[room[begins] >= n]
        keys = rows[begins].astype(np.int64) * n_words + ids[begins + (n - 1)]
        counted, ranks = _distinct(keys, rows[begins + 1], orders[-1].opens, n_words=n_words)
        orders.append(counted)
        rows = np.empty(len(ids), np.int32)
        rows[begins] = ranks
    return orders


def _room(ids: Ids) -> Rows:
    """The length of the longest n-gram that begins at each position and ends in its sentence."""
    positions = np.arange(len(ids), dtype=np.int32)
    ends = positions[ids == END]
    room: Rows = ends[np.searchsorted(ends, positions)] - positions + 1
    return room


def _distinct(
    keys: Keys, suffixes: Rows, opens_below: npt.NDArray[np.bool_], *, n_words: int
) -> tuple[Counted, Rows]:
    """The distinct n-grams, and the index of each occurrence among them."""
    by_key = np.argsort(keys)
    ordered = keys[by_key]
    is_first = np.empty(len(keys), np.bool_)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    ranks = np.empty(len(keys), np.int32)
    ranks[by_key] = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    distinct = ordered[firsts]
    counted = Counted(
        keys=distinct,
        counts=np.diff(firsts, append=len(keys)),
        suffixes=suffixes[by_key[firsts]],
        opens=opens_below[distinct // n_words],
    )
    return counted, ranks
