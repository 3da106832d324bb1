"""Questions about two hypotheses of a list."""

from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.scoring.rescoring.explain_request import Why

LISTS = "x\t-1\ta b\nx\t-2\ta c\nx\t-9\td\nx:1,2\t-1\ta\ny\t-1\th\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.tsv"
    path.write_text(LISTS)
    return path


@pytest.mark.parametrize(
    ("weight", "question", "ranks"),
    [
        ("c2=1", "x", (1, 2)),  # the first is the best: against the next best
        ("c2=-1", "x", (3, 1)),  # the best against the first
        ("c2=1", "x:3,2", (2, 3)),
        ("c2=1", "x: 3, 1", (1, 3)),
    ],
)
def test_the_better_of_two_is_explained(
    run: Path, lists: Path, weight: str, question: str, ranks: tuple[int, int]
) -> None:
    found = charlm.score(lists, model=run, weight=[weight, "nn=0"], explain=question).explanation
    assert found is not None
    assert (found.id, found.winner_rank, found.other_rank) == ("x", *ranks)
    assert found.difference > 0


@pytest.mark.parametrize(("first", "ranks"), [("-1", (1, 3)), ("-9", (2, 3))])
def test_a_text_is_not_compared_with_itself(
    run: Path, tmp_path: Path, first: str, ranks: tuple[int, int]
) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text(f"x\t{first}\ta b\nx\t-2\ta b\nx\t-3\ta c\n")
    found = charlm.score(path, model=run, weight=["c2=1", "nn=0"], explain="x").explanation
    assert found is not None
    assert (found.winner_rank, found.other_rank) == ranks


def test_words_and_features_add_up_to_the_difference(run: Path, lists: Path) -> None:
    pieces: list[str] = []
    options = {"model": run, "weight": ["c2=2", "nn=.5"]}
    charlm.score(lists, write="nbest", out=pieces.append, **options)
    import json
    import math

    hyps = {h["text"]: h["scores"] for h in json.loads(pieces[0])["hyps"]}
    found = charlm.score(lists, explain="x:1,2", **options).explanation
    assert found is not None
    apart = abs(hyps["a b"]["charlm_total"] - hyps["a c"]["charlm_total"]) / math.log(10)
    assert found.difference == pytest.approx(apart, abs=1e-5)
    assert found.words[-1].so_far == pytest.approx(apart, abs=1e-5)


@pytest.mark.parametrize("question", ["", ":1,2"])
def test_a_question_names_a_list(question: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Why(question, names=("nn",))
    assert str(caught.value) == (f"--explain {question!r}: expected UTT or UTT:A,B, as utt1:1,2")


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ("x:1,²", DataError, "--explain: found no list 'x:1,²'; expected the id of one"),
        ("z", DataError, "--explain: found no list 'z'; expected the id of one"),
        ("y", ConfigError, "--explain: list 'y' has one hypothesis; expected two to compare"),
        ("x:1,4", ConfigError, "list 'x': no hypothesis 4; expected 1 to 3"),
        ("x:0,1", ConfigError, "list 'x': no hypothesis 0; expected 1 to 3"),
        ("x:2,2", ConfigError, "list 'x': hypothesis 2 twice; expected two of them"),
    ],
)
def test_what_cannot_be_explained_is_one_line(
    run: Path, lists: Path, question: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        charlm.score(lists, model=run, explain=question)
    assert str(caught.value) == message


def test_an_id_may_hold_colons(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("a:1\tb\na:1\tc\n")
    found = charlm.score(path, model=run, explain="a:1").explanation
    assert found is not None
    assert found.id == "a:1"


def test_lattices_are_explained_as_lists(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lattices"
    path.write_text("utt\n0\t1\ta\t1,10\n0\t1\tb\t1,10\n1\n\n")
    with pytest.raises(ConfigError) as caught:
        charlm.score(path, model=run, explain="utt")
    assert str(caught.value) == (
        "--explain: found a lattice; expected a list; write one with --write nbest"
    )
