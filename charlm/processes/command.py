"""One command in one process or several: the first reads, decides and writes, the others follow.

The user starts the first; the others, started by it or by torchrun, do what it tells them. So
errors in the user's options occur in the first one alone, before it starts others.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

from charlm.processes.devices import asked_devices, own_device, threads_of_each
from charlm.processes.group import Group
from charlm.processes.launch import joined, launched
from charlm.runtime import place_of_process, set_threads

Joined = TypeVar("Joined", bound=Group)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Machine:
    """What a command runs on, by its options."""

    device: str
    gpus: str | None  # as "0,1": a process for each
    processes: int | None  # on the CPU
    threads: int | None = None  # of each process; None: its share of the cores


class First(Generic[Joined]):
    """The first process of a command, which leads the others."""

    def __init__(self, group: Joined, machine: Machine, *, stack: ExitStack) -> None:
        self._devices = asked_devices(machine.gpus, machine.processes, device=machine.device)
        self._threads = threads_of_each(machine.threads, len(self._devices))
        self._stack = stack
        self.group = group  # this process alone, or those of torchrun, until `start_others`
        self.size = max(len(self._devices), group.size)  # of the group after that
        self.device = place_of_process().device_name(self._devices[0])
        set_threads(self._threads)

    def start_others(self) -> Joined:
        """All processes; the others now wait for what `from_first` tells them."""
        self.group = self._stack.enter_context(launched(self._devices, alone=self.group))
        self.group.from_first(lambda: self._threads or 0)
        return self.group


def run_command(
    alone: Joined,
    *,
    machine: Machine,
    lead: Callable[[First[Joined]], Result],
    follow: Callable[..., object],
) -> Result:
    """The result of `lead`, which runs in the first process; every process returns it.

    `lead` starts the others once everything is in order, and tells them what they need to know;
    with their group, that message and their `device` they run `follow`.

    Raises:
        ConfigError: options of the machine that do not go together.
        ProcessError: another process ended.
    """
    with joined(alone) as group, ExitStack() as stack:
        if group.is_first:
            first = First(group, machine, stack=stack)
            result = lead(first)
            return first.group.from_first(lambda: result)
        set_threads(group.receive() or None)
        follow(group, group.receive(), device=own_device(machine.device))
        found: Result = group.receive()
        return found
