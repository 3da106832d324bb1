"""Trainings with row-sparse gradients against the same trainings with dense ones, in float64."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from charlm.model.kernels import sparse_rows
from charlm.settings import Settings
from charlm.text.vocabulary.encoding import EncodedText, FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.loop import step as step_module
from charlm.training.loop.step import gradient_values
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe import criteria

Train = Callable[[Settings, Settings], dict[str, Tensor]]

N_STEPS = 30
SENTENCES = [
    [f"w{number}" for number in np.random.default_rng(n).zipf(1.3, 9).clip(max=80)]
    for n in range(60)
] + [[f"w{number}" for number in range(1, 81)]]
TABLE = "encoder.table.weight"
SOFTMAX = {"type": "softmax"}


@pytest.fixture
def trained(in_float64: None, new_trainer: Callable[..., Trainer]) -> Train:
    """Trains with this output and this recipe, and tells the weights after the steps."""
    inventory = inventory_of(SENTENCES, min_count=1, min_char_count=1)
    ids = np.concatenate(encode_sentences(SENTENCES, FormIds(inventory)))
    text = EncodedText(ids, (), len(SENTENCES), "")
    context = {"type": "lstm", "dim": 6, "layers": 1, "dropout": 0.0}
    streams = {"batch_size": 4, "bptt": 3, "clip": 0.3, "oov_input": "unk"}

    def train(output: Settings, recipe: Settings) -> dict[str, Tensor]:
        parts = {"encoder": {"type": "word", "dim": 5}, "context": context, "output": output}
        trainer = new_trainer(parts, {**streams, **recipe}, inventory=inventory, text=text)
        trainer.begin_epoch()
        for step in range(N_STEPS):
            trainer.step(trainer.batches.batch(step))
        assert trainer.position.n_clipped > 0
        return trainer.model.state_dict()

    return train


def row_sparse(parameters: Sequence[Tensor]) -> set[tuple[int, ...]]:
    """Shapes of the parameters whose gradient is."""
    return {tuple(p.shape) for p in parameters if p.grad is not None and p.grad.is_sparse}


OUTPUTS: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "sampled": (SOFTMAX, {"type": "sampled-softmax", "noise": 5}, {"output.words.weight"}),
    "nce": (SOFTMAX, {"type": "nce", "noise": 5}, {"output.words.weight"}),
    "full": (SOFTMAX, {"type": "cross-entropy"}, set()),
    "random": ({"type": "hierarchical"}, {"type": "cross-entropy"}, {"output.levels.words.weight"}),
    "class": ({"type": "class"}, {"type": "cross-entropy"}, {"output.levels.words.weight"}),
    "adaptive": (
        {"type": "adaptive", "cutoffs": [10], "div_value": 2},
        {"type": "cross-entropy"},
        set(),
    ),
}
STEPS: dict[str, tuple[dict[str, Any], bool]] = {
    "sgd": ({"type": "sgd", "lr": 0.7}, True),
    "adagrad": ({"type": "adagrad", "lr": 0.1}, True),
    "momentum": ({"type": "sgd", "lr": 0.3, "momentum": 0.9}, False),
    "sgd-decay": ({"type": "sgd", "lr": 0.3, "weight_decay": 0.01}, False),
    "decay": ({"type": "adagrad", "lr": 0.1, "weight_decay": 0.01}, False),
    "adam": ({"type": "adam", "lr": 0.01}, False),
}


@pytest.mark.parametrize(
    ("output", "optimiser"),
    [(name, "sgd") for name in OUTPUTS] + [("sampled", name) for name in STEPS if name != "sgd"],
)
def test_thirty_clipped_steps_equal_those_of_dense_gradients(
    output: str,
    optimiser: str,
    trained: Train,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, criterion, its_tables = OUTPUTS[output]
    steps, stays_sparse = STEPS[optimiser]
    recipe = {"criterion": criterion, "optimiser": steps, "averaging": {"type": "ema"}}
    expected = trained(settings, recipe)
    came, left = set(), set()

    def seen(parameters: Any, *, is_sparse: bool) -> list[Tensor]:
        came.update(row_sparse(parameters))
        numbers = gradient_values(parameters, is_sparse=is_sparse)
        left.update(row_sparse(parameters))
        return numbers

    monkeypatch.setattr(step_module, "gradient_values", seen)
    monkeypatch.setattr(sparse_rows, "LARGE", 1)
    monkeypatch.setattr(criteria, "SAMPLE_SIZES", 1)
    found = trained(settings, recipe)
    assert came == {tuple(found[name].shape) for name in (TABLE, *its_tables)}
    assert left == (came if stays_sparse else set())
    for name, tensor in expected.items():
        assert float((found[name].double() - tensor.double()).abs().max()) <= 1e-10, name
