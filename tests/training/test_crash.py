"""A training killed at any system call of any write resumes to the same bits.

The failures are simulated in this process, one call after another; two processes are also killed.
"""

import errno
import io
import itertools
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from charlm.run.folder import LOG, MODEL, load_info
from charlm.run.stored_weights import load_run
from charlm.text.io import atomic
from charlm.text.io.files import sha256_of
from charlm.training import session

ASKED = {"bptt": 23}  # two steps an epoch


class Disk:
    """Tells each system call of writing to `told`, by number and name, before it is made.

    Half of what is to be written is there by then. An OSError that `told` raises is that call's.
    """

    def __init__(self, told: Callable[[int, str], None]) -> None:
        self.told = told
        self.n_calls = 0

    def call(self, name: str) -> None:
        self.n_calls += 1
        self.told(self.n_calls, name)

    @contextmanager
    def installed(self) -> Any:
        disk, real = self, {name: getattr(os, name) for name in ("fsync", "replace")}

        class File(io.FileIO):
            def write(self, data: Any, /) -> int:
                content = bytes(data)
                n_written = super().write(content[: len(content) // 2])
                disk.call("write")
                return n_written + super().write(content[n_written:])

        def opened(path: Path, mode: str = "r", **_: object) -> Any:
            return io.BufferedWriter(File(path, "x")) if mode == "xb" else open(path, mode)

        def fsync(descriptor: int) -> None:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            disk.call("fsync of the folder" if is_folder else "fsync")
            real["fsync"](descriptor)

        def replace(source: Path, target: Path) -> None:
            disk.call("replace")
            real["replace"](source, target)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(atomic, "open", opened, raising=False)
            patch.setattr(os, "fsync", fsync)
            patch.setattr(os, "replace", replace)
            yield


@pytest.fixture
def go_on(
    train_toy: Callable[..., object],
    bits: Callable[[Path], dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str, str], None]:
    """Resumes what a dead training left, once if several left the same, and compares the end.

    The clock stands still, so that the same bytes are left by the same steps.
    """
    monkeypatch.setattr(session, "CHECKPOINT_SECONDS", -1.0)  # a checkpoint after every step
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    train_toy("whole", **ASKED)
    whole, names = bits(tmp_path / "whole"), names_in(tmp_path / "whole")
    known: list[dict[str, bytes]] = []

    def resumed(name: str, where: str) -> None:
        run = tmp_path / name
        left = {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file()}
        if left in known:
            return
        known.append(left)
        if (run / MODEL).exists():
            load_run(run)  # whatever is there is complete
        train_toy(name, **ASKED, resume=True)
        assert bits(run) == whole, where
        assert names_in(run) == names, where
        assert load_info(run).weights_sha256 == sha256_of(run / MODEL), where
        assert card(run) == card(tmp_path / "whole"), where

    return resumed


def test_a_training_killed_at_any_system_call_goes_on_to_the_same_bits(
    go_on: Callable[[str, str], None], train_toy: Callable[..., object], tmp_path: Path
) -> None:
    """As after `kill -9`, what is there at a call is all that is left."""
    seen: list[str] = []

    def copied(number: int, name: str) -> None:
        seen.append(name)
        shutil.copytree(tmp_path / "run", tmp_path / f"died-{number}")

    with Disk(copied).installed():
        train_toy(**ASKED)
    for number, name in enumerate(seen, 1):
        go_on(f"died-{number}", f"{name}, call {number}")
    assert_calls(seen)


def test_a_training_whose_disk_is_full_at_any_system_call_goes_on_to_the_same_bits(
    go_on: Callable[[str, str], None], train_toy: Callable[..., object], tmp_path: Path
) -> None:
    seen: list[str] = []
    for fatal in itertools.count(1):

        def fails(number: int, name: str, fatal: int = fatal) -> None:
            if number == fatal:
                seen.append(name)
            if number == fatal or (number > fatal and name == "write"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        try:
            with Disk(fails).installed():
                train_toy(f"died-{fatal}", **ASKED)
            break
        except OSError as error:
            assert str(tmp_path / f"died-{fatal}") in str(error)
        go_on(f"died-{fatal}", f"{seen[-1]}, call {fatal}")
    assert_calls(seen)


def assert_calls(seen: list[str]) -> None:
    """Four calls for each of 22 writes: run.json, vocab.json, four of encoded text.

    Each epoch also writes two checkpoints within it, log, checkpoint, curve and card, and if it is
    the best, the weights and run.json, which has their hash.
    """
    assert set(seen) == {"write", "fsync", "replace", "fsync of the folder"}
    assert 4 * 20 <= len(seen) <= 4 * 22


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def card(folder: Path) -> list[str]:
    lines = (folder / "card.md").read_text().splitlines()
    return [line for line in lines if not line.startswith(("| time", "| command"))]


EPOCHS = 3
LONG = [  # with epochs of half a second
    *("--epochs", str(EPOCHS), "--batch-size", "2", "--bptt", "1"),
    *("--precision", "fp32", "--device", "cpu"),
]


def kill_when(
    process: "subprocess.Popen[str]", happened: Callable[[], bool], *, after: float = 0.0
) -> None:
    limit = time.monotonic() + 300
    while not happened():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.002)
    time.sleep(after)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def n_logged(run: Path) -> int:
    return len((run / LOG).read_text().splitlines()) if (run / LOG).exists() else 0


def test_two_real_kills_within_an_epoch_and_at_its_end_leave_the_same_bits(
    start_training: Callable[..., "subprocess.Popen[str]"],
    train_toy: Callable[..., object],
    bits: Callable[[Path], dict[str, object]],
    tmp_path: Path,
) -> None:
    run = tmp_path / "killed"
    long = {"epochs": EPOCHS, "batch_size": 2, "bptt": 1}
    train_toy("whole", **long)
    first = start_training(run, *LONG)
    kill_when(first, (run / "card.md").exists, after=0.05)  # in the second epoch
    n_before = n_logged(run)
    second = start_training(run, *LONG, "--resume")
    kill_when(second, lambda: n_logged(run) > n_before)  # the checkpoint comes next
    train_toy("killed", **long, resume=True)
    assert bits(run) == bits(tmp_path / "whole")
    assert names_in(run) == names_in(tmp_path / "whole")
