"""A training cut off within any epoch ends at the same bits, whatever the recipe has.

A cut is a copy of the run's folder during the training: what a crash would have left. It is resumed
from its own run.json, and nothing else.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.run.folder import MODEL, RESUME
from charlm.run.stored_weights import read_meta
from charlm.training import session
from charlm.training.loop.trainer import Trainer
from charlm.training.watcher import Silence

TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]

EPOCHS = 4
CNN = ("encoder.encoder.dim=3", "encoder.encoder.widths=1,2", "encoder.encoder.filters=3,4")
SMALL = ("context.dim=5", "context.layers=1")
GATE = (
    'encoder.word={"type": "word", "dim": 4}',
    'encoder.char={"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 2]}',
)
WARMED = ("recipe.schedule.type=cosine", "recipe.schedule.warm_up=4", "recipe.optimiser.lr=0.02")
FEATURES: dict[str, tuple[str, ...]] = {
    "sentences": (*CNN, "recipe.batching.type=sentences", "recipe.batching.pool=2"),
    "resets": (*CNN, "recipe.batching.reset=0.5"),
    "partial shuffle": (*CNN, "recipe.batching.shuffle=partial"),
    "learned start": (*CNN, "context.initial_state=learned"),
    "nt-asgd": (*CNN, "recipe.averaging.type=nt-asgd", "recipe.averaging.window=0"),
    "ema": (*CNN, "recipe.averaging.type=ema", "recipe.averaging.decay=0.8"),
    "class file": (*CNN, "output.type=class", "output.file=CLASSES"),
    "drawn clusters": (*CNN, "output.type=hierarchical"),
    "noise words": (*CNN, "recipe.criterion.type=nce", "recipe.criterion.noise=5"),
    "other words read": (*CNN, "recipe.input_noise=0.4"),
    "noise in the context": (
        *CNN,
        "context.variational=true",
        "context.weight_drop=0.3",
        "context.zoneout=0.2",
    ),
    "phases": (
        "encoder.type=gate",
        *GATE,
        "recipe.schedule.type=pretraining",
        "recipe.schedule.epochs=1",
        "recipe.schedule.first_epoch=3",
    ),
    "warm-up": (*CNN, "recipe.optimiser.type=adam", *WARMED),
}


class Cuts(Silence):
    """Copies the run as it stands before the last of three steps, in every epoch."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.folders: list[Path] = []

    def stepped(self, trainer: Trainer) -> None:
        if trainer.position.step == 3:  # the checkpoint is that of the step before
            folder = self.run.parent / f"cut-{trainer.position.epoch}"
            shutil.copytree(self.run, folder)
            self.folders.append(folder)


@pytest.fixture
def cut_runs(
    train_toy: TrainToy, toy_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[Path]]:
    """A training to its end in tmp_path/run, and what was cut off of it, gone on with."""

    def train(feature: str) -> list[Path]:
        classes = tmp_path / "classes"
        words = set((toy_corpus / "train.txt").read_text().split())
        classes.write_text("".join(f"{word}\t{word[0]}\n" for word in sorted(words)))
        asked = [each.replace("CLASSES", str(classes)) for each in FEATURES[feature]]
        cuts = Cuts(tmp_path / "run")
        monkeypatch.setattr(session, "CHECKPOINT_SECONDS", -1.0)
        train_toy("run", overrides=(*SMALL, *asked), epochs=EPOCHS, watcher=cuts)
        classes.unlink()
        assert [position_in(folder)["step"] for folder in cuts.folders] == [2] * EPOCHS
        return cuts.folders

    return train


@pytest.mark.parametrize("feature", FEATURES)
def test_a_training_cut_off_in_any_epoch_ends_at_the_same_bits(
    feature: str,
    cut_runs: Callable[[str], list[Path]],
    train_toy: TrainToy,
    bits: Bits,
    tmp_path: Path,
) -> None:
    folders = cut_runs(feature)
    expected, weights = bits(tmp_path / "run"), (tmp_path / "run" / MODEL).read_bytes()
    for folder in folders:
        assert (folder / RESUME).read_bytes() != (tmp_path / "run" / RESUME).read_bytes()
        train_toy(folder.name, resume=True, overrides=(), epochs=None)
        assert bits(folder) == expected
        assert (folder / MODEL).read_bytes() == weights


def position_in(folder: Path) -> dict[str, Any]:
    position: dict[str, Any] = read_meta(folder / RESUME)["position"]
    return position


def test_averages_of_a_non_monotonic_training_begin_between_two_of_the_cuts(
    cut_runs: Callable[[str], list[Path]],
) -> None:
    counts = [position_in(folder)["n_averaged"] for folder in cut_runs("nt-asgd")]
    assert counts[0] == 0 < counts[-1]


def test_each_phase_is_cut(cut_runs: Callable[[str], list[Path]]) -> None:
    rates = [position_in(folder)["rate"] for folder in cut_runs("phases")]
    assert rates == pytest.approx([1.0, 0.1, 1.0, 1.0 / 2.1])
