"""Runs whose text rules cut, lower and join, and n-gram models beside them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from charlm.ngram.arpa_writing import write_arpa
from charlm.ngram.estimation import estimate
from charlm.ngram.word_ids import WordIds, encode, words_of
from charlm.run.folder import load_info
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import load_inventory

TEXT = "a b c a b d\na b c\nh g f e d c b a\nb b <unk> a\na\n"


@pytest.fixture
def cutting_run(saved_run: Callable[..., Path]) -> Path:
    """Lower case, compatibility characters composed, punctuation cut off."""
    rules = Normalisation(lower=True, unicode="NFKC", tokenise="simple")
    return saved_run("random", normalisation=rules, oov_input="spelling")


@pytest.fixture
def arpa_of(tmp_path: Path) -> Callable[[Path], Path]:
    """A trigram model over the words of a run."""

    def made(run: Path) -> Path:
        words = words_of(load_inventory(run / "vocab.json"))
        ids = encode([line.split() for line in TEXT.splitlines()], WordIds(words, closed=True))
        path = tmp_path / "kn.arpa"
        write_arpa(estimate(ids, words=words, order=3).model, path)
        return path

    return made


@pytest.fixture
def sentence_run(run: Path) -> Path:
    """A run that says it began anew at half of the sentence ends."""
    info = load_info(run)
    recipe = {**info.settings["recipe"], "batching": {"type": "streams", "reset": 0.5}}
    replace(info, settings={**info.settings, "recipe": recipe}).save(run)
    return run
