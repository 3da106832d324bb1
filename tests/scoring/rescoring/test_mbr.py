"""`charlm.score` and `charlm.serve` where expected errors choose."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import CharlmError

LISTS = "id\tam\ttext\n" + "".join(
    f"{utterance}\t{am}\t{text}\n"
    for utterance in ("u", "v")
    for am, text in ((-1, "x y"), (-2, "a c"), (-1.5, "a b"), (-1.75, "d b"))
)


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lists.tsv").write_text(LISTS)
    Path("refs").write_text("u\ta b\nv\ta b\n")


def written(**options: object) -> str:
    pieces: list[str] = []
    charlm.score("lists.tsv", out=pieces.append, **options)
    return "".join(pieces)


def test_the_chosen_is_written_and_measured() -> None:
    assert written(weight="am=1", write="text") == "x y\nx y\n"
    assert written(weight="am=1", mbr="wer", write="text") == "a b\na b\n"
    assert written(mbr="chrf", write="kaldi") == "u a b\nv a b\n"  # all equally likely
    votes = written(mbr="wer", write="confidences").splitlines()[1:3]
    assert votes == ["u\t1\ta\t0.500000", "u\t2\tb\t0.500000"]  # of four
    found = charlm.score("lists.tsv", weight="am=1", mbr="wer", refs="refs")
    assert (found.report.rescored.error, found.report.first.error) == (0.0, 1.0)
    assert (found.counts.n_moved, found.mbr, found.to_dict()["mbr"]) == (2, "wer", "wer")


def test_risks_are_written_beside_totals_and_the_scale_of_posteriors_changes_them() -> None:
    by_scale = []
    for scale in (1.0, 50.0):
        line = written(weight="am=1", mbr="wer", write="nbest", posterior_scale=scale)
        hypotheses = json.loads(line.splitlines()[0])["hyps"]
        risks = [each["scores"]["charlm_risk"] for each in hypotheses]
        assert risks == sorted(risks)
        shares = {each["text"]: each["scores"]["charlm_posterior"] for each in hypotheses}
        own = dict(zip((each["text"] for each in hypotheses), risks, strict=True))
        assert own["x y"] == pytest.approx(2 * (1 - shares["x y"]), abs=1e-8)
        by_scale.append(hypotheses[0]["text"])
    assert by_scale == ["a b", "x y"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mbr": "wer"}, "--mbr wer: --write scored keeps the list's order"),
        ({"mbr": "counted-bleu", "write": "text"}, "counted-bleu"),
        ({"mbr": "wer", "explain": "u", "weight": "am=1"}, "--explain --mbr wer: totals"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(CharlmError, match=message):
        written(**options)


def test_lattices_are_chosen_from_but_not_written(texts: dict[str, str]) -> None:
    Path("lats").write_text(texts["slf"])
    best: list[str] = []
    found = charlm.score("lats", mbr="wer", write="trn", out=best.append)
    assert found.counts.n_lists == len(best) > 0
    Path("truth").write_text("utt-A a\n")
    with pytest.raises(CharlmError, match="a lattice is written for decoders"):
        charlm.score("lats", mbr="wer", refs="truth", out=best.append)


def test_served_lines_are_answered_by_the_chosen(set_stdin: Callable[[bytes], None]) -> None:
    texts = ("x y", "a c", "a b", "d b")
    set_stdin(json.dumps({"id": "u", "hyps": [{"text": text} for text in texts]}).encode())
    answers: list[str] = []
    charlm.serve(mbr="wer", write="jsonl", out=answers.append)
    assert json.loads(answers[0])["text"] == "a b"
    set_stdin(b"")
    with pytest.raises(CharlmError, match="--mbr wer: --write scored"):
        charlm.serve(mbr="wer", out=answers.append)
