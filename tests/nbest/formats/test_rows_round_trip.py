"""Formats with one line per hypothesis: what is read and written again is the same bytes."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from charlm.nbest.formats import FORMATS

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\r |"),
    min_size=1,
    max_size=5,
).filter(lambda word: word not in ("<s>", "</s>") and not word.startswith("\ufeff"))
NUMBERS = st.sampled_from(["-1", "-12.50", "+3.", ".5", "1e-3", "0", "-0.0", "-1792.12", "2E2"])
COUNTS = st.sampled_from(["0", "7", "12"])
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])


@dataclass(frozen=True)
class Made:
    """A list as a test made it: its lines, each with words and numbers."""

    id: str
    words: list[list[str]]
    numbers: list[list[str]]
    blanks: list[str] = field(default_factory=list)


@st.composite
def lists(draw: st.DrawFn) -> list[Made]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 3))
        words = draw(st.lists(st.lists(WORDS, max_size=4), min_size=n, max_size=n))
        numbers = [[draw(NUMBERS), draw(NUMBERS), draw(COUNTS)] for _ in range(n)]
        made.append(Made(str(number + 3), words, numbers, [draw(BLANKS) for _ in range(n)]))
    return made


def tsv_line(made: Made, i: int, score: str) -> str:
    am, lm, _ = made.numbers[i]
    return "\t".join((made.id, am, lm, *([score] if score else []), " ".join(made.words[i])))


def headed_tsv_line(made: Made, i: int, score: str) -> str:
    am, lm, count = made.numbers[i]
    text = " ".join(made.words[i])
    return "\t".join((made.id, am, lm, *([score] if score else []), text, count))


def headed_csv_line(made: Made, i: int, score: str) -> str:
    am, lm, count = made.numbers[i]
    text = " ".join(made.words[i]).replace('"', '""')
    cells = (f'"{made.id}"', am, lm, *([score] if score else []), f'"{text}"', f'"{count},\n"""')
    return ",".join(cells)


def moses_line(made: Made, i: int, score: str) -> str:
    am, lm, count = made.numbers[i]
    words = made.blanks[i].join(made.words[i])
    score = score and f" charlm= {score}"
    return f"{made.id} ||| {words} ||| tm= {am} {count} lm= {lm}{score} ||| {am} ||| 0-0"


def rnnlm_line(made: Made, i: int, score: str) -> str:
    return made.blanks[i].join((made.id, *made.words[i]))


def cued_line(made: Made, i: int, score: str) -> str:
    return " ".join((made.id, *made.numbers[i], "<s>", *made.words[i], "</s>"))


def fairseq_lines(made: Made, i: int, score: str) -> str:
    (am, lm, _), words = made.numbers[i], made.blanks[i].join(made.words[i])
    return "\n".join(
        f"{mark}-{made.id}\t{rest}"
        for mark, rest in (("H", f"{am}\t▁x"), ("D", f"{am}\t{words}"), ("P", lm))
    )


def flat_jsonl_line(made: Made, i: int, score: str) -> str:
    am, lm, count = (float(number) for number in made.numbers[i])
    value = {"id": made.id, "text": " ".join(made.words[i]), "x": [1, {"y": "z"}]}
    line = json.dumps({**value, "scores": {"am": am, "lm": lm, "count": count}})
    return f'{line[:-2]}, "charlm": {score}}}}}' if score else line


LINES = {
    "tsv": tsv_line,
    "headed tsv": headed_tsv_line,
    "headed csv": headed_csv_line,
    "moses": moses_line,
    "rnnlm": rnnlm_line,
    "cued": cued_line,
    "fairseq": fairseq_lines,
    "flat jsonl": flat_jsonl_line,
}
HEADERS = {
    "headed tsv": "id\tam:cost\tlm:log10\ttext\t-",
    "headed csv": "id,am:cost,lm:log10,text,-",
}
SCORED_HEADERS = {
    "headed tsv": "id\tam:cost\tlm:log10\tcharlm\ttext\t-",
    "headed csv": "id,am:cost,lm:log10,charlm,text,-",
}
BESIDE = ("rnnlm", "cued", "fairseq")  # formats without a place for a further feature
# Each test draws its lists once for all formats, since to draw takes longer than to read and write.
SETTINGS = settings(max_examples=50)


def format_of(case: str):
    return FORMATS[case.rsplit(maxsplit=1)[-1]]()


def text_of(
    case: str, made: list[Made], *, end: str = "\n", scores: Sequence[Sequence[float]] = ()
) -> str:
    headers = SCORED_HEADERS if scores else HEADERS
    lines = [headers[case]] if case in headers else []
    for number, each in enumerate(made):
        for i in range(len(each.words)):
            score = f"{scores[number][i]:.6f}" if scores else ""
            lines.append(LINES[case](each, i, score))
    return "".join(line + end for line in lines)


def drawn_scores(data: st.DataObject, made: list[Made]) -> list[list[float]]:
    return [[data.draw(st.floats(-1e4, 1e4)) for _ in each.words] for each in made]


@SETTINGS
@given(made=lists(), end=st.sampled_from(["\n", "\r\n"]), bom=st.booleans(), last=st.booleans())
def test_without_scores_the_bytes_are_those_that_were_read(
    made, end, bom, last, read, write
) -> None:
    for case in LINES:
        note(case)
        text = ("\ufeff" if bom else "") + text_of(case, made, end=end)
        text = text if last else text.removesuffix(end)
        found = read(format_of(case), text)
        assert [each.id for each in found] == [each.id for each in made]
        assert [[list(h.words) for h in each.hypotheses] for each in found] == [
            each.words for each in made
        ]
        assert write(format_of(case), found) == text


@SETTINGS
@given(made=lists(), data=st.data())
def test_a_score_is_added_to_each_line_and_reads_back(made, data, read, write) -> None:
    scores = drawn_scores(data, made)
    for case in [case for case in LINES if case not in BESIDE]:
        note(case)
        before = read(format_of(case), text_of(case, made))
        after = write(format_of(case), before, scores=scores)
        assert after == text_of(case, made, scores=scores)
        again = read(format_of(case), after)
        name = "c4" if case == "tsv" else "charlm"
        for each, was, expected in zip(again, before, scores, strict=True):
            found = [dict(hypothesis.features) for hypothesis in each.hypotheses]
            assert [features.pop(name) for features in found] == pytest.approx(expected, abs=1e-6)
            assert found == [hypothesis.features for hypothesis in was.hypotheses]


@SETTINGS
@given(made=lists(), data=st.data())
def test_scores_beside_a_list_read_back_as_a_feature(
    made, data, read, write, tmp_path_factory
) -> None:
    scores = drawn_scores(data, made)
    path = tmp_path_factory.mktemp("beside") / "scores"
    for case in BESIDE:
        note(case)
        text = text_of(case, made)
        before = read(format_of(case), text)
        path.write_text(write(format_of(case), before, scores=scores))
        again = read(format_of(case), text, features={"charlm": path})
        for each, given_scores in zip(again, scores, strict=True):
            found = [hypothesis.features["charlm"] for hypothesis in each.hypotheses]
            assert found == pytest.approx(given_scores, abs=2e-6)


@SETTINGS
@given(made=lists(), last=st.booleans())
def test_reranking_moves_whole_lines_within_their_list(made, last, read, write) -> None:
    for case in LINES:
        note(case)
        text = text_of(case, made)
        text = text if last else text.removesuffix("\n")
        before = read(format_of(case), text)
        orders = [tuple(reversed(range(len(each.hypotheses)))) for each in before]
        after = write(format_of(case), before, orders=orders)
        assert Counter(after.split("\n")) == Counter(text.split("\n"))
        again = read(format_of(case), after)
        assert [[h.words for h in each.hypotheses] for each in again] == [
            [h.words for h in reversed(each.hypotheses)] for each in before
        ]
