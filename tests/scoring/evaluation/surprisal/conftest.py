"""Runs whose text rules split, lower-case and join words, or that were trained on sentences."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from charlm.run.folder import load_info
from charlm.text.corpus.normalisation import Normalisation


@pytest.fixture
def cutting_run(saved_run: Callable[..., Path]) -> Path:
    """Lower case, compatibility characters composed, punctuation cut off."""
    rules = Normalisation(lower=True, unicode="NFKC", tokenise="simple")
    return saved_run("random", normalisation=rules, oov_input="spelling")


@pytest.fixture
def sentence_run(run: Path) -> Path:
    """A run that says it began anew at half of the sentence ends."""
    info = load_info(run)
    recipe = {**info.settings["recipe"], "batching": {"type": "streams", "reset": 0.5}}
    replace(info, settings={**info.settings, "recipe": recipe}).save(run)
    return run
