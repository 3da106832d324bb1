"""ESPnet's results: folders of ranks in folders of processes, or a data.json."""

import json
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.espnet import EspnetFormat
from charlm.nbest.formats.espnet1 import Espnet1Format
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.format import Source

FILES = {
    "output.2/1best_recog/text": "c yes\n",
    "output.2/1best_recog/score": "c -1\n",
    "output.10/1best_recog/text": "d no\n",
    "output.10/1best_recog/score": "d -1",
    "output.1/1best_recog/text": "a we know\nb  \n",
    "output.1/1best_recog/score": "a tensor(-1.5)\nb tensor(-0.0, device='cuda:0')\n",
    "output.1/1best_recog/token": "a ▁we ▁know\nb \n",
    "output.1/2best_recog/text": "a we no\n\n",
    "output.1/2best_recog/score": "a -2.5\n",
    "output.1/2best_recog/token": "a ▁we ▁no\n",
}
SHARD = "output.1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "logdir" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "logdir"


def lists(path: Path, **said: object) -> list[NbestList]:
    return list(EspnetFormat().read(Source(path, **said)))  # type: ignore[arg-type]


def written(path: Path, *, scored: bool, reranked: bool = False) -> dict[str, str]:
    chosen, files = EspnetFormat(), dict[str, str]()
    items = [
        Rescored(
            each,
            tuple(-1.25 - i for i in range(len(each.hypotheses))) if scored else (),
            order=tuple(reversed(range(len(each.hypotheses)))) if reranked else (),
        )
        for each in chosen.read(Source(path))
    ]
    for name, text in chosen.write(items, reranked=reranked):
        files[name] = files.get(name, "") + text
    return files


def test_processes_follow_one_another_by_number(folder: Path) -> None:
    assert [each.id for each in lists(folder)] == ["a", "b", "c", "d"]
    assert [each.id for each in lists(folder.parent)] == ["a", "b", "c", "d"]
    assert [each.id for each in lists(folder / SHARD)] == ["a", "b"]


def test_ranks_are_folders_and_an_utterance_may_lack_the_later_ones(folder: Path) -> None:
    a, b, *_ = lists(folder)
    assert [hypothesis.words for hypothesis in a.hypotheses] == [("we", "know"), ("we", "no")]
    assert [hypothesis.features for hypothesis in a.hypotheses] == [
        {"score": -1.5},
        {"score": -2.5},
    ]
    assert [hypothesis.words for hypothesis in b.hypotheses] == [()]
    assert b.hypotheses[0].features == {"score": 0.0}


def test_the_same_files_are_written_and_scores_beside_them(folder: Path) -> None:
    assert written(folder, scored=False) == FILES
    files = written(folder, scored=True)
    assert files.pop("output.1/1best_recog/charlm") == "a -1.250000\nb -1.250000\n"
    assert files.pop("output.1/2best_recog/charlm") == "a -2.250000\n"
    assert files.pop("output.2/1best_recog/charlm") == "c -1.250000\n"
    del files["output.10/1best_recog/charlm"]
    assert files == FILES


def test_reranked_rows_go_to_the_folders_of_their_ranks(folder: Path) -> None:
    files = written(folder, scored=True, reranked=True)
    assert files["output.1/1best_recog/text"] == "a we no\nb  \n"
    assert files["output.1/2best_recog/score"] == "a tensor(-1.5)\n"
    assert files["output.1/2best_recog/token"] == "a ▁we ▁know\n"
    assert files["output.1/1best_recog/charlm"] == "a -2.250000\nb -1.250000\n"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("1best_recog/score", "a x\nb 1\n", "1best_recog/score:1: found 'x'; expected a number"),
        ("1best_recog/score", "a 1\n", "1best_recog/score: found no line for 'b' of "),
        ("2best_recog/text", "a x\ne y\n", r"text lacks, or keys twice, 1 \('e'\)"),
        ("1best_recog/text", "a x\nb\na y\n", "2best_recog|found no line for 'a'"),
        ("1best_recog/text", " a\n", "1best_recog/text:1: found a blank at the start"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, file: str, text: str, message: str) -> None:
    (folder / SHARD / file).write_text(text)
    with pytest.raises(DataError, match=message):
        lists(folder)


def test_a_score_may_be_missing_if_its_user_says_so(folder: Path) -> None:
    (folder / SHARD / "2best_recog/score").write_text("")
    a, *_ = lists(folder, allow_missing=True)
    assert [hypothesis.features["score"] for hypothesis in a.hypotheses] == [-1.5, -1.5]


def test_an_utterance_of_two_processes_is_refused(folder: Path) -> None:
    for file in ("text", "score"):
        (folder / "output.2/1best_recog" / file).write_text("a 1\n")
    with pytest.raises(DataError, match=r"output.2/1best_recog/text:1: found the id 'a' again"):
        lists(folder)


def test_what_is_no_such_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no folder; expected that of ESPnet's decoding"):
        lists(folder / SHARD / "1best_recog/text")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="found no 1best_recog/text; expected ESPnet's results"):
        lists(empty)
    (folder / "output.2/1best_recog").rename(folder / "output.2/2best_recog")
    with pytest.raises(DataError, match="output.2: found no 1best_recog/text; expected one"):
        lists(folder)


HYPS = [
    {"rec_text": "▁we▁know<eos>", "score": -12.5, "name": "target1[1]", "text": "we know"},
    {"rec_text": "we<eos>", "score": -13, "name": "target1[2]", "text": "we know"},
]


def test_data_json_has_pieces_marks_scores_and_references(read, write) -> None:
    text = json.dumps({"utts": {"u1": {"utt2spk": "s", "output": HYPS}}}, ensure_ascii=False)
    chosen = Espnet1Format()
    (found,) = read(chosen, text)
    assert found.id == "u1"
    assert found.reference == ("we", "know")
    assert [hypothesis.words for hypothesis in found.hypotheses] == [("we", "know"), ("we",)]
    assert [hypothesis.features for hypothesis in found.hypotheses] == [
        {"score": -12.5},
        {"score": -13.0},
    ]
    after = json.loads(write(chosen, [found], scores=[(-1.5, -2.5)], orders=[(1, 0)]))
    assert after["utts"]["u1"]["output"] == [
        {**HYPS[1], "charlm": -2.5},
        {**HYPS[0], "charlm": -1.5},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"utts": {\n"u": {}}}', "a.list:1: 'u': found no array 'output'; expected the"),
        ('{"utts": {"u": {"output": [1]}}}', "a.list:1: 'u': hypothesis 1: found no object; exp"),
        ('{"utts": {"u": {"output": [{}]}}}', "hypothesis 1: 'rec_text': found nothing, or null"),
        (
            '{"utts": {"u": {"output": [{"rec_text": "", "score": "1"}]}}}',
            "hypothesis 1: 'score': found '1'; expected a number",
        ),
        ('{"utts": {"": {"output": []}}}', "found an empty id; expected that of an utterance"),
        ('{"utts": {"u": {"output": []}, "u": 1}}', "found the key 'u' twice; expected it once"),
        ('{"utts": 3}', "expected an object that holds hypotheses, or an array of them"),
    ],
)
def test_a_data_json_that_is_none_is_refused(text: str, message: str, read) -> None:
    with pytest.raises(DataError) as caught:
        read(Espnet1Format(), text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.list:")
