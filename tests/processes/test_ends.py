"""Two real processes started by charlm: where they listen, and what ends them.

Each waits at the machine's loopback interface for a text that does not come.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc about processes")

LIMIT = 300.0  # seconds, for what takes a few seconds
LISTENING = "0A"  # as /proc/net/tcp has it
LOOPBACK = "0100007F"  # 127.0.0.1
N_LISTENING = 2  # sockets of a process that is connected: of torch's own group and the patient one


class Pair(NamedTuple):
    """The first of two processes, the other's number, and the folder for temporary files."""

    first: "subprocess.Popen[str]"
    other: int
    folder: Path


@pytest.fixture
def pair(tiny_run: Path, tmp_path: Path) -> Iterator[Pair]:
    command = [sys.executable, "-m", "charlm", "eval", "-", "--model", str(tiny_run)]
    first = subprocess.Popen(
        [*command, "--processes", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "passive",
            "TMPDIR": str(tmp_path),
            "GLOO_SOCKET_IFNAME": "none",  # an interface that is not there
        },
        start_new_session=True,
    )
    with first:
        try:
            yield Pair(first, other_of(first), tmp_path)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(first.pid, signal.SIGKILL)


def other_of(first: "subprocess.Popen[str]") -> int:
    """The process that was started, once it is connected."""
    children = Path(f"/proc/{first.pid}/task/{first.pid}/children")
    give_up = time.monotonic() + LIMIT
    while True:
        assert first.poll() is None and time.monotonic() < give_up
        for child in map(int, children.read_text().split()):
            # torch also starts a tool or two to examine the machine, which may have ended
            # meanwhile.
            with suppress(FileNotFoundError, ProcessLookupError):
                if len(listening(child)) == N_LISTENING:
                    return child
        time.sleep(0.02)


def listening(process: int) -> list[str]:
    """The addresses at which a process waits for connections."""
    sockets = set[str]()
    for each in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(each))
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
    ]
    return [
        row[1].partition(":")[0]
        for row in rows
        if row[3] == LISTENING and f"socket:[{row[9]}]" in sockets
    ]


def is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def see_end(process: int) -> None:
    give_up = time.monotonic() + LIMIT
    while is_there(process):
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_only_the_loopback_interface_is_listened_on_and_ctrl_c_ends_both_at_once(
    pair: Pair,
) -> None:
    assert {*listening(pair.first.pid), *listening(pair.other)} == {LOOPBACK}
    began = time.monotonic()
    os.killpg(pair.first.pid, signal.SIGINT)
    printed, errors = pair.first.communicate(timeout=LIMIT)
    assert time.monotonic() - began < 10  # under 1 s on an idle machine, for Python's own exit
    assert (pair.first.returncode, printed, errors) == (130, "", "charlm: interrupted\n")
    assert not is_there(pair.other)


def test_a_killed_process_ends_the_command_with_one_line_that_names_it(pair: Pair) -> None:
    os.kill(pair.other, signal.SIGKILL)  # it cannot end by itself, since the text has not come
    printed, errors = pair.first.communicate("the cat\n", timeout=LIMIT)
    assert (pair.first.returncode, printed) == (1, "")
    assert errors == (
        "charlm: process 1 of 2 ended before the evaluation did: it was killed by SIGKILL; start "
        "it again\n"
    )


def test_a_killed_first_process_leaves_no_file_and_no_other_even_if_that_stands_still(
    pair: Pair,
) -> None:
    assert list(pair.folder.iterdir()) == []  # whichever process was killed
    os.kill(pair.other, signal.SIGSTOP)
    pair.first.kill()
    pair.first.wait()
    see_end(pair.other)
    assert list(pair.folder.iterdir()) == []
