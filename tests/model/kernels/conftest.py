"""Memory that holds NaN until it is written, so that no result depends on it unnoticed."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def nan_in_new_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
