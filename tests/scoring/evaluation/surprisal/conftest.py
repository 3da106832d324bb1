"""Runs whose text rules split words, or that were trained on sentences, and a unigram model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.text.corpus.normalisation.normalisation import Normalisation


@pytest.fixture
def cutting_run(saved_run: Callable[..., Path]) -> Path:
    """Lower case, compatibility characters composed, punctuation cut off."""
    rules = Normalisation(lower=True, unicode="NFKC", tokenise="simple")
    return saved_run("random", normalisation=rules, oov_input="spelling")


@pytest.fixture
def sentence_run(saved_run: Callable[..., Path]) -> Path:
    """A run that says it began anew at half of the sentence ends."""
    return saved_run("random", batching={"type": "streams", "reset": 0.5})


@pytest.fixture
def arpa(tmp_path: Path, save_unigrams: Callable[..., Path]) -> Path:
    return save_unigrams(tmp_path / "uni.arpa", end=-1, unk=-9, good=-1, bad=-2, too=-1)
