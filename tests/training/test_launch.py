"""Processes that `charlm train` starts by itself: which are asked for, and what ends them."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from charlm import runtime
from charlm.errors import ConfigError, DataError, TrainingError
from charlm.run.folder import LOG, MODEL
from charlm.runtime import Place, place_of_process, process_group
from charlm.text.corpus import EncodedText
from charlm.training.following import follow
from charlm.training.launch import asked_devices, launched
from charlm.training.ranks import ALONE, Ranks
from charlm.training.request import Plan, Request, settled
from charlm.training.session import Begun

PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACE:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def test_a_device_for_each_process_that_is_asked_for(two_gpus: None) -> None:
    assert asked_devices(None, None, device="auto") == ["auto"]
    assert asked_devices(None, 3, device="auto") == ["cpu", "cpu", "cpu"]
    assert asked_devices("1,0", None, device="auto") == ["cuda:1", "cuda:0"]
    assert asked_devices("1", None, device="cuda") == ["cuda:1"]


@pytest.mark.parametrize(
    ("gpus", "processes", "device", "message"),
    [
        (
            "0,1",
            2,
            "auto",
            "--gpus 0,1: found --processes 2 beside it; expected one of them; --gpus starts a "
            "process for each GPU, --processes as many on the CPU",
        ),
        (
            "0,x",
            None,
            "auto",
            "--gpus '0,x': expected numbers of GPUs, each once; write --gpus 0,1,2",
        ),
        ("", None, "auto", "--gpus '': expected numbers of GPUs, each once; write --gpus 0,1,2"),
        (
            "1,1",
            None,
            "auto",
            "--gpus '1,1': expected numbers of GPUs, each once; write --gpus 0,1,2",
        ),
        ("0,1", None, "cpu", "--gpus 0,1: found --device cpu beside it; leave one out"),
        (
            "0,2",
            None,
            "auto",
            "--gpus 0,2: this machine shows 2 CUDA devices; expected each number below that; use "
            "--processes 2 to train with that many processes on the CPU",
        ),
        (None, 2, "cuda", "--processes 2: is for the CPU, found --device cuda; use --gpus 0,1"),
        (None, 0, "auto", "--processes 0: expected 1 to 1024"),
        (None, 1025, "auto", "--processes 1025: expected 1 to 1024"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(
    gpus: str | None, processes: int | None, device: str, message: str, two_gpus: None
) -> None:
    with pytest.raises(ConfigError) as caught:
        asked_devices(gpus, processes, device=device)
    assert str(caught.value) == message


def in_place(monkeypatch: pytest.MonkeyPatch, *numbers: str) -> None:
    for name, number in zip(PLACE, numbers, strict=False):
        monkeypatch.setenv(name, number)


def test_torchruns_processes_start_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    in_place(monkeypatch, "1", "4", "1")
    assert place_of_process() == Place(1, 4, 1)
    with pytest.raises(ConfigError) as caught:
        asked_devices(None, 2, device="auto")
    assert str(caught.value) == (
        "--processes 2: torchrun has started the processes already; leave it out"
    )


@pytest.mark.parametrize("numbers", [("2", "2", "0"), ("x", "2", "0"), ("0", "2"), ("0", "0", "0")])
def test_a_place_that_torchrun_does_not_give_is_one_line(
    numbers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place(monkeypatch, *numbers)
    rank, size, local = (*numbers, "None")[:3]
    with pytest.raises(ConfigError) as caught:
        place_of_process()
    assert str(caught.value) == (
        f"environment: found RANK={rank}, WORLD_SIZE={size}, LOCAL_RANK={local}; expected a rank "
        "below the number of processes, as torchrun sets them; unset them to train in one process"
    )


def test_a_process_takes_the_gpu_of_its_place_unless_told_another(two_gpus: None) -> None:
    second = Place(3, 4, 1)
    assert [second.device_name(n) for n in ("auto", "cuda")] == ["cuda:1", "cuda:1"]
    assert [second.device_name(n) for n in ("cpu", "cuda:0")] == ["cpu", "cuda:0"]
    assert [Place().device_name(n) for n in ("auto", "cuda")] == ["auto", "cuda"]


def test_others_that_do_not_come_are_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runtime, "SILENCE", timedelta(seconds=1))
    alone = process_group(Place(0, 2, 0), meeting=tmp_path / "meeting")
    with pytest.raises(TrainingError) as caught, alone:
        raise AssertionError("it is alone")
    assert re.fullmatch(
        r"process 0 of 2: did not find the others \(.+\); expected all to start within 10 minutes; "
        "start them again",
        str(caught.value),
    )


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo noise >&2; echo 'charlm: no room' >&2; exit 1", "no room"),
        ("kill -9 $$", "it was killed by SIGKILL"),
        ("printf 'Traceback:\\n  x\\nValueError: 7\\n' >&2; exit 1", "ValueError: 7"),
    ],
)
def test_a_process_that_does_not_start_is_named_with_its_reason(
    program: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(TrainingError) as caught, launched(["cpu", "cpu"], alone=ALONE):
        raise AssertionError("it is alone")
    assert str(caught.value) == (
        f"process 1 of 2 ended before the training did: {reason}; the last checkpoint is kept; "
        "go on with --resume"
    )


@pytest.mark.parametrize(("n_processes", "threads"), [(1, 6), (2, 3), (4, 1), (9, 1)])
def test_processes_of_one_machine_share_its_cores(
    n_processes: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_threads = [6]
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", n_threads.append)
    request = Request(
        data=tmp_path,
        arch=None,
        out=tmp_path / "run",
        vocab=None,
        max_tokens=0,
        resume=False,
        changes={},
        seed=None,
        threads=None,
        device="cpu",
        precision="fp32",
        n_processes=n_processes,
    )
    assert settled(request).threads == threads


def test_a_machine_that_does_not_see_the_run_is_one_line(tmp_path: Path) -> None:
    plan = Plan(
        data=tmp_path,
        folder=tmp_path / "run",
        arch="char-small",
        settings={},
        vocab=None,
        max_tokens=0,
        seed=1,
        threads=1,
        device=torch.device("cpu"),
        precision="fp32",
        stored=None,
    )
    text = EncodedText(np.empty(0, np.int32), (), 1, "")

    class Elsewhere(Ranks):
        def from_first(self, make: Callable[[], Any]) -> Any:
            return Begun(plan, {"train": text}, is_resumed=False)

    with pytest.raises(DataError) as caught:
        follow(Elsewhere(1, 2), device="cpu")
    assert str(caught.value) == (
        f"{tmp_path / 'run' / 'encoded' / 'train.ids'}: process 1 of 2 does not see it; expected "
        "the run directory that the first process writes; give an --out that all machines share"
    )


EPOCHS = 3


def start(corpus: Path, run: Path, *options: str, tiny: Sequence[str]) -> "subprocess.Popen[str]":
    sets = [word for override in tiny for word in ("--set", override)]
    fixed = ["--batch-size", "2", "--bptt", "3", "--epochs", str(EPOCHS), "--precision", "fp32"]
    return subprocess.Popen(
        [sys.executable, "-m", "charlm", "train", "--data", str(corpus), "--out", str(run)]
        + ["--threads", "1", "--processes", "2", *fixed, *sets, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"},
    )


def started_by(process: int) -> list[int]:
    """The processes that a process has started, as Linux tells them."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(number) for number in text.split()]


def n_epochs(run: Path) -> int:
    return len((run / LOG).read_text().splitlines()) if (run / LOG).exists() else 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc who was started")
def test_a_killed_process_ends_the_run_with_one_line_and_it_goes_on(
    toy_corpus: Path, tiny: Sequence[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    first = start(toy_corpus, run, tiny=tiny)
    limit = time.monotonic() + 90
    while not (run / MODEL).exists():  # an epoch is done
        assert first.poll() is None, first.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.002)
    (other,) = started_by(first.pid)
    os.kill(other, signal.SIGKILL)
    printed, errors = first.communicate(timeout=60)
    assert (first.returncode, printed) == (1, "")
    assert [line for line in errors.splitlines() if line.startswith("charlm: ")] == [
        "charlm: process 1 of 2 ended before the training did: it was killed by SIGKILL; the last "
        "checkpoint is kept; go on with --resume"
    ]
    assert "Traceback" not in errors
    assert 1 <= n_epochs(run) < EPOCHS
    second = start(toy_corpus, run, "--resume", "--json", tiny=tiny)
    printed, errors = second.communicate(timeout=90)
    assert second.returncode == 0, errors
    assert json.loads(printed)["epochs"] == n_epochs(run) == EPOCHS
