"""Lists in every layout: JSON lines, Kaldi's word scores, and the best texts for other tools."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.nbest.formats import format_of, open_lists
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.output.output_layouts import (
    LAYOUTS,
    word_score_line,
    write_best,
    write_nbest,
    write_word_scores,
)
from charlm.nbest.reading.format import Format, Source
from charlm.nbest.reading.templates import Template
from charlm.nbest.scorer import WordLogProbs
from charlm.nbest.scorers import FunctionScorer

FOUND = (
    Hypothesis(("we", "é"), {"am": -2.5, "lm": 1.0}, "f:1"),
    Hypothesis((), {"am": -1.0, "lm": 2.0}, "f:2"),
)
LIST = NbestList("u", FOUND, recording="tape", reference=("we",))


def test_the_best_comes_first_with_its_features_and_scores() -> None:
    totals = (3.0 - math.log(4), 3.0)  # P is a fifth, and four fifths
    item = Rescored(LIST, scores=(-7.0, -8.0), totals=totals, order=(1, 0))
    (piece,) = write_nbest([item])
    assert piece.name == ""
    assert json.loads(piece.text) == {
        "id": "u",
        "recording": "tape",
        "hyps": [
            {
                "text": "",
                "scores": {
                    "am": -1.0,
                    "lm": 2.0,
                    "charlm": -8.0,
                    "charlm_total": 3.0,
                    "charlm_posterior": 0.8,
                },
            },
            {
                "text": "we é",
                "scores": {
                    "am": -2.5,
                    "lm": 1.0,
                    "charlm": -7.0,
                    "charlm_total": 1.613706,
                    "charlm_posterior": 0.2,
                },
            },
        ],
        "ref": "we",
    }
    assert "é" in piece.text


def test_of_several_models_each_has_its_own_score_and_they_make_the_total(tmp_path: Path) -> None:
    def scorer(name: str, each: float) -> FunctionScorer:
        return FunctionScorer(lambda found: [[each] * (len(s) + 1) for s in found], name=name)

    lists, pieces = tmp_path / "lists.tsv", list[str]()
    lists.write_text("id\tam\ttext\nu\t-2\twe know\n")
    arpa = tmp_path / "a.arpa"
    arpa.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-1\t</s>\n\n\\end\\\n")
    options = {"scorer": scorer("own", -0.5), "lm": arpa, "weight": ["am=2", "own=3", "kn=.5"]}
    charlm.score(lists, write="nbest", out=pieces.append, **options)
    (hyp,) = json.loads("".join(pieces))["hyps"]
    kn = -3 * math.log(10)
    expected = {"am": -2, "own": -1.5, "kn": kn, "charlm": kn, "charlm_total": -8.5 + kn / 2}
    expected |= {"charlm_posterior": 1}
    assert hyp["scores"] == pytest.approx(expected, abs=1e-6)


def test_the_lines_are_lists_again(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(piece.text for piece in write_nbest([Rescored(LIST)])))
    with open_lists(Source(path)) as (form, lists):
        (again,) = lists
    assert form.name == "jsonl"
    assert [h.words for h in again.hypotheses] == [("we", "é"), ()]
    assert [dict(h.features) for h in again.hypotheses] == [dict(h.features) for h in FOUND]
    assert (again.id, again.recording, again.reference) == ("u", "tape", ("we",))


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(DataError, match="f:1: the score of this hypothesis is -inf; expected"):
        list(write_nbest([Rescored(LIST, scores=(-math.inf, 0.0))]))


@pytest.mark.parametrize("name", ["charlm", "charlm_total", "charlm_posterior"])
def test_what_a_list_has_already_is_not_overwritten(name: str) -> None:
    scored = NbestList("u", (Hypothesis(("a",), {name: -1.0}, "f:1"),))
    with pytest.raises(DataError, match=f"f:1: found a feature '{name}' already; expected none;"):
        list(write_nbest([Rescored(scored, scores=(-2.0,), totals=(-3.0,))]))


def scores(*log_probs: float) -> WordLogProbs:
    return WordLogProbs(np.array(log_probs), np.ones(len(log_probs) - 1, np.bool_))


def written(form: Format, slots: Sequence[int], *originals: object) -> list[str]:
    hypotheses = tuple(Hypothesis((), {}, "a:1", original) for original in originals)
    nbest = NbestList("u", hypotheses, original=Template((), tuple(slots)))
    words = tuple(scores(-float(k)) for k in range(len(originals)))
    text = "".join(piece.text for piece in write_word_scores([Rescored(nbest, words=words)], form))
    return text.splitlines()


def test_a_line_holds_the_key_the_words_and_the_end_last() -> None:
    assert word_score_line("utt-1", scores(-1.5, -0.25, -2)) == "utt-1 -1.5 -0.25 -2"
    assert word_score_line("utt-2", scores(-0.0)) == "utt-2 0"


def test_digits_tell_fp32_numbers_apart() -> None:
    one = np.float32(-7.1234567)
    two = np.nextafter(one, np.float32(0))
    lines = [word_score_line("a", scores(each)) for each in (one, two)]
    assert [np.float32(line.split()[1]) for line in lines] == [one, two]


def test_an_archive_keeps_its_keys_and_the_places_of_its_lines() -> None:
    keys = [("u-1", ""), ("u-2", ""), ("u-10", "")]  # as Kaldi sorts them: u-1, u-10, u-2
    assert written(format_of("kaldi"), (0, 2, 1), *keys) == ["u-1 0", "u-10 -2", "u-2 -1"]


def test_elsewhere_a_rank_tells_several_hypotheses_apart() -> None:
    assert written(format_of("tsv"), (0, 1), None, None) == ["u-1 0", "u-2 -1"]
    assert written(format_of("text"), (0,), None) == ["u 0"]


def test_a_lattice_has_no_scores_of_words() -> None:
    item = Rescored(NbestList("u", (Hypothesis((), {}, "a:1"),)))
    with pytest.raises(ConfigError, match="'u' is of a lattice"):
        list(write_word_scores([item], format_of("tsv")))


@pytest.mark.parametrize("key", ["", "a b", "a\tb", "a\u3000b"])
def test_an_id_that_would_become_words_is_refused(key: str) -> None:
    with pytest.raises(DataError, match="cannot stand in Kaldi's tables"):
        word_score_line(key, scores(-1.0))


@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_what_is_no_number_is_not_written(value: float) -> None:
    with pytest.raises(DataError, match="a word has the log-probability"):
        word_score_line("a", scores(value, -1.0))


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


@pytest.mark.parametrize("text", [";; so", "** so", ";;so"])
def test_no_hypothesis_is_a_comment_to_sclite(text: str) -> None:
    assert text_of([rescored("u", text)], "trn") == f" {text} (u)\n"


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
