"""Failures that only the operating system can cause: full disks, limits and terminals."""

import errno
import os
import pty
import re
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.run.history import WARNING, history_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def world(
    corpus_dir: Path, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A working folder with a corpus and a run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(corpus_dir, "corpus")
    shutil.copytree(tiny_run, "run")


@pytest.mark.parametrize(
    "command",
    [
        "train --arch char-small --data corpus --out new --epochs 1 --set context.dim=4",
        "vocab --data corpus --out v.json",
        "prep corpus/train.txt --out new",
    ],
)
def test_a_full_disk_is_one_line_that_names_the_file(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 1
    assert re.fullmatch(r"charlm: (new/\S+|v\.json): no space left on device\n", result.stderr)
    assert not list(Path().rglob("*.partial"))


def charlm(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """The program itself, in a process of its own.

    It keeps nothing that Python compiles: cut off at a limit, that would end every later start.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "charlm", *arguments],
        check=False,
        **{"stderr": subprocess.PIPE, "text": True, "env": environment, **options},
    )


def test_a_file_that_cannot_grow_stops_a_real_training_with_one_line() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = charlm(
        "train", "--arch", "char-small", "--data", "corpus", "--out", "new", preexec_fn=limit
    )
    assert (done.returncode, done.stdout) == (1, None)
    assert re.fullmatch(r"charlm: new/\S+: file too large\n", done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_training_outlives_a_full_disk_behind_its_log_and_the_reader_of_its_result() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    chosen = ["--arch", "char-small", "--data", "corpus", "--out", "new"]
    chosen += ["--epochs", "1", "--set", "context.dim=4"]
    with open("/dev/full", "w") as full:
        done = charlm("train", *chosen, stdout=writer, stderr=full)
    os.close(writer)
    assert done.returncode == 0
    (record,) = history_of(Path("new"))
    assert record[WARNING] == (
        "standard error: no space left on device; what was to be said after is lost"
    )


def test_a_word_with_terminal_escapes_is_harmless_in_a_terminal() -> None:
    terminal, inside = pty.openpty()
    word = "\x1b[31mx\x07"
    done = charlm("nn", word, "--model", "run", stdout=inside, stderr=inside)
    os.close(inside)
    shown = b""
    while piece := read_terminal(terminal):
        shown += piece
    os.close(terminal)
    assert done.returncode == 0
    assert rb"\x1b[31mx\x07*" in shown
    assert b"\x1b" not in shown
    assert b"\x07" not in shown


def read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux reports a closed other end in this way
        return b""
