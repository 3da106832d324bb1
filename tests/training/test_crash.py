"""A training killed at any system call of any write resumes to the same bits.

The failures are simulated in this process, one call after another; two processes are also killed.
"""

import errno
import io
import itertools
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from charlm.run.folder import LOG, MODEL, load_info
from charlm.run.stored_weights import load_run
from charlm.text.io import atomic
from charlm.text.io.files import sha256_of
from charlm.training import session

Mode = Literal["full", "killed"]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Killed(BaseException):
    """As `kill -9`: nothing after it reaches the disk."""


class Disk:
    """Counts the system calls of writing; the one with number `fatal` fails.

    `full`: that call and every later write fail. `killed`: the program ends there, and half-written
    files stay behind.
    """

    def __init__(self, mode: Mode, fatal: int) -> None:
        self.mode, self.fatal = mode, fatal
        self.n_calls = 0
        self.failed_in = ""

    @property
    def is_dead(self) -> bool:
        return self.mode == "killed" and bool(self.failed_in)

    def call(self, name: str) -> None:
        self.n_calls += 1
        if self.n_calls == self.fatal:
            self.failed_in = name
            raise Killed if self.mode == "killed" else OSError(*FULL.args)
        if self.mode == "full" and self.n_calls > self.fatal and name == "write":
            raise OSError(*FULL.args)

    @contextmanager
    def installed(self) -> Any:
        disk, real = self, {name: getattr(os, name) for name in ("fsync", "replace")}

        class File(io.FileIO):
            def write(self, data: Any, /) -> int:
                if disk.is_dead:
                    return len(data)
                try:
                    disk.call("write")
                except BaseException:
                    super().write(bytes(data)[: len(data) // 2])
                    raise
                return super().write(data)

        def opened(path: Path, mode: str = "r", **_: object) -> Any:
            return io.BufferedWriter(File(path, "x")) if mode == "xb" else open(path, mode)

        def fsync(descriptor: int) -> None:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            disk.call("fsync of the folder" if is_folder else "fsync")
            real["fsync"](descriptor)

        def replace(source: Path, target: Path) -> None:
            disk.call("replace")
            real["replace"](source, target)

        def unlink(path: Path, missing_ok: bool = False) -> None:
            if disk.is_dead:
                raise OSError
            real_unlink(path, missing_ok)

        real_unlink = Path.unlink
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(atomic, "open", opened, raising=False)
            patch.setattr(os, "fsync", fsync)
            patch.setattr(os, "replace", replace)
            patch.setattr(Path, "unlink", unlink)
            yield


@pytest.mark.parametrize("mode", ["full", "killed"])
def test_a_training_that_dies_at_any_system_call_goes_on_to_the_same_bits(
    mode: Mode,
    train_toy: Callable[..., object],
    bits: Callable[[Path], dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "CHECKPOINT_SECONDS", -1.0)  # a checkpoint after every step
    asked = {"bptt": 23}  # two steps an epoch
    train_toy("whole", **asked)
    whole, names = bits(tmp_path / "whole"), names_in(tmp_path / "whole")
    seen = set()
    for fatal in itertools.count(1):
        name, disk = f"died-{fatal}", Disk(mode, fatal)
        try:
            with disk.installed():
                train_toy(name, **asked)
            break
        except (OSError, Killed) as error:
            if mode != "killed":
                assert str(tmp_path / name) in str(error)
        if (tmp_path / name / MODEL).exists():
            load_run(tmp_path / name)  # whatever is there is complete
        train_toy(name, **asked, resume=True)
        where = f"{disk.failed_in}, call {fatal}"
        assert bits(tmp_path / name) == whole, where
        assert names_in(tmp_path / name) == names, where
        recorded = load_info(tmp_path / name).weights_sha256
        assert recorded == sha256_of(tmp_path / name / MODEL), where
        assert card(tmp_path / name) == card(tmp_path / "whole"), where
        seen.add(disk.failed_in)
    assert seen == {"write", "fsync", "replace", "fsync of the folder"}
    # Four calls for each of 22 writes: run.json, vocab.json, four of encoded text. Each epoch also
    # writes two checkpoints within it, log, checkpoint, curve and card, and if it is the best, the
    # weights and run.json, which has their hash.
    assert 4 * 20 <= fatal - 1 <= 4 * 22


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
    train_toy("whole", epochs=EPOCHS, batch_size=2, bptt=1)
    first = start_training(run, *LONG)
    kill_when(first, (run / "card.md").exists, after=0.05)  # in the second epoch
    n_before = n_logged(run)
    second = start_training(run, *LONG, "--resume")
    kill_when(second, lambda: n_logged(run) > n_before)  # the checkpoint comes next
    third = start_training(run, *LONG, "--resume")
    printed, errors = third.communicate(timeout=300)
    assert third.returncode == 0, errors
    assert f"{run}: finished after {EPOCHS} epochs" in printed
    assert bits(run) == bits(tmp_path / "whole")
    assert names_in(run) == names_in(tmp_path / "whole")
