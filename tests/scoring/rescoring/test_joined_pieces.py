"""Lists in pieces of words: what models read, what is measured, what is written."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.nbest.ranking.weights import load_weights
from charlm.nbest.scorers import FunctionScorer

LISTS = """\
id\tam\ttext
u\t-1\twir bei@@ de
u\t-1.2\twir bei@@ den
v\t-2\tdas ha@@ us
v\t-3\tdas hau@@ s
v\t-2.5\tdas haus
"""
REFS = "u\twir beiden\nv\tdas haus\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    (tmp_path / "l.tsv").write_text(LISTS)
    (tmp_path / "refs").write_text(REFS)
    return tmp_path / "l.tsv"


def scorer(asked: list[str], likes: str = "den") -> FunctionScorer:
    """A model that likes sentences with a word, and remembers what it was asked."""

    def log_probs(texts: Sequence[Sequence[str]]) -> list[list[float]]:
        asked.extend(" ".join(words) for words in texts)
        return [[-1.0 + (word == likes) for word in words] + [0.0] for words in texts]

    return FunctionScorer(log_probs)


def score(lists: Path, **options: Any) -> tuple[str, Any]:
    written: list[str] = []
    result = charlm.score(lists, out=written.append, **options)
    return "".join(written), result


@pytest.mark.parametrize(
    ("read_as", "texts"),
    [
        (None, ["wir beide", "wir beiden", "das haus"]),
        ("words", ["wir beide", "wir beiden", "das haus"]),
        ("pieces", ["wir bei@@ de", "wir bei@@ den", "das ha@@ us", "das hau@@ s", "das haus"]),
    ],
)
def test_models_read_words_or_pieces(lists: Path, read_as: Any, texts: list[str]) -> None:
    asked: list[str] = []
    _, result = score(lists, scorer=scorer(asked), join="@@", read_as=read_as)
    assert list(dict.fromkeys(asked)) == texts
    assert result.counts.n_duplicates == (0 if read_as == "pieces" else 2)


def test_words_are_measured_and_written_and_lists_keep_their_pieces(lists: Path) -> None:
    options = {"scorer": scorer([]), "join": "@@", "read_as": "pieces", "weight": ["am=1", "own=2"]}
    refs = lists.parent / "refs"
    ranked, result = score(lists, refs=refs, write="ranked", **options)
    assert [row.split("\t")[-1] for row in ranked.splitlines()[1:]] == [
        "wir bei@@ den",
        "wir bei@@ de",
        "das haus",
        "das ha@@ us",
        "das hau@@ s",
    ]
    assert (result.report.first.error, result.report.rescored.error) == (1 / 4, 0)
    text, _ = score(lists, write="text", **options)
    assert text == "wir beiden\ndas haus\n"
    nbest, _ = score(lists, write="nbest", **options)
    assert [each["text"] for each in json.loads(nbest.splitlines()[1])["hyps"]] == ["das haus"] * 3


def test_references_in_pieces_are_joined_too(lists: Path) -> None:
    pieces = lists.parent / "pieces"
    pieces.write_text("u\twi@@ r bei@@ den\nv\td@@ as haus\n")
    found = score(lists, refs=pieces, join="@@", write="none")[1]
    expected = score(lists, refs=lists.parent / "refs", join="@@", write="none")[1]
    assert found.report == expected.report
    own = lists.parent / "own.jsonl"
    own.write_text(
        '{"id": "u", "hyps": [{"text": "\u2581bei de"}], "ref": "\u2581bei den"}\n', "utf-8"
    )
    result = score(own, refs="own", join="\u2581", write="none")[1]
    assert (result.report.first.error, result.report.first.n_tokens) == (1, 1)


def test_weights_remember_how_pieces_were_read(lists: Path) -> None:
    asked: list[str] = []
    weights = lists.parent / "w.json"
    options = {"join": "@@", "read_as": "pieces", "folds": 0, "refs": lists.parent / "refs"}
    charlm.tune(lists, scorer=scorer([]), out=weights, **options)
    assert load_weights(weights).pieces == ("@@", "pieces")
    text, _ = score(lists, scorer=scorer(asked), weights=weights, write="text")
    assert text == "wir beiden\ndas haus\n"
    assert "das hau@@ s" in asked
    asked.clear()
    score(lists, scorer=scorer(asked), weights=weights, read_as="words")
    assert not any("@@" in text for text in asked)


@pytest.mark.parametrize("pieces", [1, {"mark": "@@"}, {"mark": "", "read_as": "words"}])
def test_wrong_pieces_in_a_file_of_weights_are_refused(tmp_path: Path, pieces: object) -> None:
    content = {"format": 1, "weights": {}, "pieces": pieces}
    (tmp_path / "w.json").write_text(json.dumps(content))
    with pytest.raises(charlm.DataError, match="pieces is .*; expected a mark, and words or pi"):
        load_weights(tmp_path / "w.json")


def test_what_joins_nothing_is_refused(lists: Path, tmp_path: Path) -> None:
    with pytest.raises(charlm.ConfigError, match="--read-as pieces: no pieces are joined; expec"):
        score(lists, scorer=scorer([]), read_as="pieces")
    (tmp_path / "a.slf").write_text(
        "VERSION=1.0\nUTTERANCE=u\nN=2 L=1\nI=0\nI=1 W=a\nJ=0 S=0 E=1 a=-1 l=-1\n"
    )
    with pytest.raises(charlm.ConfigError, match="--join @@: joins the pieces of hypotheses, and"):
        score(tmp_path / "a.slf", join="@@", weight=["am=1"])
