"""Counting by sorting, against counting with a dictionary."""

from collections import Counter

import numpy as np
import pytest

from charlm.ngram.ngram_counts import Counted, count_ngrams, distinct
from charlm.ngram.word_ids import START, Ids, WordIds, encode

LINES = ["a b a b", "", "b", "a b a", "c a b a b a b", "", "b"]


def encoded(lines: list[str]) -> tuple[Ids, WordIds]:
    word_ids = WordIds()
    return encode([line.split() for line in lines], word_ids), word_ids


def ngrams_of(orders: list[Counted], n: int, *, n_words: int) -> list[tuple[int, ...]]:
    """The n-grams of order `n` in their order, from their keys."""
    if n == 1:
        return [(int(key),) for key in orders[0].keys]
    below = ngrams_of(orders, n - 1, n_words=n_words)
    pairs = (divmod(int(key), n_words) for key in orders[n - 1].keys)
    return [(*below[context], word) for context, word in pairs]


def slow_counts(ids: Ids, n: int) -> Counter[tuple[int, ...]]:
    """The n-grams that begin nowhere but at a sentence's start with `<s>`."""
    ngrams = [tuple(ids[i : i + n].tolist()) for i in range(len(ids) - n + 1)]
    return Counter(ngram for ngram in ngrams if START not in ngram[1:])


@pytest.mark.parametrize("keys", [[], [0], [7, 0, 7, 3, 0, 2**62, 3]])
def test_distinct_keys_are_those_of_a_set_in_order(keys: list[int]) -> None:
    assert distinct(np.array(keys, np.int64)).tolist() == sorted(set(keys))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_counts_are_those_of_a_dictionary_and_the_start_of_a_sentence_is_told(n: int) -> None:
    ids, word_ids = encoded(LINES)
    orders = count_ngrams(ids, order=6, n_words=len(word_ids.words))
    ngrams = ngrams_of(orders, n, n_words=len(word_ids.words))
    expected = slow_counts(ids, n)
    found = dict(zip(ngrams, orders[n - 1].counts.tolist(), strict=True))
    assert {ngram: count for ngram, count in found.items() if count} == expected
    assert ngrams == sorted(ngrams)
    assert orders[n - 1].opens.tolist() == [ngram[0] == START for ngram in ngrams]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_a_suffix_is_the_ngram_without_its_first_word(n: int) -> None:
    ids, word_ids = encoded(LINES)
    orders = count_ngrams(ids, order=6, n_words=len(word_ids.words))
    below = ngrams_of(orders, n - 1, n_words=len(word_ids.words))
    ngrams = ngrams_of(orders, n, n_words=len(word_ids.words))
    assert [below[row] for row in orders[n - 1].suffixes] == [ngram[1:] for ngram in ngrams]


def test_words_that_do_not_occur_have_their_unigram() -> None:
    ids, _ = encoded(["a"])
    (unigrams,) = count_ngrams(ids, order=1, n_words=6)
    assert unigrams.keys.tolist() == [0, 1, 2, 3, 4, 5]
    assert unigrams.counts.tolist() == [0, 1, 1, 1, 0, 0]


def test_no_text_has_unigrams_alone() -> None:
    orders = count_ngrams(np.empty(0, np.int32), order=3, n_words=3)
    assert [each.counts.tolist() for each in orders] == [[0, 0, 0], [], []]
