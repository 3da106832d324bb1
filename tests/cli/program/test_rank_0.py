"""Commands in one of several processes: only the first process prints."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.errors import DataError, ProcessError
from charlm.runtime import LOST
from charlm.scoring.evaluation import evaluate
from charlm.scoring.rescoring import score, serve, tune
from charlm.training import train
from charlm.training.train import TrainResult

COMMANDS = {
    "train": ["train", "--data", "corpus"],
    "eval": ["eval", "--model", "run", "--data", "corpus", "--json"],
    "score": ["score", "lists", "--model", "run", "--write", "none"],
    "tune": ["tune", "lists", "--refs", "refs", "--model", "run"],
    "serve": ["serve", "--model", "run"],
}


RESULTS = {
    "train": TrainResult("run", True, 2, 0, 1, 91.5, 7.0, 10),
    "eval": (),
}


def run_as(
    rank: int, command: list[str], outcome: object, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    def do(*_: object, **__: object) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    for name, number in (("RANK", rank), ("WORLD_SIZE", 2), ("LOCAL_RANK", rank)):
        monkeypatch.setenv(name, str(number))
    for module in (train, evaluate, score, tune, serve):
        monkeypatch.setattr(module, module.__name__.rpartition(".")[2], do)
    monkeypatch.setattr("charlm.run.which.which_run", lambda model, **_: model)
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
    monkeypatch.setattr("charlm.run.which.which_run", lambda model, **_: model)
    done = CliRunner().invoke(app, [*COMMANDS["eval"], *options])
    note = "note: one stream is read by one process; --state sentence is divided\n"
    assert (done.exit_code, done.stderr) == (0, note if is_told else "")


@pytest.mark.parametrize("command", RESULTS)
@pytest.mark.parametrize("rank", [0, 1])
def test_results_are_the_first_ones(
    rank: int, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, errors = run_as(rank, COMMANDS[command], RESULTS[command], monkeypatch)
    assert (status, out != "", errors) == (0, rank == 0, "")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--processes", "3", "--batch-size", "64"],
            "option 'batch_size' of recipe is 64 for 3 processes; expected a multiple, so that all "
            "have the same share; use --batch-size 63 or 66",
        ),
        (
            ["--gpus", "0,1000"],
            "--gpus 0,1000: this machine shows no CUDA device; use --processes 2 for as many "
            "processes on the CPU, or install a torch built for CUDA",
        ),
    ],
)
def test_shares_and_gpus_that_cannot_be_are_told_before_anything_is_written(
    options: list[str], line: str, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    out = tmp_path / "run"
    done = CliRunner().invoke(
        app, ["train", "--data", str(corpus_dir), "--out", str(out), *options]
    )
    assert (done.exit_code, done.stderr) == (1, f"charlm: {line}\n")
    assert not out.exists()
