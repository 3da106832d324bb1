"""`charlm serve`, as seen by a program at the other end of two pipes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from charlm.cli import app

LINE = '{"id": "u", "hyps": [{"text": "the cat", "am": -2}, {"text": "a dog", "am": -1}]}\n'


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "charlm", "serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
    )


def test_it_answers_at_once_goes_on_after_an_error_and_ends_by_ctrl_c(at_home: Path) -> None:
    process = start("--model", "exp/first")
    assert process.stdin is not None
    assert process.stdout is not None
    for line, key in (('{"id": "u", "text": "the cat"}', "charlm"), ("[", "error")):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        assert key in json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (130, "charlm: interrupted\n")


def test_answers_go_to_stdout_and_what_is_told_to_stderr(at_home: Path) -> None:
    answers, told = start("--weight", "am=1", "--sort").communicate(f"{LINE}{{\n", timeout=300)
    answer, error = map(json.loads, answers.splitlines())
    assert [each["text"] for each in answer["hyps"]] == ["a dog", "the cat"]
    assert list(error) == ["error"]
    assert told.splitlines()[0] == "lines answered by an error: 1"
    assert told.splitlines()[1].startswith("lists: 1, 2 hypotheses, 4 words; format jsonl; ")


def test_its_answers_are_json_already_and_none_is_offered() -> None:
    assert "--json" not in CliRunner().invoke(app, ["serve", "--help"]).stdout
    done = CliRunner().invoke(app, ["serve", "--model", "run", "--json"])
    assert (done.exit_code, done.stdout) == (2, "")
