"""The naive path computes the same losses and updates as charlm's own, in fp32."""

from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.bench.naive import NaiveModel
from charlm.bench.train import trainer_on
from charlm.errors import ConfigError
from charlm.presets import preset
from charlm.settings import Settings, merged
from charlm.training.loop.trainer import Trainer

SMALL: Settings = {
    "encoder": {"encoder": {"dim": 4, "widths": [1, 2, 3], "filters": [4, 4, 8]}},
    "context": {"dim": 8, "dropout": 0.0},
    "recipe": {"batch_size": 3, "bptt": 7, "clip": 0.05},
}


def trainer_of(folder: Path, changes: dict[str, Any]) -> Trainer:
    return trainer_on(
        folder,
        device=torch.device("cpu"),
        precision="fp32",
        seed=3,
        settings=merged(merged(preset("char-small"), SMALL), changes),
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"encoder": {"layers": 2}}, {"encoder": preset("char-small")["encoder"]["encoder"]}],
    ids=["one highway layer", "two", "none"],
)
def test_updates_are_those_of_our_trainer(corpus_dir: Path, changes: dict[str, Any]) -> None:
    trainer = trainer_of(corpus_dir, changes)
    naive = NaiveModel(trainer.model)
    trainer.begin_epoch()
    recipe, state = trainer.recipe, naive.start(3)
    for step in range(3):
        batch = trainer.batches.batch(step)
        trainer.step(batch)
        state = naive.step(batch, state, clip=recipe.clip, rate=recipe.optimiser.lr)
    assert trainer.position.n_clipped == 3
    ours, copied = NaiveModel(trainer.model).state_dict(), naive.state_dict()
    torch.testing.assert_close(copied, ours, rtol=1e-5, atol=1e-6)


def test_its_loss_is_ours(corpus_dir: Path) -> None:
    trainer = trainer_of(corpus_dir, {})
    naive, batch = NaiveModel(trainer.model), trainer.batches.batch(0)
    trainer.begin_epoch()
    trainer.stepping.gradients(batch)
    letters = batch.forms.letters_NL[batch.where_TB]
    total, _ = naive.nll(letters, batch.words_TB, state=naive.start(3))
    assert float(total.detach()) == pytest.approx(trainer.position.nll, rel=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder": {"type": "word"}},
        {"context": {"type": "gru"}},
        {"context": {"type": "lstm", "variational": True}},
        {"output": {"type": "softmax", "projection": 4}},
    ],
    ids=["words", "another context", "an option", "a projection"],
)
def test_other_models_are_refused(corpus_dir: Path, changes: dict[str, Any]) -> None:
    trainer = trainer_of(corpus_dir, changes)
    with pytest.raises(ConfigError, match="bench: there is a naive path for char-cnn, highway"):
        NaiveModel(trainer.model)
