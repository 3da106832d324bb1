"""Lists of the RNNLM toolkit, and plain sentences, which are read in the same way."""

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.rnnlm import RnnlmFormat
from charlm.nbest.formats.text import TextFormat
from charlm.nbest.reading.format import Sample

LN10 = 2.302585092994046
TEXT = "1 WE KNOW\n1\tWE DO  KNOW\n1\n2 <s> YES </s>\n"


def test_an_id_that_changes_begins_a_list(read) -> None:
    found = read(RnnlmFormat(), TEXT)
    assert [each.id for each in found] == ["1", "2"]
    assert [hypothesis.words for hypothesis in found[0].hypotheses] == [
        ("WE", "KNOW"),
        ("WE", "DO", "KNOW"),
        (),
    ]
    assert found[1].hypotheses[0].words == ("YES",)


def test_scores_are_a_log10_a_line_as_the_toolkit_prints_them(read, write) -> None:
    found = read(RnnlmFormat(), TEXT)
    scores = [(-14.2331 * LN10, -16.119 * LN10, -1.0 * LN10), (-2.5 * LN10,)]
    assert write(RnnlmFormat(), found, scores=scores) == (
        "-14.233100\n-16.119000\n-1.000000\n-2.500000\n"
    )


def test_the_toolkits_own_scores_are_a_feature(read, tmp_path) -> None:
    (tmp_path / "scores").write_bytes(b"-1\r\n -2 \r\n-3\r\n-4")
    found = read(RnnlmFormat(), TEXT, features={"rnn": tmp_path / "scores"})
    assert [h.features["rnn"] / LN10 for each in found for h in each.hypotheses] == [-1, -2, -3, -4]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("-1\n-2\n-3\n", "scores: found no number for the hypothesis at a.list:4; expected one a "),
        ("-1\n-2\n-3\n-4\n-5\n", "scores:5: found a number more than a.list has hypotheses; exp"),
        ("-1\nOOV\n-3\n-4\n", "scores:2: found 'OOV'; expected a number"),
        ("-1\nnan\n-3\n-4\n", "a.list:2: utterance '1': the feature 'rnn' is nan; expected a fin"),
    ],
)
def test_scores_that_do_not_fit_the_list_are_refused(scores, message, read, tmp_path) -> None:
    (tmp_path / "scores").write_text(scores)
    with pytest.raises(DataError) as caught:
        read(RnnlmFormat(), TEXT, features={"rnn": tmp_path / "scores"})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 a\n\n2 b\n", "a.list:2: found an empty line; expected an id and words"),
        ("1 a </s> b\n", "a.list:1: found </s> within a line"),
    ],
)
def test_what_is_no_such_line_is_said_with_its_place(text, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(RnnlmFormat(), text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        (("1 WE KNOW", "1 WE DO KNOW", "2 YES"), True),
        (("1 WE KNOW", "2 YES"), False),
        (("2 WE KNOW", "2 YES", "1 NO"), False),
        (("a WE KNOW", "a YES"), False),
        (("1 a", "1", ""), False),
        (("1 ||| a", "1 ||| b"), False),
        ((), False),
    ],
)
def test_a_list_is_told_by_whole_numbers_that_come_again(lines, claimed) -> None:
    assert RnnlmFormat().claims(Sample("-", lines, ())) is claimed


def test_a_sentence_is_a_list_called_by_its_line(read, write) -> None:
    text = "\ufeff<s> we know </s>\r\n\r\nyes"
    found = read(TextFormat(), text)
    assert [(each.id, each.hypotheses[0].words) for each in found] == [
        ("1", ("we", "know")),
        ("2", ()),
        ("3", ("yes",)),
    ]
    assert write(TextFormat(), found) == text
    assert write(TextFormat(), found, orders=[(0,)] * 3) == text


def test_sentences_are_scored_one_log10_a_line(read, write) -> None:
    found = read(TextFormat(), "we know\n\n")
    scores = [(-2.5 * LN10,), (-1.0 * LN10,)]
    assert write(TextFormat(), found, scores=scores) == "-2.500000\n-1.000000\n"


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        (("we know", "", "3 men in a boat"), True),
        (("[noise] we know",), True),
        (("utt-1 we know", "utt-2 we do"), False),
        (("we\tknow",), False),
        (("0 ||| ok ||| F0= 1",), False),
        (("NBestList1.0", "(-12) we"), False),
        (("(-12) we",), False),
        (('{"id": 1}',), False),
        (("",), False),
    ],
)
def test_sentences_are_what_no_other_format_is(lines, claimed) -> None:
    assert TextFormat().claims(Sample("-", lines, ())) is claimed
