"""What readers correct or skip is counted, in every format."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.formats import open_lists
from charlm.nbest.hypotheses import Hypothesis, NbestList, StrippedWords
from charlm.nbest.reading.format import Source
from charlm.nbest.reading.policies import with_finite_features
from charlm.nbest.reading.repairs import WORST, ZERO, Filling, Notices, filled
from charlm.nbest.references.references import read_references


def noticed(root: Path, files: Mapping[str, str], **said: object) -> Notices:
    """What the reader of a folder, or of a file alone in it, counts."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    source = Source(root / next(iter(files)) if len(files) == 1 else root, **said)  # type: ignore[arg-type]
    with open_lists(source) as (_, lists):
        for nbest in lists:
            source.notices.look(nbest)
    return source.notices


KALDI = {"text": "u-1 a\nu-2 b\nv-1 c\nw-1 d\n", "acwt": "u-1 1\nw-1 2\nx-1 3\ny-1 3\n"}
ESPNET = {
    "1best_recog/text": "u a\nv b\n",
    "1best_recog/score": "u -1\n",
    "1best_recog/token": "v b\n",
    "2best_recog/text": "u c\nw d\n",
    "2best_recog/score": "w -9\n",
}


def test_costs_that_are_missing_and_keys_without_texts_are_counted(tmp_path: Path) -> None:
    found = noticed(tmp_path, KALDI, allow_missing=True)
    assert found.filled == {Filling("am", "missing", WORST): 1, Filling("am", "missing", ZERO): 1}
    assert found.passed_over == {"keys of acwt that the texts lack": 2}


def test_lines_that_espnet_lacks_are_counted(tmp_path: Path) -> None:
    found = noticed(tmp_path, ESPNET, allow_missing=True)
    assert found.filled == {
        Filling("score", "missing", WORST): 1,
        Filling("score", "missing", ZERO): 1,
    }
    assert found.passed_over == {
        "hypotheses without a line in token": 1,
        "keys of text that the texts lack": 1,
        "keys of score that the texts lack": 1,
    }
    assert list(found.passed_over)[1:] == [
        f"keys of {n} that the texts lack" for n in ("text", "score")
    ]


def test_what_a_whole_folder_has_leaves_no_notice(tmp_path: Path) -> None:
    files = {"text": "u-1 a\n", "acwt": "u-1 1\n"}
    assert noticed(tmp_path, files, allow_missing=True) == Notices()


@pytest.mark.parametrize(
    "text",
    [
        '{"alternatives": []}\n{"alternatives": [{"confidence": 1, "text": "a"}]}\n',
        '[{"input": ["a"], "output": "a"}, {"input": [], "output": "a"}]\n',
    ],
)
def test_lists_without_a_hypothesis_are_counted(tmp_path: Path, text: str) -> None:
    found = noticed(tmp_path, {"lists": text}, allow_missing=True)
    assert found.passed_over == {"lists without a hypothesis": 1}


REPLACED = {
    "tsv": "id\tam\ttext\nu\t-1\ta\nu\tNA\tb\nu\tNA\tc\n",
    "moses": "0 ||| a ||| am= -1 ||| 0\n0 ||| b ||| am= nan ||| 0\n0 ||| b ||| am= inf ||| 0\n",
    "jsonl": json.dumps(
        {"id": "u", "hyps": [{"text": "a", "scores": {"am": each}} for each in (1, None, None)]}
    ),
    "huggingface": '{"sequences": ["a", "b", "c"], "sequences_scores": [-1, null, null]}',
    "vosk": '{"alternatives": [{"confidence": 1, "text": "a"}, {"text": "b"}, {"text": "c"}]}',
}


@pytest.mark.parametrize("name", REPLACED)
def test_features_that_are_no_number_are_counted_where_they_are_replaced(
    tmp_path: Path, name: str
) -> None:
    found = noticed(tmp_path, {"lists": REPLACED[name]}, on_nan="worst")
    ((filling, n),) = found.filled.items()
    cause = "missing" if name in ("tsv", "vosk") else "no finite number"
    assert (filling.cause, filling.value, n) == (cause, WORST, 2)


@pytest.mark.parametrize(
    "text",
    [
        "u-1 <s> a </s>\nu-2 b\nu-3 </s>\n",
        "id\ttext\tref\nu\t<s> a\tx\nu\tb\tx\nu\ta </s>\tx\n",
        "0 ||| <s> a </s> ||| f= 0 ||| 0\n0 ||| b ||| f= 0 ||| 0\n0 ||| <s> ||| f= 0 ||| 0\n",
        "-1 -1 1 <s> a </s>\n-1 -1 1 b\n-1 -1 0 <s> </s>\n",
        "0 <s> a </s>\n0 b\n0 a </s>\n",
        "0 -1 -1 1 <s> a </s>\n0 -1 -1 1 b\n0 -1 -1 1 a </s>\n",
        "NBestList1.0\n(-1) <s> a </s>\n(-1) b\n(-1) a </s>\n",
        "<s> a </s>\nb b\na </s>\n",
        '{"id": "u", "hyps": [{"text": "<s> a"}, {"text": "b"}, {"text": "</s>"}]}\n',
        '{"alternatives": [{"text": "<s> a"}, {"text": "b"}, {"text": "</s>"}]}\n',
        json.dumps(
            {"utts": {"u": {"output": [{"rec_text": t} for t in ("<s> a", "b", "c </s>")]}}}
        ),
    ],
    ids=[
        *("kaldi", "tsv", "moses", "srilm", "rnnlm", "cued", "nbestlist1", "text"),
        *("jsonl", "vosk", "espnet1"),
    ],
)
def test_hypotheses_that_lose_marks_are_counted(tmp_path: Path, text: str) -> None:
    assert noticed(tmp_path, {"lists": text}).n_marked == 2


def test_scores_of_no_list_are_refused_or_counted(tmp_path: Path) -> None:
    lists, scores = tmp_path / "lists", tmp_path / "scores"
    for folder, names in ((lists, "ab"), (scores, "bc")):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("-1 -2 1 yes\n" if folder is lists else "-3\n")
    (lists / "d").touch()
    (scores / "d").touch()
    source = Source(lists, features={"x": scores}, allow_missing=True)
    with open_lists(source) as (_, found):
        assert [each.hypotheses[0].features["x"] < 0 for each in found] == [False, True]
    assert source.notices.filled == {Filling("x", "missing", ZERO): 1}
    assert source.notices.passed_over == {
        "files of 'x' without a list": 1,
        "lists without a hypothesis": 1,
    }
    (scores / "a").write_text("-3\n")
    expected = r"found 'x' for 1 utterances without a list \(c\); expected a file each; --allow-"
    with (
        pytest.raises(DataError, match=expected),
        open_lists(Source(lists, features={"x": scores})) as (_, found),
    ):
        list(found)


def test_references_without_a_list_are_counted(tmp_path: Path) -> None:
    path, notices = tmp_path / "refs", Notices()
    path.write_text("u1 a\nu2 b\nu3 c\n")
    read_references(path, ["u2", "u3", "u4", "u5"], allow_missing=True, notices=notices)
    assert notices.passed_over == {"references without a list": 1}


def test_words_without_their_marks_are_words_as_others() -> None:
    assert StrippedWords(("a", "b")) == ("a", "b")
    assert {StrippedWords(("a",)), ("a",)} == {("a",)}


def test_what_is_missing_is_the_lowest_of_the_list() -> None:
    found = ({"am": -1.0}, {}, {"am": -3.0, "lm": 2.0}, {"am": -2.0})
    nbest = NbestList("u", tuple(Hypothesis(("a",), each, "f:1") for each in found))
    notices = Notices()
    mended = filled(nbest, ["am", "none"], notices=notices)
    assert [each.features for each in mended.hypotheses] == [
        {"am": -1.0, "none": 0.0, "lm": 2.0},
        {"am": -3.0, "none": 0.0, "lm": 2.0},
        {"am": -3.0, "none": 0.0, "lm": 2.0},
        {"am": -2.0, "none": 0.0, "lm": 2.0},
    ]
    assert notices.to_dict()["filled"] == [
        {"feature": "am", "cause": "missing", "value": WORST, "n_hypotheses": 1},
        {"feature": "none", "cause": "missing", "value": ZERO, "n_hypotheses": 4},
        {"feature": "lm", "cause": "missing", "value": WORST, "n_hypotheses": 3},
    ]


class Compared(float):
    """A number that counts how often it is compared as `min` compares."""

    n = 0

    def __lt__(self, other: float) -> bool:
        Compared.n += 1
        return float(self) < other


@pytest.mark.parametrize("is_missing", [True, False])
def test_the_worst_of_a_list_is_looked_for_once_however_many_get_it(is_missing: bool) -> None:
    found = [{"am": Compared(-1.0), "lm": Compared(-2.0)} for _ in range(30)]
    found += [{"am": -1.0} if is_missing else {"am": -1.0, "lm": math.nan} for _ in range(30)]
    hypotheses = tuple(Hypothesis(("a",), each, "f:1") for each in found)
    Compared.n = 0
    if is_missing:
        hypotheses = filled(NbestList("u", hypotheses), notices=Notices()).hypotheses
    else:
        source = Source("f", on_nan="worst")
        hypotheses = with_finite_features("u", hypotheses, source=source, ragged=False)
    assert [each.features["lm"] for each in hypotheses] == [-2.0] * 60
    assert Compared.n < 2 * len(hypotheses)
