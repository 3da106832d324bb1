"""Kaldi's word scores: natural logarithms, `</s>` last; costs are their negated sums."""

import math

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.nbest.scorer import WordLogProbs
from charlm.nbest.word_scores import cost_lines, word_score_lines


def scores(*log_probs: float) -> WordLogProbs:
    return WordLogProbs(np.array(log_probs), np.ones(len(log_probs) - 1, np.bool_))


def test_a_line_holds_the_id_the_words_and_the_end_last() -> None:
    scored = [("utt-1", scores(-1.5, -0.25, -2)), ("utt-2", scores(-0.0))]
    assert list(word_score_lines(scored)) == ["utt-1 -1.5 -0.25 -2", "utt-2 0"]


def test_a_cost_is_the_negated_sum_with_the_end() -> None:
    scored = [("utt-1", scores(-1.5, -0.25, -2)), ("utt-2", scores(-0.0))]
    assert list(cost_lines(scored)) == ["utt-1 3.75", "utt-2 0"]


def test_digits_tell_fp32_numbers_apart() -> None:
    one = np.float32(-7.1234567)
    two = np.nextafter(one, np.float32(0))
    first, second = word_score_lines([("a", scores(one)), ("b", scores(two))])
    assert [np.float32(line.split()[1]) for line in (first, second)] == [one, two]


@pytest.mark.parametrize("key", ["", "a b", "a\tb", "a\u3000b"])
def test_an_id_that_would_become_words_is_refused(key: str) -> None:
    for lines in (word_score_lines, cost_lines):
        with pytest.raises(DataError, match="cannot stand in Kaldi's tables"):
            list(lines([(key, scores(-1.0))]))


@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_what_is_no_number_is_not_written(value: float) -> None:
    for lines in (word_score_lines, cost_lines):
        with pytest.raises(DataError, match="a word has the log-probability"):
            list(lines([("a", scores(value, -1.0))]))
