"""SRILM's own lists: a file, or a folder with one file per utterance."""

import gzip
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.formats.srilm import SrilmFormat
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.list_lines import opened

LN10 = 2.302585092994046
LINES = "-1792.12 -16.0727 11 -pau- [laugh] yeah\n-1792.93 -15.8891 0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two lists, one of them packed."""
    path = tmp_path / "lists"
    path.mkdir()
    (path / "sw-2.gz").write_bytes(gzip.compress(LINES.encode()))
    (path / "sw-1.score").write_bytes(b"-1 -2 1 yes\r\n")
    (path / ".hidden").touch()
    return path


def lists_in(path: Path, **said: object):
    return list(SrilmFormat().read(Source(path, **said)))  # type: ignore[arg-type]


def test_scores_are_log10_and_the_count_is_kept_as_it_is(read) -> None:
    (found,) = read(SrilmFormat(), LINES)
    assert found.id == "a.list"
    assert [h.words for h in found.hypotheses] == [("-pau-", "[laugh]", "yeah"), ()]
    assert found.hypotheses[0].features == {
        "am": pytest.approx(-1792.12 * LN10),
        "old_lm": pytest.approx(-16.0727 * LN10),
        "nwords": 11.0,
    }


def test_a_folder_holds_a_list_a_file_by_name(folder: Path) -> None:
    found = lists_in(folder)
    assert [each.id for each in found] == ["sw-1", "sw-2"]
    assert len(found[1].hypotheses) == 2
    assert found[1].hypotheses[1].place == f"{folder}/sw-2.gz:2"


def test_a_folder_is_written_as_a_folder(folder: Path) -> None:
    pieces = list(SrilmFormat().write(map(Rescored, lists_in(folder)), reranked=False))
    assert pieces == [("sw-1.score", "-1 -2 1 yes\r\n"), ("sw-2.gz", LINES)]


def test_scores_of_a_folder_are_a_folder_of_scores_and_read_back(
    folder: Path, tmp_path: Path
) -> None:
    scores = [(-2 * LN10,), (-3 * LN10, -4.5 * LN10)]
    items = [Rescored(each, score) for each, score in zip(lists_in(folder), scores, strict=True)]
    pieces = list(SrilmFormat().write(items, reranked=False))
    assert pieces == [("sw-1.score", "-2.000000\n"), ("sw-2.gz", "-3.000000\n-4.500000\n")]
    beside = tmp_path / "scores"
    beside.mkdir()
    for name, text in pieces:
        (beside / name).write_text(text)
    found = lists_in(folder, features={"charlm": beside})
    assert [h.features["charlm"] / LN10 for each in found for h in each.hypotheses] == [
        -2,
        -3,
        -4.5,
    ]


def test_an_utterance_without_scores_is_named_or_does_without(folder: Path, tmp_path: Path) -> None:
    beside = tmp_path / "scores"
    beside.mkdir()
    (beside / "sw-1").write_text("-1\n")
    with pytest.raises(DataError) as caught:
        lists_in(folder, features={"nn": beside})
    assert str(caught.value) == (
        f"{folder}: found no 'nn' for 1 of 2 utterances (sw-2); expected a file each; "
        "--allow-missing does without"
    )
    found = lists_in(folder, features={"nn": beside}, allow_missing=True)
    features = [[h.features["nn"] for h in each.hypotheses] for each in found]
    assert features == [[pytest.approx(-LN10)], [0.0, 0.0]]


def test_an_empty_file_is_refused_or_left_out(folder: Path) -> None:
    (folder / "sw-3").touch()
    with pytest.raises(DataError, match="sw-3: found no hypothesis; expected at least one; --allo"):
        lists_in(folder)
    assert [each.id for each in lists_in(folder, allow_missing=True)] == ["sw-1", "sw-2"]


@pytest.mark.parametrize("name", ["sw-1.gz", "sub", "a\nb"])
def test_a_folder_with_something_else_in_it_is_refused(name: str, folder: Path) -> None:
    messages = {
        "sw-1.gz": "found the id 'sw-1' of ",
        "sub": "is no file; expected a folder of files, one an utterance",
        "a\nb": r"the id 'a\nb' holds a control character; expected none; rename it",
    }
    if name == "sub":
        (folder / name).mkdir()
    else:
        (folder / name).write_text(LINES)
    with pytest.raises(DataError) as caught:
        lists_in(folder)
    assert messages[name] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found no file in this folder; expected one an utterance"):
        lists_in(tmp_path)


def test_a_file_of_scores_beside_a_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scores").write_text("-1\n")
    with pytest.raises(DataError, match="scores: is no folder; expected one of scores, a file a l"):
        lists_in(folder, features={"nn": tmp_path / "scores"})


def test_a_feature_of_the_lists_own_name_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="found the feature 'am' in the list itself; expected an"):
        lists_in(folder, features={"am": folder})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1 -2\n", "a.list:1: found 2 fields; expected an acoustic and a language model score"),
        ("-1 -2 1 a\n\n", "a.list:2: found 0 fields; expected an acoustic and a language model"),
        ("x -2 1 a\n", "a.list:1: the acoustic score: found 'x'; expected a number"),
        ("-1 x 1 a\n", "a.list:1: the language model score: found 'x'; expected a number"),
        ("-1 -2 x a\n", "a.list:1: the number of words: found 'x'; expected a number"),
        ("", "a.list: found no hypothesis; expected at least one"),
    ],
)
def test_what_is_no_such_line_is_said_with_its_place(text, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(SrilmFormat(), text)
    assert message in str(caught.value)


def test_a_folder_is_told_by_its_first_file(folder: Path) -> None:
    with opened(Source(folder)) as source:
        assert SrilmFormat().claims(source.sample)


def test_a_folder_is_told_though_its_first_utterance_has_no_hypothesis(folder: Path) -> None:
    (folder / "sw-0").touch()
    (folder / "sw-00.gz").write_bytes(gzip.compress(b""))
    (folder / "sw-01").write_text("0 0 0\n")  # without scores and words
    with opened(Source(folder)) as source:
        assert SrilmFormat().claims(source.sample)


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        (("-1 -2 1 yes", "-1 -2 0"), True),
        (("0 0 1 yes", "0 0 0"), True),
        (("5 5 5 1 2", "4 7 1 9"), False),  # digits that were spoken
        (("-1 -2 1.5 yes",), False),
        ((), False),
    ],
)
def test_a_list_is_told_by_three_numbers(lines, claimed) -> None:
    assert SrilmFormat().claims(Sample("-", lines, ())) is claimed


def test_a_folder_of_folders_is_not_claimed(tmp_path: Path) -> None:
    assert not SrilmFormat().claims(Sample(tmp_path, (), ("a/text", "b/text")))
