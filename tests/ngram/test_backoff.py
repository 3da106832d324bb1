"""Queries against a slow recursive back-off over dictionaries."""

import math
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.ngram.backoff import BackoffModel, Grams, TokenScores, require_probabilities
from charlm.ngram.estimation import estimate
from charlm.ngram.ngram_counts import rows_of
from charlm.ngram.word_ids import MARKS, WordIds, encode

Ngram = tuple[str, ...]
Entries = tuple[dict[Ngram, float], dict[Ngram, float]]
EntriesOf = Callable[[BackoffModel], Entries]

WORDS = (*MARKS, "a", "b", "c")
# `b c` is missing below `a b c`, as in files pruned by SRILM; `c` has a back-off of −inf.
PROBS = {
    1: {"<unk>": -2.0, "<s>": 0.0, "</s>": -0.8, "a": -0.5, "b": -0.6, "c": -0.7},
    2: {"<s> a": -0.11, "a b": -0.12, "a </s>": -0.13, "b a": -0.14, "<unk> a": -0.15},
    3: {"<s> a b": -0.21, "a b c": -0.22, "b a b": -math.inf},
}
BACKOFFS = {
    1: {"<s>": -0.31, "a": -0.32, "b": -0.33, "c": -math.inf, "<unk>": -0.34},
    2: {"<s> a": -0.41, "a b": -0.42, "b a": 0.1},
}
LINES = ["a b c", "b a b a", "", "c", "x a b", "b b", "a c a", "<unk> a </unk>", "x y", "a b a b c"]
SENTENCES = [line.split() for line in LINES]


def model_of(order: int) -> BackoffModel:
    """The tables above as far as `order`."""
    rows: dict[Ngram, int] = {}
    orders: list[Grams] = []
    for n in range(1, order + 1):
        probs = {tuple(text.split()): p for text, p in PROBS[n].items()}
        backoffs = {tuple(text.split()): b for text, b in BACKOFFS.get(n, {}).items()}
        keys = {g: rows.get(g[:-1], 0) * len(WORDS) + WORDS.index(g[-1]) for g in probs}
        ngrams = sorted(keys, key=keys.__getitem__)
        log10_backoffs = [backoffs.get(ngram, 0.0) for ngram in ngrams] if n < order else []
        orders.append(
            Grams(
                np.array([keys[ngram] for ngram in ngrams]),
                np.array([probs[ngram] for ngram in ngrams]),
                np.array(log10_backoffs),
            )
        )
        rows = {ngram: row for row, ngram in enumerate(ngrams)}
    return BackoffModel(WORDS, tuple(orders))


def slow_log10(ngram: Ngram, entries: Entries) -> tuple[float, int]:
    """The log10 probability of the last word, and the length of the n-gram that it stands in."""
    probs, backoffs = entries
    if ngram in probs:
        return probs[ngram], len(ngram)
    log10, length = slow_log10(ngram[1:], entries)
    return backoffs.get(ngram[:-1], 0.0) + log10, length


def slow_scores(model: BackoffModel, sentences: list[list[str]], entries: Entries) -> list[object]:
    results: list[object] = []
    for words in sentences:
        known = [word if word in model.words else "<unk>" for word in words]
        padded = ["<s>", *known, "</s>"]
        for end in range(2, len(padded) + 1):
            ngram = tuple(padded[max(end - model.order, 0) : end])
            results.append((padded[end - 1], *slow_log10(ngram, entries)))
    return results


def as_rows(model: BackoffModel, scores: TokenScores) -> list[object]:
    columns = (scores.word_ids, scores.log10_probs, scores.lengths)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(model.words[word], log10, length) for word, log10, length in rows]


def assert_equal_scores(found: list[object], expected: list[object]) -> None:
    words, log10s, lengths = zip(*found, strict=True)  # type: ignore[call-overload]
    expected_words, expected_log10s, expected_lengths = zip(*expected, strict=True)  # type: ignore[call-overload]
    assert (words, lengths) == (expected_words, expected_lengths)
    np.testing.assert_allclose(log10s, expected_log10s, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_scores_are_those_of_slow_recursive_back_off(order: int, entries_of: EntriesOf) -> None:
    model = model_of(order)
    found = as_rows(model, model.score(SENTENCES))
    assert_equal_scores(found, slow_scores(model, SENTENCES, entries_of(model)))


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
def test_an_estimated_model_answers_as_slow_recursive_back_off(
    order: int, entries_of: EntriesOf
) -> None:
    word_ids = WordIds()
    ids = encode(SENTENCES, word_ids)
    model = estimate(ids, words=word_ids.words, order=order).model
    sentences = [*SENTENCES, ["b", "a", "b", "a", "b", "a", "b"], ["c", "a", "b", "z"]]
    found = as_rows(model, model.score(sentences))
    assert_equal_scores(found, slow_scores(model, sentences, entries_of(model)))


def test_by_hand_a_missing_suffix_costs_nothing_where_the_ngram_itself_is_listed() -> None:
    model = model_of(3)
    # <s> a, then <s> a b, then a b c, then </s>: b c is not listed, and c gives −inf
    assert as_rows(model, model.score([["a", "b", "c"]])) == [
        ("a", -0.11, 2),
        ("b", -0.21, 3),
        ("c", -0.22, 3),
        ("</s>", -math.inf, 1),
    ]


def test_by_hand_back_offs_of_all_contexts_on_the_way_down_add_up() -> None:
    model = model_of(3)
    _, log10s, lengths = zip(*as_rows(model, model.score([["a", "a"]])), strict=True)  # type: ignore[call-overload]
    # a after <s> a: −0.41 − 0.32 − 0.5; </s> after a a, which is not listed: a </s>
    assert log10s == pytest.approx([-0.11, -1.23, -0.13])
    assert lengths == (2, 1, 2)


def test_no_ngram_reaches_from_one_sentence_into_the_next() -> None:
    unigrams = Grams(np.arange(4), np.array([-2.0, 0.0, -0.8, -0.5]), np.zeros(4))
    # `</s> <s>` and `</s> <s> a`, as a file may list them; the second would give a −0.01.
    pairs = Grams(np.array([2 * 4 + 1]), np.array([-0.1]), np.zeros(1))
    triples = Grams(np.array([0 * 4 + 3]), np.array([-0.01]), np.empty(0))
    model = BackoffModel((*MARKS, "a"), (unigrams, pairs, triples))
    scores = model.score([["a"], ["a"]])
    assert scores.log10_probs.tolist() == [-0.5, -0.8, -0.5, -0.8]
    assert scores.lengths.tolist() == [1, 1, 1, 1]


def test_a_probability_of_more_than_1_is_the_models_fault() -> None:
    unigrams = Grams(np.arange(4), np.array([-2.0, 0, -0.8, -0.5]), np.array([0, 300, 2e-7, 0.5]))
    pairs = Grams(np.array([3 * 4 + 3]), np.array([-0.5]), np.empty(0))
    model = BackoffModel((*MARKS, "a"), (unigrams, pairs), source="odd.arpa")
    with pytest.raises(DataError) as caught:
        model.score([["a"]])
    assert str(caught.value) == (
        "odd.arpa: gives a token the log10 probability 299.5; expected 0 or less; its back-offs "
        "are broken"
    )


@pytest.mark.parametrize(("log10_prob", "is_taken"), [(9e-7, True), (1.1e-6, False)])
def test_what_rounding_adds_is_no_fault(log10_prob: float, is_taken: bool) -> None:
    with nullcontext() if is_taken else pytest.raises(DataError, match="log10 probability 1.1e-06"):
        require_probabilities(np.array([-1.0, log10_prob]), source="m", rounding=1e-6)


def test_sentences_know_nothing_of_each_other() -> None:
    model = model_of(3)
    alone = [row for words in SENTENCES for row in as_rows(model, model.score([words]))]
    assert as_rows(model, model.score(SENTENCES)) == alone


def test_no_sentence_has_no_scores() -> None:
    scores = model_of(3).score([])
    assert [len(each) for each in (scores.word_ids, scores.log10_probs, scores.lengths)] == [0] * 3


def test_ngrams_are_told_by_their_words() -> None:
    model = model_of(3)
    rows = zip(*model.ngram_words(3, slice(1, 3)), strict=True)
    assert [" ".join(model.words[word] for word in row) for row in rows] == ["a b c", "b a b"]


def test_the_sizes_of_a_model_are_those_of_its_orders() -> None:
    assert (model_of(3).order, model_of(3).n_ngrams) == (3, 14)


def test_a_key_is_found_at_its_index_or_not_at_all() -> None:
    grams = Grams(np.array([2, 5, 9]), np.zeros(3), np.zeros(3))
    assert grams.find(np.array([9, 0, 5, 10, 2, 6])).tolist() == [2, -1, 1, -1, 0, -1]
    assert Grams(np.empty(0, int), np.empty(0), np.empty(0)).find(np.array([1])).tolist() == [-1]


def test_ngrams_are_looked_up_word_by_word() -> None:
    model = model_of(3)
    ids = [[WORDS.index(word) for word in each.split()] for each in ("a b", "b c", "<s> a")]
    rows = rows_of(model.orders[:2], ids=np.array(ids, np.int32), n_words=len(WORDS))
    listed = [[*each] for each in zip(*model.ngram_words(2, slice(None)), strict=True)]
    assert [listed[row] if row >= 0 else None for row in rows] == [[3, 4], None, [1, 3]]
