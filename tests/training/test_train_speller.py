"""Spellers of runs: what they learn, when, and that the model beside them does not change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.errors import CharlmError, ConfigError, DataError
from charlm.run.folder import MODEL, SPELLER_WEIGHTS, load_info
from charlm.run.stored_speller import load_speller, speller_info
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory
from charlm.training import train_speller as module
from charlm.training.planning.plan import make_plan
from charlm.training.train_options import TrainOptions
from charlm.training.train_speller import (
    bits_per_character,
    read_spellings,
    train_speller,
    wanted_spellings,
)

TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]
INVENTORY = Inventory(("</s>", "<unk>", "the", "cat"), (3, 4, 2, 2), ("a", "c", "e", "h", "t"))


@pytest.fixture(autouse=True)
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EPOCHS", 2)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A text for --spellings."""
    path = tmp_path / "words.txt"
    path.write_text("the tac <unk>:Ate\ncat <unk>:tac aha <unk>\n")
    return path


def test_each_type_outside_the_vocabulary_is_learned_once(text: Path) -> None:
    spellings = read_spellings(text, INVENTORY)
    assert spellings.types == ("Ate", "aha", "tac")
    assert (spellings.text, spellings.n_too_long) == ("words.txt", 0)


def test_only_the_tokens_that_are_trained_on_are_read(text: Path) -> None:
    assert read_spellings(text, INVENTORY, max_tokens=4).types == ("Ate", "tac")


def test_a_word_longer_than_words_are_is_not_learned(text: Path) -> None:
    text.write_text(f"the tac {'a' * 201} {'a' * 200}\n")
    spellings = read_spellings(text, INVENTORY)
    assert (spellings.types, spellings.n_too_long) == (("a" * 200, "tac"), 1)


@pytest.mark.parametrize(
    ("content", "held"), [("the cat\n", ""), ("the <unk>\n", " but <unk>, unspelled")]
)
def test_nothing_to_learn_is_one_line(text: Path, content: str, held: str) -> None:
    text.write_text(content)
    with pytest.raises(DataError) as caught:
        read_spellings(text, INVENTORY)
    assert str(caught.value) == (
        f"{text}: no word outside the vocabulary{held}; expected some for --speller to learn; "
        "leave it out, or give a text that has some with --spellings"
    )


def test_a_trained_speller_expects_the_words_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EPOCHS", 30)
    types = [f"{a}{b}{c}" for a in "cht" for b in "ae" for c in "cht"]
    trained, bits = train_speller(types, INVENTORY, seed=1)
    torch.manual_seed(1)
    untrained = module.empty_speller(module.SETTINGS, INVENTORY)[0]
    assert bits < 2 < bits_per_character(untrained, types)
    tec, ccc = trained.log_probs(["tec", "ccc"]).tolist()
    assert tec > ccc + 2


def test_a_speller_is_the_same_for_the_same_seed_and_leaves_the_generator_alone() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    words = ["ate", "heat", "hat", "tea"]
    first, second, other = (
        train_speller(words, INVENTORY, seed=seed)[0].log_probs(["that"]).item()
        for seed in (1, 1, 2)
    )
    assert first == second != other
    assert torch.equal(torch.get_rng_state(), before)


def test_one_type_is_enough() -> None:
    assert train_speller(["tea"], INVENTORY, seed=1)[1] > 0


def test_a_training_with_a_speller_ends_with_the_same_weights(
    train_toy: TrainToy, tmp_path: Path, bits: Bits
) -> None:
    train_toy("without")
    notes: list[str] = []
    train_toy("with", speller=True, notes=notes)
    assert bits(tmp_path / "with") == bits(tmp_path / "without")
    info = load_info(tmp_path / "with")
    about = speller_info(tmp_path / "with", info)
    assert about is not None and (about.text, about.n_types) == ("train.txt", 2)
    assert notes[0] == "speller: learning the 2 words of train.txt outside the vocabulary"
    assert " bits a character of words held out; it gives " in notes[1]
    assert "| speller | of 2 words of train.txt outside" in (tmp_path / "with/card.md").read_text()
    assert load_info(tmp_path / "without").speller is None


def test_a_finished_run_gets_a_speller_and_keeps_its_weights(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy("run")
    weights = (tmp_path / "run" / MODEL).read_bytes()
    train_toy("run", resume=True, speller=True)
    assert (tmp_path / "run" / MODEL).read_bytes() == weights
    train_toy("new", speller=True)
    assert (tmp_path / "run" / SPELLER_WEIGHTS).read_bytes() == (
        tmp_path / "new" / SPELLER_WEIGHTS
    ).read_bytes()


def test_a_speller_is_kept_when_the_training_goes_on_and_learned_if_it_was_not(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy("run", speller=True)
    path = tmp_path / "run" / SPELLER_WEIGHTS
    written = path.stat().st_mtime_ns
    content = path.read_bytes()
    train_toy("run", resume=True)
    train_toy("run", resume=True, speller=True)
    assert path.stat().st_mtime_ns == written
    path.unlink()  # as after a crash: run.json comes first
    train_toy("run", resume=True)
    assert path.read_bytes() == content


def test_who_stops_a_training_does_not_wait_for_its_speller(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    notes: list[str] = []
    train_toy("run", speller=True, stop=lambda: True, notes=notes)
    assert notes[1] == "speller: stopped; --resume learns it from its beginning"
    assert not (tmp_path / "run" / SPELLER_WEIGHTS).exists()
    train_toy("run", resume=True)
    train_toy("whole", speller=True)
    for name in (SPELLER_WEIGHTS, MODEL):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("how", ["of other spellings", "cut"])
def test_a_speller_that_is_not_the_one_told_of_is_learned_again(
    train_toy: TrainToy, tmp_path: Path, text: Path, how: str
) -> None:
    train_toy("run", speller=True)
    path = tmp_path / "run" / SPELLER_WEIGHTS
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[:-1])
    else:  # as after a crash, after which a run that had learnt nothing was begun again
        train_toy("other", spellings=text)
        path.write_bytes((tmp_path / "other" / SPELLER_WEIGHTS).read_bytes())
    train_toy("run", resume=True, speller=True)
    assert path.read_bytes() == content


def test_spellings_of_another_text_are_learned_in_the_place_of_the_training_texts(
    train_toy: TrainToy, tmp_path: Path, text: Path
) -> None:
    train_toy("run", spellings=text)
    info = load_info(tmp_path / "run")
    assert info.speller is not None and info.speller["text"] == "words.txt"
    inventory = load_inventory(tmp_path / "run" / "vocab.json")
    assert load_speller(tmp_path / "run", info, inventory=inventory).known_mass > 0
    with pytest.raises(ConfigError) as caught:
        train_toy("run", resume=True, speller=True)
    assert str(caught.value) == (
        f"{tmp_path / 'run' / 'run.json'}: tells of a speller of 3 words of words.txt, not of the "
        "2 of train.txt; give that text with --spellings"
    )


def test_a_corpus_with_literal_unk_alone_is_refused_before_anything_is_written(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    data = tmp_path / "ptb"
    data.mkdir()
    for split in ("train", "valid"):
        (data / f"{split}.txt").write_text("the <unk> sat\n" * 9)
    with pytest.raises(CharlmError, match="no word outside the vocabulary but <unk>, unspelled"):
        train_toy("run", data=data, speller=True)
    assert not (tmp_path / "run").exists()


def test_nothing_is_wanted_where_nothing_was_asked(toy_corpus: Path, tmp_path: Path) -> None:
    options = TrainOptions(data=toy_corpus, out=tmp_path / "run", device="cpu")
    assert wanted_spellings(options, INVENTORY, plan=make_plan(options)) is None
