"""A function recorded as a CUDA graph, with a stand-in for CUDA."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch

from charlm.errors import TrainingError
from charlm.training.loop.graph_step import WARM_UPS, Recorded


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
        "and a torch that can; set CHARLM_CUDA_GRAPHS=0 to train without"
    )
