"""Lists of the CUED-RNNLM toolkit."""

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.cued import CuedFormat
from charlm.nbest.reading.format import Sample

LN10 = 2.302585092994046
LINE = "0 2750.14 -6.03843 2 <s> HERE YEAH </s>"


def test_both_scores_are_log10_and_marks_are_no_words(read) -> None:
    (found,) = read(CuedFormat(), f"{LINE}\n0 -1 -2 0 <s> </s>\n")
    assert found.id == "0"
    assert [hypothesis.words for hypothesis in found.hypotheses] == [("HERE", "YEAH"), ()]
    assert found.hypotheses[0].features == {
        "am": pytest.approx(2750.14 * LN10),
        "old_lm": pytest.approx(-6.03843 * LN10),
        "nwords": 2.0,
    }


def test_its_weights_rank_as_the_toolkit_does(read) -> None:
    (found,) = read(CuedFormat(), "0 100 -2 1 a\n0 110 -3 1 b\n")
    totals = [
        sum(weight * hypothesis.features[name] for name, weight in CuedFormat.weights.items())
        for hypothesis in found.hypotheses
    ]
    assert totals == pytest.approx([(100 - 12 * 2) * LN10, (110 - 12 * 3) * LN10])


def test_scores_are_a_log10_a_line(read, write) -> None:
    found = read(CuedFormat(), f"{LINE}\n")
    assert write(CuedFormat(), found, scores=[(-3 * LN10,)]) == "-3.000000\n"


def test_what_is_no_such_line_is_said_with_its_place(read) -> None:
    with pytest.raises(DataError, match="a.list:1: found 3 fields; expected an id, an acoustic an"):
        read(CuedFormat(), "0 1 2\n")


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        ((LINE, "1 -2 -3 1 yes"), True),
        ((LINE, "1 -2 -3 2 yes"), False),
        ((), False),
    ],
)
def test_a_list_is_told_by_its_counts(lines, claimed) -> None:
    assert CuedFormat().claims(Sample("-", lines, ())) is claimed
