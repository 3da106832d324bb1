"""Processes that charlm starts itself, replaced by shell scripts: how they end."""

import ctypes
import errno
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import ProcessError
from charlm.processes.group import Group, Work
from charlm.processes.launch import PR_SET_PDEATHSIG, joined, launched

Starting = Callable[[str], None]
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Starting:
    """Lets charlm start this shell program instead of itself."""

    def start(program: str) -> None:
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{program}\n")
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(sys, "executable", str(python))

    return start


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo noise >&2; echo 'charlm: no room' >&2; exit 1", "no room"),
        ("kill -9 $$", "it was killed by SIGKILL"),
        ("printf 'Traceback:\\n  x\\nValueError: 7\\n' >&2; exit 1", "ValueError: 7"),
        ("printf 'noise\\nNo module named x\\n' >&2; exit 1", "No module named x"),
        ("exit 3", "it says nothing (status 3)"),
        ("head -c 1000000 /dev/zero | tr '\\0' '\\n' >&2; echo late >&2; exit 1", "late"),
    ],
)
def test_a_process_that_does_not_start_is_named_with_its_reason(
    program: str, reason: str, starting: Starting
) -> None:
    starting(program)
    with pytest.raises(ProcessError) as caught, launched(["cpu", "cpu"], alone=Group()):
        raise AssertionError("it is alone")
    assert str(caught.value) == (
        f"process 1 of 2 ended before the training did: {reason}; what was saved before is kept; "
        "go on with --resume"
    )


def test_a_process_that_ends_as_if_all_were_done_is_not_waited_for(starting: Starting) -> None:
    starting("exit 0")
    with pytest.raises(ProcessError) as caught, launched(["cpu", "cpu"], alone=Group()):
        raise AssertionError("it is alone")
    assert str(caught.value) == "a process ended before it had met the others; start it again"


def test_the_reason_is_told_while_others_are_still_starting(starting: Starting) -> None:
    starting('test "$RANK" = 1 && exec sleep 60; echo no room >&2; exit 1')
    began = time.monotonic()
    told = pytest.raises(ProcessError, match="^process 2 of 3 ended .*: no room; ")
    with told, launched(["cpu"] * 3, alone=Group()):
        raise AssertionError("it is alone")
    assert time.monotonic() - began < 5


def test_a_started_process_imports_what_this_one_does_whatever_lies_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])  # a Path, which Python passes over
    alone = Group(work=Work("the test", ("no-command",), "end"))
    with pytest.raises(ProcessError) as caught, launched(["cpu", "cpu"], alone=alone):
        raise AssertionError("it is alone")
    assert "No such command 'no-command'" in str(caught.value)


def test_whoever_is_started_is_told_the_loopback_interface_alone_and_nobody_else_is(
    starting: Starting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    monkeypatch.delenv("NCCL_SOCKET_IFNAME", raising=False)
    starting(f"env > {tmp_path}/told; exit 1")
    with pytest.raises(ProcessError), launched(["cpu", "cpu"], alone=Group()):
        raise AssertionError("it is alone")
    told = (tmp_path / "told").read_text().splitlines()
    loopback = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    assert {f"{name}={loopback[0]}" for name in INTERFACES} <= set(told)
    assert [os.environ.get(name) for name in INTERFACES] == ["eth7", None]


def test_a_loopback_interface_that_is_down_is_one_line_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def down(address: object) -> socket.socket:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", down)
    with pytest.raises(ProcessError) as caught, launched(["cpu", "cpu"], alone=Group()):
        raise AssertionError("it is alone")
    assert str(caught.value) == (
        "127.0.0.1: Network is unreachable; expected the loopback interface, on which processes "
        "meet; bring it up (ip link set lo up), or use one process"
    )


def test_among_several_processes_a_closed_socket_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def meet() -> None:
        seen.append(signal.getsignal(signal.SIGPIPE))
        raise ProcessError("nowhere")

    monkeypatch.setattr("charlm.processes.launch._meeting_place", meet)
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as the command line has it
    try:
        with pytest.raises(ProcessError), launched(["cpu", "cpu"], alone=Group()):
            raise AssertionError("it is alone")
        assert (seen, signal.getsignal(signal.SIGPIPE)) == ([signal.SIG_IGN], signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_ctrl_c_waits_for_nobody(starting: Starting) -> None:
    starting("trap '' INT; kill -INT $PPID; exec sleep 60")
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), launched(["cpu", "cpu"], alone=Group()):
        raise AssertionError("it is alone")
    assert time.monotonic() - began < 2


@pytest.fixture
def beside_another(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process as if another had started it, but without the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for name, value in (("RANK", 1), ("WORLD_SIZE", 2), ("LOCAL_RANK", 1), ("CHARLM_PORT", port)):
        monkeypatch.setenv(name, str(value))
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)
    library = ctypes.CDLL(None)
    if hasattr(library, "prctl"):
        library.prctl(PR_SET_PDEATHSIG, 0)


def test_who_comes_when_the_first_process_is_gone_ends_at_once(beside_another: None) -> None:
    began = time.monotonic()
    with pytest.raises(ConnectionRefusedError), joined(Group()):
        raise AssertionError("it is alone")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("before", "after"),
    [(signal.default_int_handler, signal.SIG_DFL), (signal.SIG_IGN, signal.SIG_IGN)],
)
def test_a_started_process_dies_of_ctrl_c_even_within_torch_unless_it_is_ignored(
    beside_another: None, before: Any, after: Any
) -> None:
    signal.signal(signal.SIGINT, before)
    with pytest.raises(ConnectionRefusedError), joined(Group()):
        raise AssertionError("it is alone")
    assert signal.getsignal(signal.SIGINT) == after
