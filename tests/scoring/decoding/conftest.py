"""Models with states: a run, a run that spells, an n-gram model, and a mixture, over ten words."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import charlm
from charlm.ngram.arpa_writing import write_arpa
from charlm.ngram.estimation import estimate
from charlm.ngram.word_ids import WordIds, encode, words_of
from charlm.scoring.decoding.mixed_model import MixedModel
from charlm.scoring.decoding.states import StatefulModel
from charlm.text.vocabulary.vocabulary import load_inventory

TEXT = "a b c a b d\na b c\nh g f e d c b a\nb b <unk> a\na\n"


@pytest.fixture
def arpa(spelled_run: Path, tmp_path: Path) -> Path:
    """A trigram model over the words of the run."""
    words = words_of(load_inventory(spelled_run / "vocab.json"))
    ids = encode([line.split() for line in TEXT.splitlines()], WordIds(words, closed=True))
    path = tmp_path / "kn.arpa"
    write_arpa(estimate(ids, words=words, order=3).model, path)
    return path


@pytest.fixture
def load(spelled_run: Path, arpa: Path) -> Callable[[str], StatefulModel]:
    """A model of one of the kinds, the same whenever it is asked for."""

    @cache
    def found(kind: str) -> StatefulModel:
        if kind == "mixture":
            return MixedModel([found("run"), found("n-gram model")], [0.4, 0.6])
        if kind.endswith("n-gram model"):
            return charlm.load(arpa, open_vocabulary=spelled_run if "spelling" in kind else False)
        return charlm.load(spelled_run, device="cpu", open_vocabulary="spelling" in kind)

    return found
