"""Paths that run in turns: their times, and the memory that each needs at its peak."""

import resource
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import ClassVar

from charlm.bench.machine import FLOPS, LIMIT
from charlm.runtime import return_freed_memory
from charlm.training.loop.estimate import peak_memory

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # Linux: the peak of resident memory begins anew


@dataclass(frozen=True)
class Timing:
    """The times of the repetitions of one path."""

    seconds: tuple[float, ...]
    peak_bytes: int  # of the whole process while it ran; since its start where that cannot be told
    # Of all its threads, and of programs that it ran: what others' load moves less.
    processor_seconds: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def fastest(self) -> float:
        """The time of the least disturbed repetition: other work can only add to it."""
        return min(self.seconds)

    @property
    def median_processor(self) -> float:
        return median(self.processor_seconds)

    def to_dict(self, n_tokens: int) -> dict[str, object]:
        """As JSON, for a path that read `n_tokens` tokens."""
        return {
            "seconds": list(self.seconds),
            "processor_seconds": list(self.processor_seconds),
            "tokens_per_second": n_tokens / self.median,
            "peak_bytes": self.peak_bytes,
        }


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The result of a benchmark: its subject, its paths' timings, and what follows from them."""

    timings: dict[str, Timing]
    n_tokens: int  # that each path goes over, if it does not say otherwise
    derived: ClassVar[tuple[str, ...]] = ()  # properties that --json tells, too

    @property
    def peak_flops(self) -> float:
        """Operations per second of a plain matrix product in the precision of the paths."""
        return FLOPS / self.timings[LIMIT].median

    def paths(self) -> dict[str, dict[str, object]]:
        """The timings as JSON, by the tokens that each path went over."""
        return {name: timing.to_dict(self.n_tokens) for name, timing in self.timings.items()}

    def to_dict(self) -> dict[str, object]:
        own = {name: value for name, value in vars(self).items() if name != "timings"}
        figures = {name: getattr(self, name) for name in self.derived}
        return {**own, "paths": self.paths(), **figures}


def in_turns(
    paths: Mapping[str, Callable[[], object]], *, repetitions: int, warm_up: bool = True
) -> dict[str, Timing]:
    """Each path once for warming up, then all of them in turns, so many times.

    Memory is that of the first round: releasing freed memory costs the following run time.
    """
    seconds: dict[str, list[float]] = {name: [] for name in paths}
    processor: dict[str, list[float]] = {name: [] for name in paths}
    peaks: dict[str, int] = {}
    for round_ in range(repetitions + warm_up):
        for name, run in paths.items():
            if round_ == 0:
                reset_peak()
            began, began_cpu = time.perf_counter(), _processor_seconds()
            run()
            taken, taken_cpu = time.perf_counter() - began, _processor_seconds() - began_cpu
            if round_ == 0:
                peaks[name] = peak_bytes()
            if round_ or not warm_up:
                seconds[name].append(taken)
                processor[name].append(taken_cpu)
    return {
        name: Timing(tuple(seconds[name]), peaks[name], tuple(processor[name])) for name in paths
    }


def _processor_seconds() -> float:
    """Of this process, and of the programs that it has started and that have ended."""
    programs = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + programs.ru_utime + programs.ru_stime


def reset_peak() -> None:
    """Reset the peak, if the system can."""
    return_freed_memory()
    with suppress(OSError):
        CLEAR.write_text(RESET_PEAK, "ascii")


def peak_bytes() -> int:
    """Resident memory at its peak since the last reset."""
    if STATUS.exists():
        for line in STATUS.read_text("utf-8", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return peak_memory()
