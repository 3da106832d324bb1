"""The whole output of `charlm combine`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app

TABLE = """\
system   share  lists  hypotheses
a.jsonl  0.750      3           4
b.trn    0.250      2           2
combined: 3 lists, 5 hypotheses; in 2 all systems have the same best one
missing: 1 list in some of the files
"""
NOTE = (
    "note: b.trn: lists without posteriors, whose hypotheses are taken as equally likely; `charlm "
    "score … --write nbest` with weights gives them some\n"
)
SHARES = ("--shares", "0.75,0.25", "--allow-missing")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lists = {"s-1": {"x": 0.6, "y": 0.4}, "s-2": {"z": 1.0}, "v": {"z": 1.0}}
    hyps = {
        id: [{"text": t, "scores": {"charlm_posterior": p}} for t, p in texts.items()]
        for id, texts in lists.items()
    }
    lines = (json.dumps({"id": id, "hyps": each}) + "\n" for id, each in hyps.items())
    Path("a.jsonl").write_text("".join(lines))
    Path("b.trn").write_text("w (s-1)\nz (s-2)\n")


def run_combine(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["combine", "a.jsonl", "b.trn", *arguments])


def test_lists_go_to_standard_output_and_what_is_told_to_standard_error() -> None:
    result = run_combine(*SHARES)
    lists = [json.loads(line) for line in result.stdout.splitlines()]
    assert [[h["text"] for h in each["hyps"]] for each in lists] == [["x", "y", "w"], ["z"], ["z"]]
    assert (result.exit_code, result.stderr) == (0, TABLE + NOTE)


def test_lists_in_a_file_leave_standard_output_to_people_or_to_json() -> None:
    result = run_combine(*SHARES, "--out", "both.jsonl")
    assert (result.exit_code, result.stdout, result.stderr) == (0, TABLE, NOTE)
    result = run_combine(*SHARES, "--out", "both.jsonl", "--json")
    value = json.loads(result.stdout)
    assert (value["n_lists"], value["systems"][1]["has_posteriors"]) == (3, False)
    assert run_combine(*SHARES, "--json").exit_code == 2
