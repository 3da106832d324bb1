"""The winners of lists, in every layout."""

import json

import pytest

from charlm.errors import DataError
from charlm.nbest.best_layouts import LAYOUTS, write_best
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored


def rescored(key: str, *texts: str, order=(), scores=(), totals=()) -> Rescored:
    hypotheses = tuple(
        Hypothesis(tuple(text.split()), {}, f"a.list:{line}") for line, text in enumerate(texts, 1)
    )
    return Rescored(NbestList(key, hypotheses), scores, totals, order)


LISTS = [
    rescored("u-1", "we know", "we do", order=(1, 0), scores=(-3, -1.5), totals=(-4, -2.25)),
    rescored("u-2", "", scores=(-1,), totals=(-0.5,)),
]


def text_of(lists, layout: str) -> str:
    pieces = list(write_best(lists, layout))
    assert {piece.name for piece in pieces} <= {""}
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("kaldi", "u-1 we do\nu-2\n"),
        ("trn", "we do (u-1)\n(u-2)\n"),
        ("text", "we do\n\n"),
        (
            "tsv",
            "id\trank\tcharlm\ttotal\ttext\n"
            "u-1\t2\t-1.500000\t-2.250000\twe do\nu-2\t1\t-1.000000\t-0.500000\t\n",
        ),
        (
            "jsonl",
            '{"id": "u-1", "rank": 2, "text": "we do", "charlm": -1.5, "total": -2.25}\n'
            '{"id": "u-2", "rank": 1, "text": "", "charlm": -1.0, "total": -0.5}\n',
        ),
    ],
)
def test_the_winner_of_each_list_is_a_line(layout: str, expected: str) -> None:
    assert text_of(LISTS, layout) == expected


def test_what_was_not_scored_has_no_numbers() -> None:
    lists = [rescored("u", "a")]
    assert text_of(lists, "tsv").splitlines()[1] == "u\t1\tNA\tNA\ta"
    assert json.loads(text_of(lists, "jsonl")) == {"id": "u", "rank": 1, "text": "a"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_lists_make_no_lines(layout: str) -> None:
    assert text_of([], layout) == ""


@pytest.mark.parametrize(
    ("layout", "key"),
    [
        ("kaldi", "a b"),
        ("kaldi", ""),
        ("kaldi", "a\nb"),
        ("trn", "a(b"),
        ("trn", "a\tb"),
        ("tsv", "a\tb"),
        ("tsv", "#a"),
        ("tsv", "a\x00b"),
        ("jsonl", ""),
        ("jsonl", "\ud800"),
    ],
)
def test_an_id_that_a_layout_cannot_hold_is_refused(layout: str, key: str) -> None:
    with pytest.raises(DataError) as caught:
        text_of([rescored(key, "a")], layout)
    assert str(caught.value) == (
        f"a.list:1: the id {key!r} cannot stand in the layout {layout!r}; expected one without "
        "blanks, control characters and its marks; rename it, or write jsonl"
    )


@pytest.mark.parametrize(("layout", "key"), [("tsv", "a b(1)"), ("text", "\n"), ("jsonl", "a\n b")])
def test_an_id_that_a_layout_can_hold_is_written(layout: str, key: str) -> None:
    assert text_of([rescored(key, "a")], layout)


def test_a_list_without_hypotheses_has_no_winner() -> None:
    with pytest.raises(DataError, match="list 'u': found no hypothesis; expected at least one"):
        text_of([rescored("u")], "text")


@pytest.mark.parametrize("layout", ["tsv", "jsonl"])
def test_a_score_that_is_no_number_is_not_written(layout: str) -> None:
    with pytest.raises(DataError, match="a.list:1: the score of this hypothesis is nan; expected"):
        text_of([rescored("u", "a", scores=(float("nan"),))], layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_word_that_would_break_a_line_is_refused(layout: str) -> None:
    words = Hypothesis(("we\rknow",), {}, "a.list:1")
    broken = [Rescored(NbestList("u", (words,)), (), (), ())]
    if layout == "jsonl":
        assert json.loads(text_of(broken, layout))["text"] == "we\rknow"
        return
    with pytest.raises(DataError, match="a.list:1: a word .* holds a carriage return"):
        text_of(broken, layout)
