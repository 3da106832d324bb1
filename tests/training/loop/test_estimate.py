"""An estimate takes a few steps and changes nothing."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from charlm.model.encoders.sides import Mixture
from charlm.model.outputs.softmax import Softmax
from charlm.scoring.likelihood import nll
from charlm.training import session
from charlm.training.loop import estimate as estimating
from charlm.training.loop import validation
from charlm.training.loop.estimate import (
    Estimate,
    estimate,
    memory_to_come,
    peak_memory,
)
from charlm.training.loop.step import EagerStep
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.batching import Batch
from charlm.training.recipe.recipe import build_recipe
from charlm.training.watcher import Silence


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
    costs = [cost.seconds for _, cost in listener.costs]
    assert costs == pytest.approx([100.0 + 3.0 * n_tokens / 8] * 3)


def test_steps_of_sentences_are_reckoned_from_sentences_of_middling_length(
    train_toy: Callable[..., Any], tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token takes a second."""
    now, n_tokens = 0.0, 0
    gradients = EagerStep.gradients

    def timed(self: EagerStep, batch: Batch) -> None:
        nonlocal now
        now += batch.own.tokens
        gradients(self, batch)

    class Reckoner(Silence):
        def started(self, trainer: Trainer, *, cost: Estimate, **_: object) -> None:
            nonlocal n_tokens
            n_tokens = len(trainer.batches.source.text.ids)
            costs.append(cost.seconds)

    costs: list[float] = []
    monkeypatch.setattr(estimating.time, "perf_counter", lambda: now)
    monkeypatch.setattr(EagerStep, "gradients", timed)
    overrides = (*tiny, "recipe.batching.type=sentences")
    for seed in range(3):
        train_toy(f"{seed}", overrides=overrides, batch_size=2, seed=seed, watcher=Reckoner())
    assert costs == pytest.approx([2 * n_tokens] * 3, rel=0.15)  # of two epochs


def test_an_nll_that_few_steps_compute_is_not_taken_for_a_part_of_each(
    train_toy: Callable[..., Any], tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nll over all words takes 100 s, a step 1 s without it."""
    now = 0.0
    gradients, nll_of = EagerStep.gradients, Softmax.nll

    def timed(self: EagerStep, batch: Batch) -> None:
        nonlocal now
        now += 1.0
        gradients(self, batch)

    def slow(self: Softmax, h_NH: Tensor, words_N: Tensor) -> Tensor:
        nonlocal now
        now += 100.0
        return nll_of(self, h_NH, words_N)

    class Reckoner(Silence):
        def started(self, trainer: Trainer, *, cost: Estimate, **_: object) -> None:
            costs.append(cost.seconds_per_step)

    costs: list[float] = []
    monkeypatch.setattr(estimating.time, "perf_counter", lambda: now)
    monkeypatch.setattr(EagerStep, "gradients", timed)
    monkeypatch.setattr(Softmax, "nll", slow)
    train_toy(overrides=(*tiny, "recipe.criterion.type=nce"), epochs=1, watcher=Reckoner())
    assert costs == [1.0]


def test_each_phase_of_a_pre_training_is_reckoned_by_its_own_steps(
    train_toy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of words takes 1 s, one of letters 10 s, and one of both 100 s."""
    now, seconds = 0.0, {"word": 1.0, "char": 10.0, "both": 100.0}
    gradients = EagerStep.gradients

    def timed(self: EagerStep, batch: Batch) -> None:
        nonlocal now
        encoder = self.objective.model.encoder
        assert isinstance(encoder, Mixture)
        now += seconds[encoder.used]
        gradients(self, batch)

    listener = Listener()
    monkeypatch.setattr(estimating.time, "perf_counter", lambda: now)
    monkeypatch.setattr(EagerStep, "gradients", timed)
    overrides = (
        "encoder.type=add",
        'encoder.word={"type": "word", "dim": 4}',
        'encoder.char={"type": "word", "dim": 4}',
        "context.dim=5",
        "recipe.schedule.type=pretraining",
        "recipe.schedule.epochs=1",
    )
    train_toy(overrides=overrides, epochs=4, watcher=listener)
    n = max(step for step, _ in listener.costs)
    to_go = [n * 211 - done for done in range(1, n + 1)]
    assert [cost.seconds for _, cost in listener.costs[:n]] == pytest.approx(to_go)


@pytest.mark.parametrize(
    ("optimiser", "n"),
    [
        ({"type": "sgd"}, 0),
        ({"type": "sgd", "momentum": 0.9}, 1),
        ({"type": "adam"}, 2),
        ({"type": "adagrad"}, 1),
        ({"type": "rmsprop"}, 1),
        ({"type": "rmsprop", "momentum": 0.9}, 2),
        ({"type": "adadelta"}, 2),
    ],
)
def test_an_optimiser_keeps_so_many_numbers_for_a_weight(
    optimiser: dict[str, object], n: int
) -> None:
    recipe, _ = build_recipe({"optimiser": optimiser})
    assert sum(recipe.optimiser.slots().values()) == n


@pytest.mark.parametrize(
    ("recipe", "new", "kept"),
    [
        ((), 0, 1),  # a checkpoint holds the weights
        (("optimiser.type=adam",), 2, 3),  # and two averages of gradients
        (("optimiser.type=adam", "averaging.type=ema"), 3, 4),  # and averages of the weights
        (("averaging.type=nt-asgd",), 1, 2),
    ],
)
def test_memory_that_optimiser_averages_and_checkpoint_take_is_reckoned_before_they_do(
    recipe: tuple[str, ...],
    new: int,
    kept: int,
    train_toy: Callable[..., Any],
    tiny: tuple[str, ...],
) -> None:
    reckoned = []

    class Reckoner(Silence):
        def started(self, trainer: Trainer, **_: object) -> None:
            n_bytes = 4 * sum(trainer.model.n_parameters_by_part().values())
            reckoned.append(memory_to_come(trainer) / n_bytes)

    overrides = (*tiny, *(f"recipe.{each}" for each in recipe))
    train_toy(overrides=overrides, epochs=1, lr=0.01, watcher=Reckoner())
    assert reckoned == [new + 2 * kept]  # safetensors copies twice


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak there")
def test_the_peak_of_memory_is_in_bytes() -> None:
    status = Path("/proc/self/status").read_text()
    told = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert told
    assert peak_memory() == pytest.approx(int(told[1]) * 1024, rel=0.05)
