"""Runs for the commands under test."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from charlm.model.build import build_model
from charlm.text.vocabulary.vocabulary import Inventory

SaveRun = Callable[..., Path]

SETTINGS = {
    "encoder": {"type": "word", "dim": 3},
    "context": {"type": "lstm", "dim": 2, "layers": 1},
    "output": {"type": "softmax"},
}


@pytest.fixture
def at_home(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a trained run in exp/."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_run, "exp/first")
    return tmp_path


@pytest.fixture
def run(at_home: Path) -> Path:
    """The run of the working folder."""
    return Path("exp/first")


@pytest.fixture(scope="session")
def save_uniform(save_run: SaveRun) -> SaveRun:
    """Saves a run that gives all of its words the same probability: its small LSTM is all 0."""

    def save(folder: Path, inventory: Inventory, **more: object) -> Path:
        model, settings = build_model(SETTINGS, inventory)
        for parameter in model.parameters():
            torch.nn.init.zeros_(parameter)
        return save_run(folder, model, settings=settings, inventory=inventory, **more)

    return save
