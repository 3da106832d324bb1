"""`charlm train` as one of several processes: one of them talks."""

from typing import Any

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.errors import DataError, TrainingError
from charlm.runtime import LOST
from charlm.training import train as module
from charlm.training.train import TrainResult
from charlm.training.train_options import TrainOptions

RESULT = TrainResult("run", True, 2, 0, 1, 91.5, 7.0, 10)
COMMAND = ["train", "--data", "corpus"]


def run_as(
    rank: int, outcome: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    def train(_: TrainOptions) -> TrainResult:
        if outcome:
            raise outcome
        return RESULT

    for name, number in (("RANK", rank), ("WORLD_SIZE", 2), ("LOCAL_RANK", rank)):
        monkeypatch.setenv(name, str(number))
    monkeypatch.setattr(module, "train", train)
    done = CliRunner().invoke(app, COMMAND)
    return done.exit_code, done.stdout, done.stderr


def test_the_first_process_alone_tells_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "run: finished after 2 epochs, 7 s\nbest valid ppl 91.50 (epoch 1)\n"
    assert run_as(0, None, monkeypatch) == (0, told, "")
    assert run_as(1, None, monkeypatch) == (0, "", "")


def test_the_first_process_alone_tells_what_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = TrainingError("the loss became nan")
    assert run_as(0, ended, monkeypatch) == (1, "", "charlm: the loss became nan\n")
    assert run_as(1, ended, monkeypatch) == (LOST, "", "")


def test_another_process_tells_what_only_it_runs_into(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_as(1, DataError("no run here"), monkeypatch) == (1, "", "charlm: no run here\n")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--processes", "3"],
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
    options: list[str], line: str, corpus_dir: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    out = tmp_path / "run"
    done = CliRunner().invoke(
        app, ["train", "--data", str(corpus_dir), "--out", str(out), *options]
    )
    assert (done.exit_code, done.stderr) == (1, f"charlm: {line}\n")
    assert not out.exists()
