"""Lists as JSON lines, whatever they came as."""

import json
import math
from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError
from charlm.nbest.format import Source
from charlm.nbest.formats import open_lists
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.jsonl_output import write_nbest
from charlm.nbest.scorers import FunctionScorer

FOUND = (
    Hypothesis(("we", "é"), {"am": -2.5, "lm": 1.0}, "f:1"),
    Hypothesis((), {"am": -1.0, "lm": 2.0}, "f:2"),
)
LIST = NbestList("u", FOUND, recording="tape", reference=("we",))


def test_the_best_comes_first_with_its_features_and_scores() -> None:
    item = Rescored(LIST, scores=(-7.0, -8.0), totals=(-1.5, 3.0), order=(1, 0))
    (piece,) = write_nbest([item])
    assert piece.name == ""
    assert json.loads(piece.text) == {
        "id": "u",
        "recording": "tape",
        "hyps": [
            {"text": "", "scores": {"am": -1.0, "lm": 2.0, "charlm": -8.0, "charlm_total": 3.0}},
            {
                "text": "we é",
                "scores": {"am": -2.5, "lm": 1.0, "charlm": -7.0, "charlm_total": -1.5},
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
    assert hyp["scores"] == pytest.approx(expected, abs=1e-6)


def test_the_lines_are_lists_again(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(piece.text for piece in write_nbest([Rescored(LIST)])))
    with open_lists(Source(path)) as found:
        (again,) = found.lists
    assert found.format.name == "jsonl"
    assert [h.words for h in again.hypotheses] == [("we", "é"), ()]
    assert [dict(h.features) for h in again.hypotheses] == [dict(h.features) for h in FOUND]
    assert (again.id, again.recording, again.reference) == ("u", "tape", ("we",))


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(DataError, match="f:1: the score of this hypothesis is -inf; expected"):
        list(write_nbest([Rescored(LIST, scores=(-math.inf, 0.0))]))


@pytest.mark.parametrize("name", ["charlm", "charlm_total"])
def test_what_a_list_has_already_is_not_overwritten(name: str) -> None:
    scored = NbestList("u", (Hypothesis(("a",), {name: -1.0}, "f:1"),))
    with pytest.raises(DataError, match=f"f:1: found a feature '{name}' already; expected none;"):
        list(write_nbest([Rescored(scored, scores=(-2.0,), totals=(-3.0,))]))
