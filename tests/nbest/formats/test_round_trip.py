"""Archives and JSON: lists that are read and written again are the same, except for the score.

The tests write the lists themselves, by json.dumps or line by line, so that no reader is checked
against its own writer.
"""

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from charlm.nbest.formats import format_of
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.format import Source

Hyp = tuple[tuple[str, ...], float]  # words and a score
Lists = dict[str, list[Hyp]]
Files = dict[str, str]
Values = Callable[[str], list[object]]

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\r \ufeff\u2581"),
    min_size=1,
    max_size=5,
).filter(lambda word: not word.startswith("<"))
IDS = st.text(st.sampled_from("ab-_é/1\u00a0"), min_size=1, max_size=6)
SCORES = st.floats(-1e4, 1e4).map(lambda score: round(score, 3))
HYPS = st.tuples(st.lists(WORDS, max_size=4).map(tuple), SCORES)
LISTS = st.dictionaries(IDS, st.lists(HYPS, min_size=1, max_size=4), min_size=1, max_size=3)
# How JSON is spread out: one line, or many, with escapes or without.
STYLES = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 0, 3]), "ensure_ascii": st.booleans()}
)


def kaldi(lists: Lists, _: dict[str, object]) -> Files:
    keyed = [
        (f"{key}-{rank}", hyp) for key, hyps in lists.items() for rank, hyp in enumerate(hyps, 1)
    ]
    return {
        "text": "".join(f"{key} {' '.join(words)}\n" for key, (words, _) in keyed),
        "acwt": "".join(f"{key}  {0.0 - score}\n" for key, (_, score) in keyed),
    }


def espnet(lists: Lists, _: dict[str, object]) -> Files:
    files: Files = {}
    for key, hyps in lists.items():
        for rank, (words, score) in enumerate(hyps, 1):
            for file, value in (("text", " ".join(words)), ("score", f"tensor({score})")):
                path = f"output.1/{rank}best_recog/{file}"
                files[path] = files.get(path, "") + f"{key} {value}\n"
    return files


def espnet1(lists: Lists, style: dict[str, object]) -> Files:
    rows = {
        key: {"output": [{"rec_text": f"{' '.join(w)}<eos>", "score": s} for w, s in hyps]}
        for key, hyps in lists.items()
    }
    return {"": json.dumps({"utts": rows}, **style)}


def vosk(lists: Lists, style: dict[str, object]) -> Files:
    rows = [
        {"id": key, "alternatives": [{"text": " ".join(w), "confidence": s} for w, s in hyps]}
        for key, hyps in lists.items()
    ]
    return {"": "\n".join(json.dumps(row, **style) for row in rows)}


def huggingface(lists: Lists, style: dict[str, object]) -> Files:
    rows = [
        {
            "id": key,
            "sequences": [" ".join(words) for words, _ in hyps],
            "sequences_scores": [score for _, score in hyps],
        }
        for key, hyps in lists.items()
    ]
    return {"": "\n".join(json.dumps(row, **style) for row in rows) + "\n"}


def ctranslate2(lists: Lists, style: dict[str, object]) -> Files:
    rows = [
        {
            "id": key,
            "sequences": [" ".join(words) for words, _ in hyps],
            "sequences_ids": [[1] * len(words) for words, _ in hyps],
            "scores": [score for _, score in hyps],
        }
        for key, hyps in lists.items()
    ]
    return {"": "\n".join(json.dumps(row, **style) for row in rows) + "\n"}


def hyporadise(lists: Lists, style: dict[str, object]) -> Files:
    rows = [
        {"id": key, "input": [" ".join(w) for w, _ in hyps], "score": [s for _, s in hyps]}
        for key, hyps in lists.items()
    ]
    return {"": json.dumps(rows, **style)}


def mlm_scoring(lists: Lists, style: dict[str, object]) -> Files:
    rows = {
        key: {
            f"hyp_{rank}": {"score": score, "text": " ".join(words)}
            for rank, (words, score) in enumerate(hyps, 1)
        }
        for key, hyps in lists.items()
    }
    return {"": json.dumps(rows, **style)}


LAYOUTS: dict[str, Callable[[Lists, dict[str, object]], Files]] = {
    "kaldi": kaldi,
    "espnet": espnet,
    "espnet1": espnet1,
    "vosk": vosk,
    "huggingface": huggingface,
    "ctranslate2": ctranslate2,
    "hyporadise": hyporadise,
    "mlm-scoring": mlm_scoring,
}
# Each test draws its lists once for all formats, since to draw takes longer than to read and write.
SETTINGS = settings(max_examples=50)


def stored(files: Files, folder: str) -> Path:
    for name, text in files.items():
        path = Path(folder) / (name or "list")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return Path(folder) / "list" if "" in files else Path(folder)


def written_again(
    name: str, files: Files, rescore: Callable[[NbestList], Rescored], *, reranked: bool = False
) -> tuple[list[NbestList], Files]:
    """The lists in these files, and the files that a rescoring of them writes."""
    chosen, after = format_of(name), dict[str, str]()
    with tempfile.TemporaryDirectory() as folder:
        lists = list(chosen.read(Source(stored(files, folder))))
    for file, text in chosen.write(map(rescore, lists), reranked=reranked):
        after[file] = after.get(file, "") + text
    return lists, after


def contents(name: str, files: Files, values: Values) -> dict[str, object]:
    """What must stay: of JSON the values in their order and digits, of other formats every byte."""
    is_json = name not in ("kaldi", "espnet")
    return {file: values(text) if is_json else text for file, text in files.items()}


def said(nbest: NbestList) -> list[tuple[tuple[str, ...], dict[str, float]]]:
    return [(each.words, dict(each.features)) for each in nbest.hypotheses]


@SETTINGS
@given(lists=LISTS, style=STYLES, end=st.sampled_from(["\n", "\r\n"]), bom=st.booleans())
def test_lists_are_read_as_they_were_written_and_written_again(
    lists: Lists, style: dict[str, object], end: str, bom: bool, values: Values
) -> None:
    for name, laid_out in LAYOUTS.items():
        note(name)
        files = {
            file: "\ufeff" * bom + text.replace("\n", end)
            for file, text in laid_out(lists, style).items()
        }
        found, after = written_again(name, files, Rescored)
        assert [each.id for each in found] == list(lists)
        for each, hyps in zip(found, lists.values(), strict=True):
            assert [words for words, _ in said(each)] == [words for words, _ in hyps]
            scores = [score for _, features in said(each) for score in features.values()]
            assert scores == [score for _, score in hyps]
        assert contents(name, after, values) == contents(name, files, values)


@SETTINGS
@given(lists=LISTS, style=STYLES, new=st.floats(-1e4, 1e4))
def test_a_score_reads_back_and_nothing_else_is_touched(
    lists: Lists, style: dict[str, object], new: float, values: Values
) -> None:
    for name, laid_out in LAYOUTS.items():
        note(name)
        files = laid_out(lists, style)
        before, after = written_again(
            name, files, lambda each: Rescored(each, (new,) * len(each.hypotheses))
        )
        again, _ = written_again(name, after, Rescored)
        for was, now in zip(before, again, strict=True):
            assert said(was) == [
                (words, {key: score for key, score in features.items() if key != "charlm"})
                for words, features in said(now)
            ]
            scores = [each.features["charlm"] for each in now.hypotheses]
            assert scores == pytest.approx([new] * len(scores), abs=1e-6)
        added = re.compile(r',\s*"charlm": ?(?:-?[0-9.]+|\[[-0-9., ]+\])')
        kept = {file: text for file, text in after.items() if not file.endswith("charlm")}
        without = {file: added.sub("", text) for file, text in kept.items()}
        assert contents(name, without, values) == contents(name, files, values)


@SETTINGS
@given(lists=LISTS, style=STYLES)
def test_reranked_lists_read_back_in_their_new_order(
    lists: Lists, style: dict[str, object]
) -> None:
    def turned(each: NbestList) -> Rescored:
        return Rescored(each, order=tuple(reversed(range(len(each.hypotheses)))))

    for name in [name for name in LAYOUTS if name != "kaldi"]:
        note(name)
        files = LAYOUTS[name](lists, style)
        before, after = written_again(name, files, turned, reranked=True)
        again, _ = written_again(name, after, Rescored)
        for was, now in zip(before, again, strict=True):
            assert said(now) == said(was)[::-1]
