"""Benchmarked paths take turns, and their medians are compared."""

import subprocess
import sys
import time

import pytest

from charlm.bench.timing import CLEAR, Timing, in_turns
from charlm.runtime import keep_freed_memory


def test_paths_are_warmed_up_and_then_run_in_turns() -> None:
    calls: list[str] = []
    paths = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    timings = in_turns(paths, repetitions=2)
    assert "".join(calls) == "ab" + "abab"
    assert [len(timing.seconds) for timing in timings.values()] == [2, 2]


@pytest.mark.skipif(not CLEAR.exists(), reason="this system's peak is that since the start")
def test_memory_is_that_of_the_path_that_took_it() -> None:
    keep_freed_memory()  # as a training does, here or in another test
    timings = in_turns(
        {"small": lambda: None, "large": lambda: bytearray(b"x") * (64 << 20)}, repetitions=1
    )
    assert timings["large"].peak_bytes > max(timings["small"].peak_bytes, 64 << 20)


def test_each_paths_times_are_its_own_and_waiting_is_no_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds, processor = iter([0, 1, 10, 17]), iter([0, 1, 1, 1])
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    monkeypatch.setattr(time, "process_time", lambda: next(processor))
    timings = in_turns({"works": lambda: None, "waits": lambda: None}, repetitions=1, warm_up=False)
    assert (timings["works"].seconds, timings["waits"].seconds) == ((1,), (7,))
    assert timings["works"].processor_seconds == pytest.approx((1,))
    assert timings["waits"].processor_seconds == pytest.approx((0,))


def test_the_work_of_a_program_is_that_of_the_path_that_ran_it() -> None:
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    path = {"program": lambda: subprocess.run([sys.executable, "-c", spin], check=True)}
    timings = in_turns(path, repetitions=1, warm_up=False)
    assert timings["program"].processor_seconds[0] > 0.25


def test_medians_are_written_with_what_they_are_of() -> None:
    timing = Timing((3.0, 1.0, 2.0), 5, (4.0, 6.0, 5.0))
    assert timing.median_processor == 5.0
    assert timing.fastest == 1.0
    assert timing.to_dict(10) == {
        "seconds": [3.0, 1.0, 2.0],
        "processor_seconds": [4.0, 6.0, 5.0],
        "tokens_per_second": pytest.approx(5.0),
        "peak_bytes": 5,
    }
