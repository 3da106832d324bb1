"""What every format does about NaN, sentence marks, ids and options without effect."""

import math
from collections.abc import Mapping, Sequence

import pytest

from charlm.errors import CharlmError, DataError
from charlm.nbest.formats import FORMATS, format_of
from charlm.nbest.hypotheses import Hypothesis, StrippedWords
from charlm.nbest.reading.format import OnNan, Source
from charlm.nbest.reading.policies import (
    NOT_FOR_ALL,
    is_number,
    number,
    plain_words,
    with_finite_features,
)

OPTIONS = {"columns": ("id", "text"), "features": {"x": "x"}, "length_penalty": 1.0}
TAKEN_BY = {
    "columns": ("tsv", "csv"),
    "features": (
        *("kaldi", "fairseq", "nbestlist1", "nbestlist2", "srilm", "cued", "rnnlm"),
        *("kaldi-text", "trn", "text"),
    ),
    "length_penalty": ("huggingface", "ctranslate2", "fairseq"),
}


@pytest.mark.parametrize("text", ["1", "-1.", "+.5", "1e-3", "nan", "-INF", "Infinity"])
def test_numbers_are_ascii_digits_nan_and_infinity(text: str) -> None:
    assert is_number(text)
    assert number(text, "here") == float(text) or math.isnan(float(text))


@pytest.mark.parametrize("text", ["", ".", "1_0", " 1", "١", "0x1", "1e", "--1", "1,5", "infinit"])
def test_what_python_takes_beyond_that_is_none(text: str) -> None:
    assert not is_number(text)
    with pytest.raises(DataError, match="^here: found .*; expected a number$"):
        number(text, "here")


def test_marks_go_at_the_ends_and_other_blanks_stay_in_words() -> None:
    assert plain_words("<s> a\xa0b \t c\u2028d </s>", "here") == ("a\xa0b", "c\u2028d")


@pytest.mark.parametrize("text", ["<s> a", "a </s>", "<s> a </s>", "</s>"])
def test_words_tell_whether_they_lost_marks(text: str) -> None:
    assert isinstance(plain_words(text, "here"), StrippedWords)
    assert not isinstance(plain_words("a", "here"), StrippedWords)


@pytest.mark.parametrize("text", ["a\nb", "a\0b"])
def test_what_a_line_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="^here: found a line end or NUL in a sentence; expected"):
        plain_words(text, "here")


def finite(
    features: Sequence[dict[str, float]], *, on_nan: OnNan, ragged: bool = False
) -> list[Mapping[str, float]]:
    hypotheses = [Hypothesis((), each, str(place)) for place, each in enumerate(features, 1)]
    source = Source("-", on_nan=on_nan)
    found = with_finite_features("u", hypotheses, source=source, ragged=ragged)
    return [each.features for each in found]


def test_what_some_lack_is_like_nan_unless_lists_may_be_ragged() -> None:
    features = [{"am": -1.0}, {"am": -2.0, "lm": -3.0}]
    assert finite(features, on_nan="error", ragged=True) == features
    filled = finite(features, on_nan="worst")
    assert filled == [{"am": -1.0, "lm": -3.0}, {"am": -2.0, "lm": -3.0}]
    with pytest.raises(DataError, match="^1: utterance 'u': the feature 'lm' is missing; expected"):
        finite(features, on_nan="error")


def test_what_is_too_large_to_be_squared_is_no_feature() -> None:
    with pytest.raises(DataError, match=r"is 1e\+31; .* up to 1e30; no hypothesis of it has one$"):
        finite([{"am": 1e31}], on_nan="error")


def test_the_worst_is_the_smallest_finite_number_of_the_list() -> None:
    values = [math.inf, -2.0, math.nan, -7.0, -math.inf, -1e31, 1e308]  # squares would overflow
    filled = finite([{"am": value} for value in values], on_nan="worst")
    assert [each["am"] for each in filled] == [-7.0, -2.0, *[-7.0] * 5]


@pytest.mark.parametrize("option", NOT_FOR_ALL)
@pytest.mark.parametrize("name", FORMATS)
def test_an_option_that_a_format_has_no_use_for_is_refused(name: str, option: str) -> None:
    expected = f"^format {name!r}: found {NOT_FOR_ALL[option]}; expected none; leave it out$"
    if name in TAKEN_BY[option]:
        expected = "no such file"
    with pytest.raises(CharlmError, match=expected):
        next(format_of(name).read(Source("nowhere", **{option: OPTIONS[option]})))  # type: ignore[arg-type]
