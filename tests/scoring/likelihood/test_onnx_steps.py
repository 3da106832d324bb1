"""Steps of an exported model: a stand-in whose numbers tell all that was read, against a loop."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.scoring.likelihood import onnx_steps
from charlm.scoring.likelihood.onnx_steps import OnnxSteps, sentence_log_probs
from charlm.text.vocabulary.vocabulary import Inventory

WORDS = ("</s>", "<unk>", "a", "b")
SENTENCES = [["a", "cc"], ["a", "ddd"], [], ["a"], ["b", "ddd", "cc"], ["a", "cc"], ["<unk>:a"]]


def vectors_of(ids: np.ndarray, spellings: list[str]) -> np.ndarray:
    numbers = [*range(len(WORDS)), *(10.0 + len(each) for each in spellings)]
    return np.array(numbers)[ids][:, None]


def step(x_BE: np.ndarray, state: tuple[np.ndarray]) -> tuple[np.ndarray, tuple[np.ndarray]]:
    told_B1 = state[0] / 2 + x_BE
    return np.sin(told_B1 * np.arange(1, len(WORDS) + 1)), (told_B1,)


@pytest.fixture
def steps() -> OnnxSteps:
    model: Any = SimpleNamespace(
        path=Path("exported"),
        inventory=Inventory(WORDS, (1,) * len(WORDS), ("a", "b")),
        vectors=SimpleNamespace(of=vectors_of),
        initial_state=lambda n: (np.zeros((n, 1)),),
        step=step,
    )
    return OnnxSteps(model)


def slow_log_probs(words: list[str], *, told: float) -> list[float]:
    found = []
    for word in ("</s>", *words, "</s>"):
        known = word in WORDS
        found.append(np.sin(told * (1 + WORDS.index(word if known else "<unk>"))))
        form = word.removeprefix("<unk>:")
        told = told / 2 + (WORDS.index(word) if known else 10 + len(form))
    return found[1:]


@pytest.mark.parametrize("told", [0.0, 3.0])
def test_sentences_read_side_by_side_are_those_read_alone(
    steps: OnnxSteps, monkeypatch: pytest.MonkeyPatch, told: float
) -> None:
    monkeypatch.setattr(onnx_steps, "SENTENCES_AT_ONCE", 5)
    state: Any = (np.array([[told]]),) if told else None
    found = list(sentence_log_probs(steps, SENTENCES, state=state))
    for words, log_probs in zip(SENTENCES, found, strict=True):
        assert log_probs.tolist() == pytest.approx(slow_log_probs(words, told=told), abs=1e-12)


def test_a_number_that_is_none_is_told_whichever_row_has_it(steps: OnnxSteps) -> None:
    with pytest.raises(DataError, match="exported"), np.errstate(invalid="ignore"):
        steps._stepped((np.array([[0.0], [np.inf]]),), ["a", "a"])
