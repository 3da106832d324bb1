"""Times of pieces become those of words, and never those of other words."""

import pytest

from charlm.errors import DataError
from charlm.nbest.reading.word_times import Span, aligned

A, B, C = Span(0.1, 0.2), Span(0.2, 0.4), Span(0.5, 0.6)


@pytest.mark.parametrize(
    ("words", "timed", "expected"),
    [
        (("we", "know"), [("we", A), ("know", B)], [A, B]),
        (("we", "know."), [("we", A), ("know", B), (".", None)], [A, B]),
        (("cannot", "go"), [("can", A), ("not", B), ("go", C)], [Span(0.1, 0.4), C]),
        (("we",), [("<s>", A), ("", A), ("we", B), ("</s>", C)], [B]),
        ((), [("</s>", A)], []),
    ],
)
def test_a_word_lasts_from_its_first_piece_to_its_last(words, timed, expected) -> None:
    assert aligned(words, timed, place="f:1") == expected


@pytest.mark.parametrize(
    ("words", "timed", "said"),
    [
        (("we", "know"), [("we", A)], "found '' for the word 'know'"),
        (("we",), [("we", A), ("know", B)], "found 'know' after the last word"),
        (("we", "know"), [("we", A), ("knew", B)], "found 'knew' for the word 'know'"),
        (("a", "b"), [("ab", A)], "found 'ab' for the word 'a'"),
        (("we", "."), [("we", A), (".", None)], "found '.' for the word '.'"),
    ],
)
def test_other_words_and_words_without_a_time_are_refused(words, timed, said) -> None:
    with pytest.raises(DataError) as caught:
        aligned(words, timed, place="f:1")
    assert str(caught.value) == (
        f"f:1: times of words: {said}; expected one for each word of the text, in its order"
    )
