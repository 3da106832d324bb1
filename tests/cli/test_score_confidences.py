"""What `charlm score --write confidences` and `charlm tune` print about confidences."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app

LISTS = "id\tam\ttext\nu\t0\tthe cat\nu\t-0.6931471805599453\tthe hat\nv\t-1\tso\n"


@pytest.fixture(autouse=True)
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lists.tsv").write_text(LISTS)
    Path("refs").write_text("u the hat\nv so\n")


def ask(*arguments: str) -> Result:
    options = ["--weight", "am=1", "--write", "confidences"]
    return CliRunner().invoke(app, ["score", "lists.tsv", *options, *arguments])


def test_the_table_goes_to_stdout_and_what_is_told_to_stderr() -> None:
    result = ask()
    assert result.exit_code == 0
    assert result.stdout == (
        "id\tposition\tword\tconfidence\n"
        "u\t1\tthe\t1.000000\nu\t2\tcat\t0.666667\nv\t1\tso\t1.000000\n"
    )
    assert "note: posteriors are of the totals as they are (scale 1), and may be" in result.stderr


def test_with_references_reliability_is_told() -> None:
    result = ask("--refs", "refs", "--out", "c.tsv", "--posterior-scale", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    *_, header = (n for n, line in enumerate(result.stdout.splitlines()) if "confidence " in line)
    assert [line.split() for line in result.stdout.splitlines()[header:-2]] == [
        ["confidence", "words", "mean", "correct"],
        ["0", "to", "0.3", "0", "-", "-"],
        ["0.3", "to", "0.5", "0", "-", "-"],
        ["0.5", "to", "0.7", "1", "0.6667", "0.0000"],
        ["0.7", "to", "0.9", "0", "-", "-"],
        ["0.9", "to", "0.99", "0", "-", "-"],
        ["0.99", "to", "1", "0", "-", "-"],
        ["1", "2", "1.0000", "1.0000"],
    ]
    # H = 2.7549 bits; log2 of 1/3 is -1.5850, so (2.7549 - 1.5850) / 2.7549.
    assert result.stdout.splitlines()[-2:] == [
        "confidences: 88.89 % on average, where 66.67 % of 3 words are correct; normalised "
        "cross-entropy (NCE) 0.425",
        "hypotheses differ on 1 word: NCE of these alone none (all right, or all wrong)",
    ]


def test_json_holds_the_measures() -> None:
    result = ask("--refs", "refs", "--out", "c.tsv", "--json")
    found = json.loads(result.stdout)["confidences"]
    assert (found["n_words"], found["n_correct"], found["nce_contested"]) == (3, 2, None)
    assert found["nce"] == pytest.approx(0.4247, abs=1e-4)
    assert [each["n_words"] for each in found["bins"]] == [0, 0, 1, 0, 0, 0, 2]


def test_tune_tells_the_scale() -> None:
    Path("refs").write_text("u the cat\nv no\nw the hat\n")
    Path("lists.tsv").write_text(f"{LISTS}w\t-5\tthe hat\nw\t-5.5\tthe cat\n")
    options = ["--refs", "refs", "--out", "w.json", "--folds", "0", "--tuned", "am"]
    result = CliRunner().invoke(app, ["tune", "lists.tsv", *options])
    found = json.loads(Path("w.json").read_text())["sureness"]
    assert found["ceiling"] == 0.6  # 2 of 3, with one of each more
    told = (
        f"posteriors: of totals × {found['scale']:g}; a word that all hypotheses have is right in "
    )
    assert f"\n{told}60.00 % of the cases\n" in f"{result.stdout}\n"
