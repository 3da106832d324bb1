"""What a training says of itself that its user would not expect, or refuses before it begins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import ConfigError
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.prepare import prepare
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.train import Silence


class Listener(Silence):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_run_to_resume_that_is_not_there_is_begun_and_said(
    train_toy: Callable[..., Any], tmp_path: Path
) -> None:
    listener = Listener()
    train_toy("typo", epochs=1, resume=True, watcher=listener)
    assert listener.notes == [f"{tmp_path / 'typo'} holds no run yet: starting one"]


def test_a_vocabulary_of_other_text_rules_than_the_corpus_is_said(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text((toy_corpus / "train.txt").read_text().upper())
    prepare(raw, out=tmp_path / "lowered", lower=True)
    inventory_of([["a", "b"]], min_count=1).save(tmp_path / "v.json")
    listener = Listener()
    train_toy(data=tmp_path / "lowered", vocab=tmp_path / "v.json", epochs=1, watcher=listener)
    assert listener.notes == [
        "the vocabulary's text rules (NFC) are not those that the corpus was prepared with "
        "(NFC+lower); the vocabulary's are applied"
    ]


def test_a_vocabulary_of_the_corpus_own_rules_says_nothing(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    prepare(toy_corpus / "train.txt", out=tmp_path / "lowered", lower=True)
    rules = Normalisation(lower=True)
    inventory_of([["a", "b"]], min_count=1, normalisation=rules).save(tmp_path / "v.json")
    listener = Listener()
    train_toy(data=tmp_path / "lowered", vocab=tmp_path / "v.json", epochs=1, watcher=listener)
    assert listener.notes == []


def test_a_word_model_cannot_be_told_to_read_spellings(
    train_toy: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        train_toy(arch="word-small", overrides=["recipe.oov_input=spelling"])
    assert str(caught.value) == (
        "option 'oov_input' of recipe is 'spelling'; expected 'unk', since encoder 'word' reads "
        "no spelling"
    )
    assert not (tmp_path / "run").exists()
