"""How many cores and how much memory there are for this process: a container may have less.

Linux tells by the control groups of a process, of version 1 or 2.
"""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def n_cores() -> int:
    """How many cores this process may use: of the machine, and of its container's time."""
    return limit_of_cores() or _n_cores_there()


@cache
def limit_of_cores(root: Path = Path("/")) -> int | None:
    """The cores that a limit of CPU time is worth; None if it is no limit here.

    Containers have such limits (`docker run --cpus`, Kubernetes), and show all cores of the
    machine. Threads for all of these use up the time at once and wait for each other: with the time
    of one core char-small trained at 2,129 tokens/s with one thread, at 1,702 with 2, 517 with 8
    and 221 with 32.
    """
    limits = (limit for group in _groups(root, "cpu") for limit in _time_limit(group))
    least = min(limits, default=math.inf)
    return max(1, math.ceil(least)) if least < _n_cores_there() else None


def _n_cores_there() -> int:
    if hasattr(os, "sched_getaffinity"):  # what this process may use, on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_there(root: Path = Path("/")) -> int:
    """The bytes of main memory of the machine, or those that its container may use."""
    amounts = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for group in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # of version 2 or 1
            with suppress(OSError, ValueError):  # "max" is no number
                amounts.append(int((group / name).read_text()))
    return min(amounts)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the process's control groups for a resource, and of those around them."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):  # none named: version 2
            continue
        # Of version 1 this is the name everywhere; Red Hat 7 says cpuacct,cpu of cpu,cpuacct.
        mount = root / "sys/fs/cgroup" / (controller if controllers else "")
        group = mount / path.lstrip("/")
        yield from (each for each in (group, *group.parents) if each.is_relative_to(mount))


def _time_limit(group: Path) -> Iterator[float]:
    """The cores that a group's time is worth: time a period, of version 2 or 1."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with suppress(OSError, ValueError):  # the other version's; "max" is no number
            time, period = map(int, " ".join((group / name).read_text() for name in names).split())
            if time > 0:  # -1: none
                yield time / period
