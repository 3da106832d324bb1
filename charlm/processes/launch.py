"""Several processes on this machine, of which the calling one is the first.

The others are the program itself, `charlm train` and the like, with their place in the environment;
they are told what to do by the first, so their options say nothing but the device.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from charlm.errors import ConfigError, ProcessError
from charlm.processes.group import Group, RankLostError, Work
from charlm.runtime import (
    MEETING,
    PARENT,
    Place,
    pick_device,
    place_of_process,
    process_group,
    set_threads,
)

if TYPE_CHECKING:
    import torch

Joined = TypeVar("Joined", bound=Group)

MOST_PER_CORE = 8  # processes; more do little but start
PARTING = 10.0  # seconds that a process is given to end by itself
LAST_MOMENT = 0.5  # seconds between a killed process's last word and its end
# They import what this process does; `-m charlm` would look into the working folder first.
PROGRAM = "import sys; sys.path[:] = {path}; from charlm.cli import main; main()"


def asked_devices(gpus: str | None, processes: int | None, *, device: str) -> list[str]:
    """The device of each process that is asked for; `device` alone where none are.

    Raises:
        ConfigError: options that do not go together, or no numbers of GPUs.
    """
    if gpus is None and processes is None:
        return [device]
    option = f"--gpus {gpus}" if gpus is not None else f"--processes {processes}"
    if gpus is not None and processes is not None:
        raise ConfigError(
            f"{option}: found --processes {processes} beside it; expected one of them; --gpus "
            "starts a process for each GPU, --processes as many on the CPU"
        )
    if place_of_process().size > 1:
        raise ConfigError(f"{option}: torchrun has started the processes already; leave it out")
    if gpus is not None:
        return _gpus(gpus, device=device)
    if device not in ("auto", "cpu"):
        raise ConfigError(f"{option}: is for the CPU, found --device {device}; use --gpus 0,1")
    most = MOST_PER_CORE * (os.cpu_count() or 1)
    if not 1 <= (processes or 0) <= most:
        raise ConfigError(f"{option}: expected 1 to {most}, {MOST_PER_CORE} a core")
    return ["cpu"] * (processes or 0)


def _gpus(gpus: str, *, device: str) -> list[str]:
    import torch

    numbers = gpus.split(",")
    if not all(n.isascii() and n.isdecimal() for n in numbers) or len({*numbers}) < len(numbers):
        raise ConfigError(
            f"--gpus {gpus!r}: expected numbers of GPUs, each once; write --gpus 0,1,2"
        )
    if device not in ("auto", "cuda"):
        raise ConfigError(f"--gpus {gpus}: found --device {device} beside it; leave one out")
    found = torch.cuda.device_count()
    if not all(int(number) < found for number in numbers):
        which = f"{found} CUDA devices; expected numbers below that" if found else "no CUDA device"
        raise ConfigError(
            f"--gpus {gpus}: this machine shows {which}; use --processes {len(numbers)} for as "
            "many processes on the CPU, or install a torch built for CUDA"
        )
    return [f"cuda:{int(number)}" for number in numbers]


def threads_of_each(threads: int | None, n_processes: int) -> int | None:
    """CPU threads of each of some processes on this machine; None: torch's own choice."""
    if threads is not None or n_processes == 1:
        return threads
    return max(1, set_threads(None) // n_processes)


def own_device(name: str) -> "torch.device":
    """The device that `name` means to a process beside others, which holds memory of no other GPU.

    Raises:
        ConfigError: no such device on this machine.
    """
    import torch

    device = pick_device(place_of_process().device_name(name))
    if device.index is not None:
        torch.cuda.set_device(device)
    return device


@contextmanager
def joined(alone: Joined) -> Iterator[Joined]:
    """The processes that torchrun, or another process of charlm's, started; else `alone`."""
    place = place_of_process()
    if place.size == 1:
        yield alone
        return
    meeting = Path(os.environ[MEETING]) if MEETING in os.environ else None
    parent, has_met = int(os.environ.get(PARENT, os.getppid())), threading.Event()
    if meeting is not None:
        _sign(meeting, place.rank).touch()
        threading.Thread(target=_wait_for, args=(has_met, parent, meeting), daemon=True).start()
    try:
        with process_group(place, meeting=meeting):
            has_met.set()
            yield alone.connected(rank=place.rank, size=place.size)
    except BaseException:
        has_met.set()
        if meeting is not None and _ends(parent):  # it was killed, and left its folder
            shutil.rmtree(meeting.parent, ignore_errors=True)
        raise


def _wait_for(has_met: threading.Event, parent: int, meeting: Path) -> None:
    """End this process if the first is killed before all have met: torch would wait for minutes."""
    while not has_met.wait(LAST_MOMENT):
        if os.getppid() != parent:
            shutil.rmtree(meeting.parent, ignore_errors=True)
            os._exit(1)


def _ends(parent: int) -> bool:
    """Whether the parent is gone; its connections close a moment before it is."""
    give_up = time.monotonic() + LAST_MOMENT
    while os.getppid() == parent and time.monotonic() < give_up:
        time.sleep(0.01)
    return os.getppid() != parent


@contextmanager
def launched(devices: Sequence[str], *, alone: Joined) -> Iterator[Joined]:
    """This process as the first, and one started for each further device; `alone` without any.

    Raises:
        ProcessError: one of them ends before its time; it is named.
    """
    if len(devices) == 1:
        yield alone
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="charlm-")))
        workers = _Workers(folder, devices, alone.work)
        stack.callback(workers.end)
        workers.start()
        try:
            place = Place(0, len(devices), 0)
            with process_group(place, meeting=folder / "meeting"):
                yield alone.connected(rank=0, size=len(devices))
        except RankLostError as error:
            raise ProcessError(workers.cause() or str(error)) from None


class _Workers:
    """The processes from number 1 on."""

    def __init__(self, folder: Path, devices: Sequence[str], work: Work) -> None:
        self.folder = folder
        self.devices = devices
        self.work = work
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start them all, and wait until each is ready to meet."""
        meeting, size = self.folder / "meeting", len(self.devices)
        for rank in range(1, size):
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size}
            told = {**place, MEETING: meeting, PARENT: os.getpid()}
            with self._errors(rank).open("wb") as errors:
                self.processes[rank] = subprocess.Popen(
                    [sys.executable, "-P", "-c", PROGRAM.format(path=sys.path)]
                    + [*self.work.command, "--device", self.devices[rank]],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env={**os.environ, **{name: str(value) for name, value in told.items()}},
                )
        while not all(_sign(meeting, rank).exists() for rank in self.processes):
            for rank, process in self.processes.items():
                if (status := process.poll()) is not None:  # by itself: nobody has met yet
                    said = self._errors(rank).read_text(errors="replace")
                    last = (said.strip().splitlines() or [f"it says nothing (status {status})"])[-1]
                    raise ProcessError(self._told(rank, status, _error_in(said) or last))
            time.sleep(0.02)

    def _errors(self, rank: int) -> Path:
        return self.folder / f"errors-{rank}"

    def cause(self) -> str:
        """What made the first of them end that did not end for want of the others; else empty."""
        give_up = time.monotonic() + PARTING
        while time.monotonic() < give_up:
            for rank, process in self.processes.items():
                status = process.poll()
                said = _error_in(self._errors(rank).read_text(errors="replace"))
                if status is not None and (status < 0 or said):
                    return self._told(rank, status, said)
            if all(process.poll() is not None for process in self.processes.values()):
                break
            time.sleep(0.02)
        return ""

    def _told(self, rank: int, status: int, said: str) -> str:
        reason = said if status >= 0 else f"it was killed by {signal.Signals(-status).name}"
        return (
            f"process {rank} of {len(self.devices)} ended before {self.work.name} did: {reason}; "
            f"{self.work.advice}"
        )

    def end(self) -> None:
        """See them end: by themselves if they can."""
        give_up = time.monotonic() + PARTING
        for process in self.processes.values():
            try:
                process.wait(max(0.0, give_up - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _sign(meeting: Path, rank: int) -> Path:
    """The file that says that a process is ready to meet the others."""
    return meeting.with_name(f"ready-{rank}")


def _error_in(stderr: str) -> str:
    """The error that a process told, less what torch had to warn of; empty where it told none."""
    lines = stderr.strip().splitlines()
    told = [line for line in lines if line.startswith("charlm: ")]
    if "Traceback" in stderr:
        told = lines
    return told[-1].removeprefix("charlm: ") if told else ""
