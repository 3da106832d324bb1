"""What `charlm score --write confidences` prints."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app

LISTS = "id\tam\ttext\nu\t0\tthe cat\nu\t-0.6931471805599453\tthe hat\nv\t-1\tso\n"


@pytest.fixture(autouse=True)
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lists.tsv").write_text(LISTS)


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
    assert "NOTE: posteriors are of the totals as they are (scale 1), and may be" in result.stderr
