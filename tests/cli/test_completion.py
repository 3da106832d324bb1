"""What the shell offers at TAB."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from charlm.cli import app


def offered(line: str) -> list[str]:
    """What bash is told at the end of an unfinished line."""
    asked = {
        "_CHARLM_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
        "COLUMNS": "80",
    }
    result = CliRunner().invoke(app, [], env=asked, prog_name="charlm")
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("charlm compa", ["compare-kn"]),
        ("charlm train --data corpus --epo", ["--epochs"]),
        ("charlm eval --precision ", ["auto", "fp32", "bf16"]),
        ("charlm train --arch char-mod", ["char-modern"]),
        ("charlm bench train --arch char-mod", ["char-modern"]),
        # What a finished line would be refused for: an option twice, an unknown preset, no path.
        ("charlm train --data a --data b --epo", ["--epochs"]),
        ("charlm train --arch chr-small --epo", ["--epochs"]),
        ("charlm score --out= --epo", []),
    ],
)
def test_a_line_is_completed(line: str, names: list[str]) -> None:
    assert offered(line) == names


@pytest.mark.parametrize("line", ["charlm ", "charlm bench ", "charlm train --"])
def test_fish_is_offered_a_name_with_its_help_a_line(line: str) -> None:
    asked = {
        "_CHARLM_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "COLUMNS": "80",
    }
    shown = CliRunner().invoke(app, [], env=asked, prog_name="charlm").stdout.splitlines()
    assert len(shown) > 5
    assert all("\t" in each for each in shown)


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_the_module_is_completed_as_the_program(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: "bash")
    result = CliRunner().invoke(app, [option], prog_name="python -m charlm")
    assert (result.exit_code, result.stderr) == (0, "")
    installed = [path.read_text() for path in tmp_path.glob(".bash_completions/*")]
    (script,) = installed or [result.stdout]
    assert script.rstrip().endswith("complete -o default -F _charlm_completion charlm")
    assert "\n                   _CHARLM_COMPLETE=complete_bash $1" in script
