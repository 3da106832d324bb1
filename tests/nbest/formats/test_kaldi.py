"""Kaldi's archives: keys with ranks, costs beside the texts, in one file or a folder."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.formats.kaldi import KaldiFormat
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.format import Source

TEXT = "utt-A-1 we know\nutt-A-10 <s> we  do know </s>\nutt-A-2\nb-1 a\u00a0b\n"
ACWT = "utt-A-1 2434.05\nutt-A-10 2431.77\nutt-A-2 0\nb-1 -1e2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("words_text", TEXT), ("acwt", ACWT), ("lmwt.nolm", ACWT)):
        (tmp_path / name).write_text(text)
    return tmp_path


def lists(path: Path, **said: object) -> list[NbestList]:
    return list(KaldiFormat().read(Source(path, **said)))  # type: ignore[arg-type]


def written(path: Path, *, scored: bool, order: bool = False, **said: object) -> Mapping[str, str]:
    """What a rescoring writes: score -1.5 for the first hypothesis of a list, -2.5, and so on."""
    chosen, files = KaldiFormat(), {}
    items = [
        Rescored(
            each,
            tuple(-1.5 - i for i in range(len(each.hypotheses))) if scored else (),
            order=tuple(reversed(range(len(each.hypotheses)))) if order else (),
        )
        for each in chosen.read(Source(path, **said))  # type: ignore[arg-type]
    ]
    for name, text in chosen.write(items, reranked=order):
        files[name] = files.get(name, "") + text
    return files


def test_hypotheses_are_in_order_of_their_ranks_and_costs_turned_round(folder: Path) -> None:
    first, second = lists(folder)
    assert (first.id, second.id) == ("utt-A", "b")
    assert [hypothesis.words for hypothesis in first.hypotheses] == [
        ("we", "know"),
        (),
        ("we", "do", "know"),
    ]
    assert [dict(hypothesis.features) for hypothesis in first.hypotheses] == [
        {"am": -2434.05, "graph_nolm": -2434.05},
        {"am": 0.0, "graph_nolm": 0.0},
        {"am": -2431.77, "graph_nolm": -2431.77},
    ]
    assert second.hypotheses[0].words == ("a\u00a0b",)
    assert second.hypotheses[0].features["am"] == 100.0
    assert second.hypotheses[0].place == f"{folder}/words_text:4"


def test_a_file_of_texts_takes_files_of_costs(folder: Path) -> None:
    text = folder / "words_text"
    first, _ = lists(text, features={"x": folder / "acwt"})
    assert first.hypotheses[0].features == {"x": -2434.05}
    assert written(text, scored=False) == {"": TEXT}
    assert written(text, scored=True) == {
        "": "utt-A-1 1.500000\nutt-A-10 3.500000\nutt-A-2 2.500000\nb-1 1.500000\n"
    }


def test_a_folder_is_written_with_costs_in_the_order_of_its_lines(folder: Path) -> None:
    same = {"words_text": TEXT, "acwt": ACWT, "lmwt.nolm": ACWT}
    assert written(folder, scored=False) == same
    costs = "utt-A-1 1.500000\nutt-A-10 3.500000\nutt-A-2 2.500000\nb-1 1.500000\n"
    assert written(folder, scored=True) == {**same, "charlm": costs}


def test_the_costs_that_were_written_are_a_feature_of_the_folder(folder: Path) -> None:
    (folder / "charlm").write_text(written(folder, scored=True)["charlm"])
    assert [each.features["charlm"] for each in lists(folder)[0].hypotheses] == [-1.5, -2.5, -3.5]
    with pytest.raises(DataError, match="found a feature 'charlm' already; expected none"):
        written(folder, scored=True)


def test_reranked_hypotheses_keep_their_keys(folder: Path) -> None:
    files = written(folder, scored=False, order=True)
    assert files["acwt"] == ACWT
    assert files["words_text"] == (
        "utt-A-10 <s> we  do know </s>\nutt-A-1 we know\nutt-A-2\nb-1 a\u00a0b\n"
    )


def test_costs_in_another_order_belong_to_the_same_keys(folder: Path) -> None:
    turned = "".join(reversed(ACWT.splitlines(keepends=True)))
    before = [each.hypotheses for each in lists(folder)]
    (folder / "acwt").write_text(turned)
    assert [each.hypotheses for each in lists(folder)] == before
    assert written(folder, scored=False)["acwt"] == turned


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("we know\n", "'we' as the key; expected an utterance's id, a dash and a rank"),
        ("u-x a\n", "'u-x' as the key"),
        (" u-1 a\n", "found a blank at the start of the line; expected a key"),
        ("u-1 a\nu-1 b\n", "found the key 'u-1' twice; expected it once"),
        ("u-1 a <s> b\n", "found <s> within"),
    ],
)
def test_a_line_that_is_no_hypothesis_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        lists(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{text.count(chr(10))}: ")


def test_a_cost_that_is_no_number_is_refused_with_its_line(folder: Path) -> None:
    (folder / "acwt").write_text(ACWT.replace("0\nb", "x\nb"))
    with pytest.raises(DataError, match="acwt:3: found 'x'; expected a number"):
        lists(folder)


def test_costs_that_are_missing_are_refused_with_their_number(folder: Path) -> None:
    (folder / "acwt").write_text("utt-A-1 1\n")
    with pytest.raises(DataError) as caught:
        lists(folder)
    assert str(caught.value) == (
        f"{folder}/acwt: found no cost for hypotheses of {folder}/words_text, 3 ('utt-A-10', "
        "'utt-A-2', 'b-1'); expected one for each; --allow-missing takes the highest of the list"
    )


def test_costs_without_texts_are_refused(folder: Path) -> None:
    (folder / "acwt").write_text(ACWT + "c-1 1\nc-2 1\n")
    with pytest.raises(DataError, match=r"words_text lacks, or keys twice, 2 \('c-1', 'c-2'\)"):
        lists(folder)
    (folder / "acwt").write_text(ACWT + "b-1 1\nb-1 2\n")
    with pytest.raises(DataError, match="acwt:6: found the key 'b-1' twice; expected it once"):
        lists(folder)


def test_what_is_missing_costs_what_the_worst_does_and_nothing_if_all_lack_it(folder: Path) -> None:
    (folder / "acwt").write_text("utt-A-1 1.5\nutt-A-2 2.5\nc-1 7\n")
    first, second = lists(folder, allow_missing=True)
    assert [each.features["am"] for each in first.hypotheses] == [-1.5, -2.5, -2.5]
    assert [each.features["am"] for each in second.hypotheses] == [0.0]
    assert written(folder, scored=False, allow_missing=True)["acwt"].endswith("c-1 7\n")


def test_an_infinite_cost_is_refused_or_the_worst(folder: Path) -> None:
    (folder / "acwt").write_text(ACWT.replace("2431.77", "inf"))
    with pytest.raises(DataError, match="acwt:2: found 'inf'; expected a finite number up to 1e30"):
        lists(folder)
    first, _ = lists(folder, on_nan="worst")
    assert [each.features["am"] for each in first.hypotheses] == [-2434.05, 0.0, -2434.05]


@pytest.mark.parametrize("features", [["am=x"], ["y=acwt"], ["y=charlm"], ["y=a/z", "x=b/z"]])
def test_files_that_would_be_written_over_one_another_are_refused(
    features: list[str], folder: Path
) -> None:
    said = {name: Path(path) for name, _, path in (each.partition("=") for each in features)}
    with pytest.raises(ConfigError, match=f"{folder} holds one of this name, or a file called"):
        lists(folder, features=said)


def test_a_folder_without_texts_is_refused(folder: Path) -> None:
    (folder / "words_text").unlink()
    with pytest.raises(DataError, match=r"found none of words_text, text, words.txt; expected a"):
        lists(folder)
