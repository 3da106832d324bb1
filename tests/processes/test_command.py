"""The roles of the processes of one command; what they tell each other is recorded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.processes import command
from charlm.processes.command import First, Machine, run_command
from charlm.processes.group import Group


@dataclass(frozen=True)
class Telling(Group):
    """The first process, which records all that it tells the others."""

    said: list[Any] = field(default_factory=list)

    def from_first(self, make: Callable[[], Any]) -> Any:
        self.said.append(make())
        return self.said[-1]


@dataclass(frozen=True)
class Told(Group):
    """Another process, which records all that it is told."""

    said: list[Any] = field(default_factory=list)

    def from_first(self, make: Callable[[], Any]) -> Any:
        return self.said.pop(0)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads there are, on a machine of six cores, and how many there were before."""
    n_threads = [6]
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", n_threads.append)
    return n_threads


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices of all processes after the start; no process is really started."""
    devices: list[str] = []

    @contextmanager
    def launched(asked: Sequence[str], *, alone: Telling) -> Iterator[Telling]:
        devices.extend(asked)
        yield Telling(0, len(asked), said=alone.said)
        devices.append("end")

    monkeypatch.setattr(command, "launched", launched)
    return devices


def never(*_: object, **__: object) -> None:
    raise AssertionError("this is the first process")


def run(alone: Telling, machine: Machine, started: list[str]) -> str:
    def lead(first: First[Telling]) -> str:
        assert (first.group, started) == (alone, [])
        everyone = first.start_others()
        assert everyone.size == first.size and "end" not in started
        everyone.from_first(lambda: f"for all on {first.device}")
        return "result"

    return run_command(alone, machine=machine, lead=lead, follow=never)


@pytest.mark.parametrize(
    ("n_processes", "asked", "own", "told"),
    [(1, None, 6, 0), (2, None, 3, 3), (4, None, 1, 1), (9, None, 1, 1), (4, 5, 5, 5)],
)
def test_the_first_tells_threads_and_what_it_likes_and_at_the_end_what_it_found(
    n_processes: int,
    asked: int | None,
    own: int,
    told: int,
    threads: list[int],
    started: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    alone = Telling()
    assert run(alone, Machine("cpu", None, n_processes, asked), started) == "result"
    assert alone.said == [told, "for all on cpu", "result"]
    assert threads[-1] == own
    assert started == ["cpu"] * n_processes + ["end"]


@pytest.mark.parametrize(("n_threads", "own"), [(3, 3), (0, 6)])
def test_the_others_have_the_threads_that_they_are_told_follow_and_know_what_came_out(
    n_threads: int, own: int, threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Told(1, 2, said=[n_threads, "for all", "result"])
    followed: list[object] = []

    def follow(group: Group, told: str, *, device: torch.device) -> None:
        followed.extend([group, told, device])

    @contextmanager
    def joined(alone: Group) -> Iterator[Group]:
        yield other

    monkeypatch.setattr(command, "joined", joined)
    machine = Machine("cpu", gpus="0,1", processes=2)  # which the first process refuses
    found = run_command(Group(), machine=machine, lead=never, follow=follow)
    assert found == "result"
    assert followed == [other, "for all", torch.device("cpu")]
    assert threads[-1] == own


def test_nobody_is_started_for_a_command_that_cannot_be(started: list[str]) -> None:
    def refuse(first: First[Telling]) -> None:
        raise ConfigError("no such thing")

    with pytest.raises(ConfigError, match="no such thing"):
        machine = Machine("cpu", None, 2)
        run_command(Telling(), machine=machine, lead=refuse, follow=never)
    with pytest.raises(ConfigError, match="--processes 0: expected"):
        run(Telling(), Machine("cpu", None, 0), started)
    assert started == []
