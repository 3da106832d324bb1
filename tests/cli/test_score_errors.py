"""What `charlm score --write errors` prints."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app


@pytest.fixture(autouse=True)
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lists.tsv").write_text(
        'id\tam\ttext\nb-1\t-1\tso\nb-1\t0\tno\na-1\t0\ta "b"\na-2\t0\tc\n'
    )
    Path("refs").write_text("b-1 no\na-1 a b\na-2 c\n")


def ask(*arguments: str) -> Result:
    options = ["--refs", "refs", "--weight", "am=1", "--write", "errors"]
    return CliRunner().invoke(app, ["score", "lists.tsv", *options, *arguments])


def test_the_table_goes_to_stdout_and_the_rates_of_recordings_to_stderr() -> None:
    result = ask()
    assert (result.exit_code, result.stdout) == (
        0,
        "id\trecording\ttokens\tcorrect\tsub\tdel\tins\tref\thyp\n"
        "b-1\tb\t1\t1\t0\t0\t0\tno\tno\n"
        'a-1\ta\t2\t1\t1\t0\t0\ta b\t"a ""b"""\n'
        "a-2\ta\t1\t1\t0\t0\t0\tc\tc\n",
    )
    *_, header, first, second, metric = result.stderr.splitlines()
    assert metric.startswith("metric: wer|")
    assert [line.split() for line in (header, first, second)] == [
        ["recording", "lists", "of", "first-best", "rescored"],
        ["a", "2", "3", "33.33", "%", "33.33", "%"],
        ["b", "1", "1", "100.00", "%", "0.00", "%"],
    ]


def test_json_has_the_rates_of_recordings() -> None:
    result = ask("--out", "errors.tsv", "--json")
    found = json.loads(result.stdout)["report"]["recordings"]
    assert list(found) == ["a", "b"]
    assert found["b"]["first"]["error"] == 1.0
    assert found["b"]["rescored"]["error"] == 0.0
    assert Path("errors.tsv").read_text().count("\n") == 4
