"""A corpus and trainings so small that one takes a twentieth of a second."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from charlm.model.build import build_model
from charlm.run.folder import LOG, MODEL, RESUME, RunInfo, load_info
from charlm.settings import Settings
from charlm.text.io.files import write_bytes
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training import session
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.recipe import build_recipe
from charlm.training.train import TrainResult, train
from charlm.training.watcher import Silence

WORDS = ["the", "a", "dog", "dogs", "cat", "cats", "ran", "runs", "sat", "far"]
TINY = (
    "encoder.encoder.dim=3",
    "encoder.encoder.widths=1,2",
    "encoder.encoder.filters=3,4",
    "context.dim=5",
    "context.layers=1",
)
# Three steps an epoch; dropout stays on, so that the generator matters.
ASKED: dict[str, Any] = {"overrides": TINY, "epochs": 2, "batch_size": 4, "bptt": 15}

TrainToy = Callable[..., TrainResult]
Bits = Callable[[Path], dict[str, object]]


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """177 tokens to train on, in sentences of words drawn at random, two of them seen once."""
    folder = tmp_path_factory.mktemp("toy")
    draw = random.Random(1)
    for split, n_sentences in (("train", 30), ("valid", 8), ("test", 8)):
        lines = [draw.choices(WORDS, k=draw.randint(2, 7)) for _ in range(n_sentences)]
        lines[1][0], lines[5][0] = f"{split}ing", f"un{split}"
        text = "".join(" ".join(line) + "\n" for line in lines)
        (folder / f"{split}.txt").write_text(text)
    return folder


@pytest.fixture(scope="session")
def tiny() -> tuple[str, ...]:
    """The `--set` options that make char-small small."""
    return TINY


class Listener(Silence):
    """Appends what it is told to a list."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def train_toy(toy_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainToy:
    """Trains into tmp_path/NAME, without drawing the curve, which takes longer than the rest.

    What the training says goes to a list, where one is given as `notes`.
    """

    def plain_curve(history: object, path: Path, *, title: str) -> None:
        write_bytes(path, title.encode())

    monkeypatch.setattr(session, "save_curve", plain_curve)

    def run(name: str = "run", *, notes: list[str] | None = None, **options: Any) -> TrainResult:
        if notes is not None:
            options["watcher"] = Listener(notes)
        chosen = {"data": toy_corpus, "threads": 1, "precision": "fp32", "device": "cpu"}
        if "init" not in options:
            chosen["arch"] = "char-small"
        return train(out=tmp_path / name, **{**chosen, **ASKED, **options})

    return run


@pytest.fixture
def start_training(
    toy_corpus: Path, tiny: tuple[str, ...]
) -> Callable[..., "subprocess.Popen[str]"]:
    """Starts `charlm train` with these options as a process of its own."""

    def start(run: Path, *options: str) -> "subprocess.Popen[str]":
        sets = [word for override in tiny for word in ("--set", override)]
        return subprocess.Popen(
            [sys.executable, "-m", "charlm", "train", "--arch", "char-small"]
            + ["--data", str(toy_corpus), "--out", str(run), "--threads", "1", *sets, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
        )

    return start


@pytest.fixture(scope="session")
def new_trainer() -> Callable[..., Trainer]:
    """A trainer as a training on the CPU begins with it; it is validated on the same text."""

    def make(
        parts: Settings, recipe: Settings, *, inventory: Inventory, text: EncodedText
    ) -> Trainer:
        torch.manual_seed(1)
        model, _ = build_model(parts, inventory)
        built, _ = build_recipe(recipe)
        built.initialisation.apply(model)
        model.encoder.after_step()
        model.output.after_step()
        return Trainer(
            model,
            built,
            inventory=inventory,
            train_text=text,
            valid_text=text,
            device=torch.device("cpu"),
            precision="fp32",
            seed=1,
        )

    return make


@pytest.fixture
def begun(tmp_path: Path, run_info: Callable[..., RunInfo]) -> Path:
    """The folder of a run before its first step, for a trainer that a test drives by hand."""
    run_info().save(tmp_path)
    return tmp_path


@pytest.fixture
def bits() -> Bits:
    """Everything in a run that must not depend on when it was stopped: all tensors, all counts."""

    def read(folder: Path) -> dict[str, object]:
        found: dict[str, object] = {"log": timeless((folder / LOG).read_text().splitlines())}
        found["hash of the model"] = load_info(folder).weights_sha256
        for name in (MODEL, RESUME):
            with safe_open(folder / name, framework="np") as file:
                for key in file.keys():  # noqa: SIM118 -- not a dict
                    tensor = file.get_tensor(key)
                    found[f"{name}:{key}"] = (tensor.dtype.name, tensor.shape, tensor.tobytes())
                meta = json.loads(file.metadata()["charlm"])
            position = meta.pop("position", {"history": []})
            found[name] = (meta, timeless(map(json.dumps, position.pop("history"))))
            found[f"{name}:position"] = {k: v for k, v in position.items() if k != "seconds"}
        return found

    return read


def timeless(lines: Any) -> list[dict[str, object]]:
    """Log records without their times."""
    records = map(json.loads, lines)
    clocks = ("seconds", "validation_seconds")
    return [{k: v for k, v in record.items() if k not in clocks} for record in records]
