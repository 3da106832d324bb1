"""Fixtures of the benchmarks' tests."""

from collections.abc import Callable
from typing import Any

import pytest

from charlm.training.loop import trainer
from charlm.training.loop.graph_step import GraphStep


@pytest.fixture
def n_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often each recorded step is called, where trainings step as on a GPU."""
    calls: list[int] = []

    def record(function: Callable[[], None]) -> Callable[[], None]:
        number = len(calls)
        calls.append(0)

        def called() -> None:
            calls[number] += 1
            function()

        return called

    def step_of(objective: Any, optimiser: Any, *, progress: Any, ranks: Any) -> GraphStep:
        return GraphStep(objective, optimiser, progress=progress, record=record)

    monkeypatch.setattr(trainer, "step_of", step_of)
    return calls
