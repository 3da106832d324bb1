"""Recordings: on the CPU against a stand-in for torch's graphs, on a GPU against plain steps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.errors import TrainingError
from charlm.runtime import FAST_GPU
from charlm.training.loop import trainer
from charlm.training.loop.graphs import WARM_UPS, Recorded, Recorder
from charlm.training.loop.static_step import StaticSteps, static_steps
from charlm.training.loop.trainer import Trainer
from charlm.training.train import Silence

TrainToy = Callable[..., Any]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FAST_GPU, "1")


class FakeCuda:
    """Launches that are collected while a graph is recorded, and happen when it is replayed."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.open: list[str] | None = None

    def launch(self, what: str) -> None:
        (self.happened if self.open is None else self.open).append(what)

    @contextmanager
    def graph(self, graph: Any, *, pool: Any, capture_error_mode: str) -> Iterator[None]:
        assert (pool, capture_error_mode) == ((0, 7), "thread_local")
        self.open = graph.launches
        yield
        self.open = None

    def replay(self, graph: Any) -> None:
        for what in graph.launches:
            self.launch(f"{what} again")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()

    class Graph:
        def __init__(self) -> None:
            self.launches: list[str] = []

        def replay(self) -> None:
            fake.replay(self)

    class Stream:
        def wait_stream(self, other: "Stream") -> None:
            fake.launch("wait")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", fake.graph)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    return fake


def test_every_call_happens_once_and_the_first_ones_as_they_are(fake: FakeCuda) -> None:
    step = Recorded(lambda: fake.launch("step"), pool=(0, 7))
    for _ in range(WARM_UPS + 2):
        step()
    assert fake.happened == ["wait", "step", "wait"] * WARM_UPS + ["step again"] * 2


def test_a_recording_that_fails_names_the_way_round_it(fake: FakeCuda) -> None:
    def step() -> None:
        if fake.open is not None:
            raise RuntimeError("operation not permitted\nwhen stream is capturing")

    recorded = Recorded(step, pool=(0, 7))
    for _ in range(WARM_UPS):
        recorded()
    with pytest.raises(TrainingError) as caught:
        recorded()
    assert str(caught.value) == (
        "a step cannot be recorded as a CUDA graph (operation not permitted); expected a driver "
        "and a torch that can; unset CHARLM_GPU_FAST to train without"
    )


@pytest.mark.parametrize(("said", "expected"), [("0", False), ("1", True), (None, False)])
def test_a_variable_turns_recordings_on(
    train_toy: TrainToy, monkeypatch: pytest.MonkeyPatch, said: str | None, expected: bool
) -> None:
    kept = Kept()
    train_toy(watcher=kept, max_time="0.000001s")
    assert kept.trainer.static is None  # the CPU records nothing
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 7))
    monkeypatch.setattr(StaticSteps, "__init__", lambda self, trainer, *, record: None)
    monkeypatch.setattr(kept.trainer, "device", torch.device("cuda"))
    if said is None:
        monkeypatch.delenv(FAST_GPU, raising=False)
    else:
        monkeypatch.setenv(FAST_GPU, said)
    assert (static_steps(kept.trainer) is not None) == expected


class Kept(Silence):
    """Keeps the trainer."""

    trainer: Trainer

    def started(self, trainer: Trainer, **_: Any) -> None:
        self.trainer = trainer


def on_gpu(train_toy: TrainToy, *more: str, tiny: tuple[str, ...]) -> Trainer:
    kept = Kept()
    train_toy(
        overrides=(*tiny, *more),
        watcher=kept,
        max_time="0.000001s",
        bptt=3,
        epochs=20,
        device="cuda",
    )
    assert isinstance(kept.trainer.static, StaticSteps)
    return kept.trainer


@needs_gpu
def test_masks_differ_at_every_replay(train_toy: TrainToy, tiny: tuple[str, ...]) -> None:
    trainer = on_gpu(train_toy, tiny=tiny)
    steps = StaticSteps(trainer, record=Recorder())
    probe = steps.probe(trainer.batches.batch(1))
    gradients = []
    for _ in range(WARM_UPS + 3):
        probe()
        gradients.append(trainer.model.get_parameter("output.words.weight").grad.clone())
    assert float((gradients[-1] - gradients[-2]).abs().max()) > 1e-4


@needs_gpu
def test_replayed_steps_are_plain_ones(
    train_toy: TrainToy, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    overrides = (*tiny, "context.dropout=0")
    common = {"overrides": overrides, "bptt": 3, "epochs": 4, "device": "cuda"}
    replayed = train_toy("replayed", **common)
    monkeypatch.setattr(trainer, "static_steps", lambda trainer: None)
    plain = train_toy("plain", **common)
    assert replayed.valid_ppl == pytest.approx(plain.valid_ppl, rel=1e-5)


@needs_gpu
def test_nothing_waits_for_the_gpu_within_a_step(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    trainer = on_gpu(train_toy, tiny=tiny)
    for _ in range(2):
        trainer.run_epoch(lambda: False)  # all shapes are recorded
    trainer.begin_epoch()
    number = torch.ones((), device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        for step in range(5):
            trainer.step(trainer.batches.batch(step))
        with pytest.raises(RuntimeError, match="synchroniz"):  # or the steps have shown nothing
            float(number)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert trainer.position.step == 5
