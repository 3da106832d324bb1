"""An estimate costs steps and changes nothing."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.scoring.likelihood import nll
from charlm.training import session
from charlm.training.loop import estimate as estimating
from charlm.training.loop import validation
from charlm.training.loop.estimate import Estimate, estimate, peak_memory
from charlm.training.loop.trainer import Trainer
from charlm.training.train import Silence


class Listener(Silence):
    """Estimates again within the epoch, too."""

    def __init__(self) -> None:
        self.costs: list[tuple[int, Estimate]] = []

    def stepped(self, trainer: Trainer) -> None:
        self.costs.append((trainer.position.step, estimate(trainer)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is half a second after the last."""
    ticks = itertools.count()
    monkeypatch.setattr(estimating.time, "perf_counter", lambda: next(ticks) / 2)


def test_a_run_with_estimates_is_the_one_without_to_the_bit(
    train_toy: Callable[..., Any],
    bits: Callable[[Path], dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = Listener()
    train_toy("with", watcher=listener)
    assert len(listener.costs) == 6
    monkeypatch.setattr(session, "estimate", lambda trainer: None)
    train_toy("without")
    assert bits(tmp_path / "with") == bits(tmp_path / "without")


def test_an_estimate_counts_the_steps_and_validations_to_go(
    train_toy: Callable[..., Any], clock: None
) -> None:
    listener = Listener()
    train_toy(watcher=listener)
    assert [step for step, _ in listener.costs] == [1, 2, 3, 1, 2, 3]
    steps, epochs = [5, 4, 3, 2, 1, 0], [2, 2, 2, 1, 1, 1]
    assert [cost.seconds_per_step for _, cost in listener.costs] == [0.5] * 6
    assert [cost.seconds for _, cost in listener.costs] == pytest.approx(
        [0.5 * n + 0.5 * m for n, m in zip(steps, epochs, strict=True)]
    )


def test_a_validation_of_several_chunks_is_reckoned_from_the_second(
    train_toy: Callable[..., Any], toy_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vocabulary takes 100 s and a chunk of two steps of four streams 3 s."""
    now = 0.0

    def later(function: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            nonlocal now
            now += seconds
            return function(*arguments, **options)

        return timed

    monkeypatch.setattr(estimating.time, "perf_counter", lambda: now)
    monkeypatch.setattr(nll, "CHUNK_POSITIONS", 8)
    monkeypatch.setattr(nll, "chunk_nll", later(nll.chunk_nll, 3.0))
    monkeypatch.setattr(validation, "FormVectors", later(nll.FormVectors, 100.0))
    listener = Listener()
    train_toy(epochs=1, watcher=listener)
    valid = (toy_corpus / "valid.txt").read_text()
    n_tokens = len(valid.split()) + valid.count("\n")
    assert n_tokens > 3 * 8
    costs = [cost.seconds_per_validation for _, cost in listener.costs]
    assert costs == pytest.approx([100.0 + 3.0 * n_tokens / 8] * 3)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak there")
def test_the_peak_of_memory_is_in_bytes() -> None:
    status = Path("/proc/self/status").read_text()
    told = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert told
    assert peak_memory() == pytest.approx(int(told[1]) * 1024, rel=0.05)
