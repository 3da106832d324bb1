"""Models with states: a run, a run that spells, an n-gram model, and a mixture, over ten words."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.scoring.decoding.mixed_model import MixedModel
from charlm.scoring.decoding.states import StatefulModel


@pytest.fixture
def arpa(spelled_run: Path, arpa_of: Callable[[Path], Path]) -> Path:
    """A trigram model over the words of the run."""
    return arpa_of(spelled_run)


@pytest.fixture
def load(spelled_run: Path, arpa: Path) -> Callable[[str], StatefulModel]:
    """A model of one of the kinds; the same model at each call."""

    @cache
    def found(kind: str) -> StatefulModel:
        if kind == "mixture":
            return MixedModel([found("run"), found("n-gram model")], [0.4, 0.6])
        if kind.endswith("n-gram model"):
            return charlm.load(arpa, open_vocabulary=spelled_run if "spelling" in kind else False)
        return charlm.load(spelled_run, device="cpu", open_vocabulary="spelling" in kind)

    return found


@pytest.fixture
def log_prob() -> Callable[[Any, list[str]], float]:
    """ln P of a sentence with its end, by `score` or, for a mixture, step by step."""

    def found(model: Any, words: list[str]) -> float:
        if not isinstance(model, MixedModel):
            return float(model.score(" ".join(words)).log10_prob) * math.log(10)
        state, total = model.start(), 0.0
        for word in words:
            log_probs, _, state = model.step(state, [word])
            total += float(log_probs[0])
        return total + float(model.finish(state)[0])

    return found
