"""Loading a speller: whole, of this run and of the right shape, or one line."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError, DataError
from charlm.run.folder import RUN, SPELLER_WEIGHTS, RunInfo, load_info
from charlm.run.stored_speller import (
    SpellerInfo,
    empty_speller,
    load_speller,
    save_speller,
    speller_info,
)
from charlm.run.stored_weights import read_tensors, write_tensors
from charlm.text.io.files import read_json, write_json
from charlm.text.vocabulary.vocabulary import load_inventory

SETTINGS = {"type": "lstm", "dim": 3, "hidden_dim": 4}
ABOUT = SpellerInfo(SETTINGS, "train.txt", 5, "abc")


@pytest.fixture
def spelled_run(copied_run: Path) -> Path:
    """A run with a speller whose known words have a quarter of the probability."""
    inventory = load_inventory(copied_run / "vocab.json")
    torch.manual_seed(2)
    speller, _ = empty_speller(SETTINGS, inventory)
    replace(load_info(copied_run), speller=asdict(ABOUT)).save(copied_run)
    save_speller(copied_run, speller, about=ABOUT, known_mass=0.25, bits_per_character=2.5)
    return copied_run


def load(run: Path) -> Any:
    return load_speller(run, load_info(run), inventory=load_inventory(run / "vocab.json"))


def changed(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    value = read_json(run / RUN)
    change(value)
    write_json(run / RUN, value)


def test_a_speller_comes_back_as_it_was_saved(spelled_run: Path) -> None:
    found = load(spelled_run)
    torch.manual_seed(2)
    expected, _ = empty_speller(SETTINGS, load_inventory(spelled_run / "vocab.json"))
    words = ["cat", "birds", "日"]
    assert found.speller.log_probs(words).tolist() == expected.log_probs(words).tolist()
    assert found.known_mass == 0.25
    assert not found.speller.training
    assert speller_info(spelled_run, load_info(spelled_run)) == ABOUT


@pytest.mark.parametrize("lacks", ["the file", "the word of it"])
def test_a_run_without_a_speller_says_how_to_add_one(spelled_run: Path, lacks: str) -> None:
    if lacks == "the file":
        (spelled_run / SPELLER_WEIGHTS).unlink()
    else:
        changed(spelled_run, lambda value: value.pop("speller"))
    with pytest.raises(ConfigError) as caught:
        load(spelled_run)
    assert str(caught.value) == (
        f"{spelled_run}: the run has no speller; expected one for an open vocabulary; add it with "
        "`charlm train --resume --speller`"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v["speller"].pop("text"), "run.json: says of its speller what charlm does not"),
        (lambda v: v["speller"].update(n_types="5"), "run.json: says of its speller what charlm"),
        (lambda v: v["speller"].update(path="/etc"), "run.json: says of its speller what charlm"),
        (
            lambda v: v["speller"]["settings"].update(type="gpt"),
            "run.json: unknown speller 'gpt'; expected one of lstm",
        ),
        (
            lambda v: v["speller"]["settings"].update(hidden_dim=10**9),
            "run.json: option 'hidden_dim' of speller 'lstm' is 1000000000; expected 1 to 65536",
        ),
        (
            # It would take 17 GB if it were allocated before the comparison.
            lambda v: v["speller"]["settings"].update(hidden_dim=65536),
            "speller.safetensors: reader.weight_ih_l0 is 16 by 3; expected 262144 by 3, as run",
        ),
        (
            lambda v: v["speller"].update(types_sha256="other"),
            "speller.safetensors: learned other spellings than run.json says; the run is damaged",
        ),
    ],
)
def test_what_run_json_may_not_say_is_one_line(
    spelled_run: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    changed(spelled_run, change)
    with pytest.raises(DataError) as caught:
        load(spelled_run)
    assert str(caught.value).startswith(f"{spelled_run}/{message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("meta", "shown"),
    [
        ({"known_mass": 1.0}, "1.0"),
        ({"known_mass": -0.1}, "-0.1"),
        ({"known_mass": "0"}, "'0'"),
        ({"known_mass": None}, "None"),
        ({"bits_per_character": None}, "0.25"),
    ],
)
def test_a_mass_that_is_no_share_is_one_line(
    spelled_run: Path, meta: dict[str, Any], shown: str
) -> None:
    path = spelled_run / SPELLER_WEIGHTS
    tensors, own = read_tensors(path)
    write_tensors(path, tensors, meta={**own, **meta})
    with pytest.raises(DataError) as caught:
        load(spelled_run)
    assert str(caught.value) == (
        f"{path}: known words' mass {shown}; expected a number from 0 up to 1, and bits per "
        "character; the run is damaged"
    )


def test_runs_from_before_there_were_spellers_load(copied_run: Path) -> None:
    changed(copied_run, lambda value: value.pop("speller"))
    info = load_info(copied_run)
    assert isinstance(info, RunInfo) and info.speller is None
    assert speller_info(copied_run, info) is None
