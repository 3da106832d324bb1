"""`charlm eval`, `score`, `tune` and `serve` as one of several processes: one of them talks."""

from typing import Any

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.errors import DataError, ProcessError
from charlm.runtime import LOST
from charlm.scoring.evaluation import evaluate
from charlm.scoring.rescoring import score, serve, tune

COMMANDS = {
    "eval": ["eval", "--model", "run", "--data", "corpus", "--json"],
    "score": ["score", "lists", "--model", "run", "--write", "none"],
    "tune": ["tune", "lists", "--refs", "refs", "--model", "run"],
    "serve": ["serve", "--model", "run"],
}


def run_as(
    rank: int, command: list[str], outcome: Exception, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    def do(*_: object, **__: object) -> Any:
        raise outcome

    for name, number in (("RANK", rank), ("WORLD_SIZE", 2), ("LOCAL_RANK", rank)):
        monkeypatch.setenv(name, str(number))
    monkeypatch.setattr(evaluate, "evaluate", do)
    for module, name in ((score, "score"), (tune, "tune"), (serve, "serve")):
        monkeypatch.setattr(module, name, do)
    monkeypatch.setattr("charlm.run.which.which_run", lambda model: model)
    done = CliRunner().invoke(app, command)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_process_alone_tells_what_ends_all(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = ProcessError("process 1 of 2 ended")
    told = (1, "", "charlm: process 1 of 2 ended\n")
    assert run_as(0, COMMANDS[command], ended, monkeypatch) == told
    assert run_as(1, COMMANDS[command], ended, monkeypatch) == (LOST, "", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_another_process_tells_what_only_it_runs_into(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run_as(1, COMMANDS[command], DataError("no run here"), monkeypatch)
    assert told == (1, "", "charlm: no run here\n")


@pytest.mark.parametrize(
    ("options", "is_told"),
    [
        (["--state", "carried", "--processes", "2"], True),
        (["--state", "carried", "--gpus", "0,1"], True),
        (["--state", "carried", "--processes", "1"], False),
        (["--state", "carried", "--gpus", "0"], False),
        (["--processes", "2"], False),
    ],
)
def test_a_stream_that_is_not_divided_is_noted(
    options: list[str], is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "evaluate", lambda *_, **__: ())
    monkeypatch.setattr("charlm.run.which.which_run", lambda model: model)
    done = CliRunner().invoke(app, [*COMMANDS["eval"], *options])
    note = "note: one stream is read by one process; --state sentence is divided\n"
    assert (done.exit_code, done.stderr) == (0, note if is_told else "")


@pytest.mark.parametrize("rank", [0, 1])
def test_results_are_the_first_ones(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("RANK", rank), ("WORLD_SIZE", 2), ("LOCAL_RANK", rank)):
        monkeypatch.setenv(name, str(number))
    monkeypatch.setattr(evaluate, "evaluate", lambda *_, **__: ())
    monkeypatch.setattr("charlm.run.which.which_run", lambda model: model)
    done = CliRunner().invoke(app, COMMANDS["eval"])
    assert (done.exit_code, done.stdout != "") == (0, rank == 0)
