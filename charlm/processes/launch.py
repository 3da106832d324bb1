"""Several processes on this machine, of which the calling one is the first.

The others run the same program, `charlm train` and the like, with their rank in the environment;
the first tells them what to do, so their options name only the device. They write nothing, so they
may be killed at any time. All meet on the loopback interface, and listen on no other.

torchrun starts charlm on several machines (`joined`). On a single one it is not used: it would
leave a folder in /tmp at every run, its processes behind if it is killed, and 50 lines on stderr if
one of them is; and it would listen on every interface.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

from torch.distributed import TCPStore  # type: ignore[attr-defined]  # which it does export

from charlm.errors import ProcessError
from charlm.processes.group import SILENCE, Group, RankLostError
from charlm.runtime import LOST, ProcessPlace, place_of_process

Joined = TypeVar("Joined", bound=Group)

ADDRESS = "127.0.0.1"
USES_LIBUV = False  # Debian's torch is built without, and few processes need no faster store
PORT = "CHARLM_PORT"  # of that address, where the first process waits for those that it has started
READY, COMPLETE = "ready", "complete"  # in the store by which they meet: how many are; all are
PR_SET_PDEATHSIG = 1  # of prctl.h
# gloo and NCCL would listen where the machine's name leads them, or who has set these before.
INTERFACE = dict.fromkeys(
    ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), "lo0" if sys.platform == "darwin" else "lo"
)
MEETING = timedelta(seconds=30)  # of processes that all are ready for it
PARTING = 10.0  # seconds that the others are given to end by themselves
MOMENT = 0.02  # seconds between two looks
# They import what this process does; `-m charlm` would look into the working folder first.
PROGRAM = "import sys; sys.path[:] = {path}; from charlm.cli import main; main()"


@contextmanager
def joined(alone: Joined) -> Iterator[Joined]:
    """The processes that torchrun, or another process of charlm's, started; else `alone`."""
    place, port = place_of_process(), os.environ.get(PORT)
    if place.size == 1:
        yield alone
    elif port is None:
        with _closed_sockets_are_errors(), alone.connected(place) as group:
            yield group
    else:
        _end_with_the_first()
        socket.create_connection((ADDRESS, int(port))).close()  # refused where the first is gone
        store = TCPStore(ADDRESS, int(port), timeout=MEETING, use_libuv=USES_LIBUV)
        store.add(READY, 1)
        store.wait([COMPLETE], SILENCE)
        with (
            _closed_sockets_are_errors(),
            alone.connected(place, store=store, within=MEETING) as group,
        ):
            yield group


@contextmanager
def _closed_sockets_are_errors() -> Iterator[None]:
    """Make writing to a process that is gone an error, where it would end this one.

    gloo writes to its sockets without asking for that, and `charlm` dies of closed pipes as other
    tools do. Elsewhere Python makes closed pipes errors from its start.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _end_with_the_first() -> None:
    """Let this process end on Ctrl-C and with its parent, even while torch waits for others."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    library = ctypes.CDLL(None)
    if hasattr(library, "prctl"):  # Linux; elsewhere it ends when it finds a connection closed
        library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def launched(devices: Sequence[str], *, alone: Joined) -> Iterator[Joined]:
    """This process as the first, and one started for each further device; `alone` if none.

    Raises:
        ProcessError: one of them ends too early; it is named.
    """
    if len(devices) == 1:
        yield alone
        return
    with _closed_sockets_are_errors(), _started(devices, alone=alone) as group:
        yield group


@contextmanager
def _started(devices: Sequence[str], *, alone: Joined) -> Iterator[Joined]:
    workers: list[_Worker] = []
    try:
        with _environment(INTERFACE):
            store = _meeting_place()
            for rank, device in enumerate(devices[1:], start=1):
                place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": len(devices)}
                command = (*alone.work.command, "--device", device)
                workers.append(_Worker(command, environment={**place, PORT: store.port}))
            _meet(workers, store)
            with alone.connected(
                ProcessPlace(0, len(devices)), store=store, within=MEETING
            ) as group:
                yield group
        _wait(workers)
    except RankLostError as error:
        _wait(workers)
        for rank, worker in enumerate(workers, start=1):
            if reason := worker.reason():
                raise ProcessError(
                    f"process {rank} of {len(devices)} ended before {alone.work.name} did: "
                    f"{reason}; {alone.work.advice}"
                ) from None
        raise ProcessError(str(error)) from None
    finally:
        for worker in workers:
            worker.kill()


def _meeting_place() -> TCPStore:
    """A store on the loopback interface, by which all processes are to meet."""
    server = socket.create_server((ADDRESS, 0))
    port = server.getsockname()[1]
    try:
        socket.create_connection((ADDRESS, port)).close()
    except OSError as error:  # torch would try for half a minute; in a sandbox it may be down
        raise ProcessError(
            f"{ADDRESS}: {error.strerror}; expected the loopback interface, on which processes "
            "meet; bring it up (ip link set lo up), or use one process"
        ) from None
    return TCPStore(
        *(ADDRESS, port),
        is_master=True,
        timeout=MEETING,
        wait_for_workers=False,
        master_listen_fd=server.detach(),
        use_libuv=USES_LIBUV,
    )


def _meet(workers: "Sequence[_Worker]", store: TCPStore) -> None:
    """Wait until all processes that were started are ready, and tell them so."""
    while store.add(READY, 0) < len(workers):
        if any(worker.process.poll() is not None for worker in workers):
            raise RankLostError("a process ended before it had met the others; start it again")
        time.sleep(MOMENT)
    store.set(COMPLETE, "")


def _wait(workers: "Sequence[_Worker]") -> None:
    """Give them time to end by themselves, until one gives a reason of its own."""
    give_up = time.monotonic() + PARTING
    while time.monotonic() < give_up and not any(worker.reason() for worker in workers):
        if all(worker.process.poll() is not None for worker in workers):
            break
        time.sleep(MOMENT)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, for torch and for started processes, within the block."""
    before = {name: os.environ.pop(name) for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update(before)


class _Worker:
    """A process that this one has started."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, int]) -> None:
        # A file without a name: a pipe that nobody reads before the end may fill, and stop it.
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `kill`
        folders = [each for each in sys.path if isinstance(each, str)]  # as Python does
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM.format(path=folders), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.stderr,
            env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        )

    def reason(self) -> str:
        """Why it ended too early; empty if it did not, or only because others had ended."""
        status = self.process.poll()
        if status in (None, 0, LOST):
            return ""
        if status < 0:
            return f"it was killed by {signal.Signals(-status).name}"
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        told = [line.removeprefix("charlm: ") for line in lines if line.startswith("charlm: ")]
        return (told or lines or [f"it says nothing (status {status})"])[-1]

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self.process.kill()
        self.process.wait()
        self.stderr.close()
