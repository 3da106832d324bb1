"""The shell scripts as text: the bash they need, what they pin, which options they use."""

import ast
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from charlm.cli import app

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted([*(ROOT / "recipes").rglob("*.sh"), ROOT / ".ci" / "run"])
SOURCED = {"setup.sh", "fetch.sh", "chain.sh", "help.sh"}  # sourced by other scripts, never started
HELPED = [  # test.sh hands its arguments to pytest; Kaldi's scripts give their usage otherwise
    path
    for path in SCRIPTS
    if path.name not in {*SOURCED, "test.sh", "rnnlm_compute_scores.sh", "run"}
]
BASH = shutil.which("bash") or "bash"


def script_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SCRIPTS, ids=script_name)
def test_a_script_is_valid_bash(path: Path) -> None:
    done = subprocess.run([BASH, "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", SCRIPTS, ids=script_name)
@pytest.mark.parametrize(
    "newer",
    [
        r"\b(declare|local) -[a-zA-Z]*[Ang]",
        r"\b(mapfile|readarray|coproc)\b",
        r"\$\{\w+(\[[^]]*\])?(,|\^)",
        r"\$\{\w+@",
        r"&>>|\|&|;;?&",
        r"\bwait -n\b|\bBASHPID\b|\bEPOCH",
        r"^\s*shopt -s (globstar|lastpipe)",
    ],
)
def test_a_script_needs_no_bash_newer_than_macos_has(path: Path, newer: str) -> None:
    assert re.findall(newer, path.read_text(), re.MULTILINE) == []


def test_the_scripts_that_are_started_can_be_started() -> None:
    started = [path for path in SCRIPTS if path.name not in SOURCED]
    assert all(os.stat(path).st_mode & stat.S_IXUSR for path in started)


@pytest.mark.parametrize("asked", ["--help", "-h"])
@pytest.mark.parametrize("path", HELPED, ids=script_name)
def test_a_script_that_is_asked_for_help_tells_its_head_and_makes_nothing(
    path: Path, asked: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [BASH, path, asked], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    head = path.read_text().partition("\nset -euo")[0].splitlines()[1:]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [line.removeprefix("#").removeprefix(" ") for line in head]
    assert f"  bash {script_name(path)}" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", [[], ["--help"]])
@pytest.mark.parametrize(
    "name",
    ["portable/score.py", "portable/compare.py", "portable/speed.py"]
    + ["rescoring/noisy.py", "reading-times/stories.py"],
)
def test_a_script_of_python_that_is_not_told_what_to_read_tells_its_head(
    name: str, asked: list[str]
) -> None:
    path = ROOT / "recipes" / name
    done = subprocess.run(
        [sys.executable, path, *asked],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == (ast.get_docstring(ast.parse(path.read_text())) or "").strip()
    assert path.name in done.stderr


def direct_requirements(text: str) -> set[str]:
    return set(re.findall(r'^ +"([a-z-]+)>=', text, re.MULTILINE))


def test_every_direct_requirement_is_pinned_and_nothing_else() -> None:
    lines = (ROOT / "recipes" / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in lines if not line.startswith("#")}
    assert pinned == direct_requirements((ROOT / "pyproject.toml").read_text())


def charlm_calls(text: str) -> list[str]:
    """The calls of charlm in a script, each on one line."""
    return re.findall(r"^ *(?:run |keep \S+ )?charlm (.*)$", text.replace("\\\n", " "), re.M)


CALLS = {script_name(path): charlm_calls(path.read_text()) for path in SCRIPTS}


def test_the_calls_of_scripts_are_found() -> None:
    calling = {name for name, calls in CALLS.items() if calls}
    assert {"recipes/chain.sh", "recipes/rescoring/table.sh"} < calling


@pytest.mark.parametrize("script", [name for name, calls in CALLS.items() if calls])
def test_a_recipe_uses_only_options_that_exist(script: str) -> None:
    group = get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for call in CALLS[script]:
        name = call.split()[0]
        known = {spelling for option in group.commands[name].params for spelling in option.opts}
        assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", call)) <= known


def test_lists_or_references_that_are_missing_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text("u\ta\n")
    script = ROOT / "recipes" / "rescoring" / "run.sh"
    done = subprocess.run(
        [BASH, script, "lists", "refs"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "rescoring: refs: no such file; expected lines of an id, a TAB and more\n"
    )
