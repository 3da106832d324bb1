"""Verifying a run's files against what it recorded: what no longer fits, what cannot be checked."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from charlm.run import verification
from charlm.run.folder import (
    CARD,
    CURVE,
    ENCODED,
    LOG,
    MODEL,
    RESUME,
    RUN,
    SPELLER_WEIGHTS,
    VOCABULARY,
    RunInfo,
)
from charlm.run.stored_speller import SpellerInfo, empty_speller
from charlm.run.stored_weights import load_words, read_tensors, save_best, write_tensors
from charlm.run.verification import FileCheck, verified
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory
from charlm.training.train_speller import SETTINGS

Damage = Callable[[Path], object]


def changed(name: str, change: Callable[[Any], object]) -> Damage:
    def damage(run: Path) -> None:
        value = json.loads((run / name).read_text())
        change(value)
        (run / name).write_text(json.dumps(value))

    return damage


def flipped(name: str) -> Damage:
    """Changes the last bit of a file: of safetensors that of a weight."""

    def damage(run: Path) -> None:
        content = bytearray((run / name).read_bytes())
        content[-1] ^= 1
        (run / name).write_bytes(content)

    return damage


def of_epoch(number: int) -> Damage:
    """Gives the run weights of another epoch, as a copy from another training does."""

    def damage(run: Path) -> None:
        tensors, meta = read_tensors(run / MODEL)
        write_tensors(run / MODEL, tensors, meta={**meta, "epoch": number})
        record(run)

    return damage


def record(run: Path) -> None:
    hash_now = sha256_of(run / MODEL)
    changed(RUN, lambda value: value.update(weights_sha256=hash_now))(run)


def without_a_weight(run: Path) -> None:
    tensors, meta = read_tensors(run / RESUME)
    del tensors["model.output.words.bias"]
    write_tensors(run / RESUME, tensors, meta=meta)


def twice(run: Path) -> None:
    line = (run / LOG).read_text()
    second = json.dumps({**json.loads(line), "epoch": 2, "valid_ppl": 1e6})
    (run / LOG).write_text(f"{line}{second}\n")


def with_speller(run: Path) -> None:
    """Lets the run tell of a speller, as before one is trained."""
    _, settings = empty_speller(SETTINGS, load_inventory(run / VOCABULARY))
    about = SpellerInfo(settings, "train.txt", 1, "0")
    changed(RUN, lambda value: value.update(speller=asdict(about)))(run)


def found_in(run: Path) -> dict[str, tuple[bool | None, str]]:
    return {each.name: (each.fits, each.found) for each in verified(run).files}


def test_the_files_of_a_finished_run_fit(tiny_run: Path) -> None:
    drawn = (None, "drawn from the log")
    assert found_in(tiny_run) == {
        VOCABULARY: (True, "words and counts as recorded"),
        RUN: (True, "its settings make a model"),
        MODEL: (True, "epoch 1, sha256 as recorded"),
        RESUME: (True, "after epoch 1, shapes as run.json describes"),
        LOG: (True, "up to epoch 1, as resume.safetensors has them"),
        CARD: drawn,
        CURVE: drawn,
    }
    assert verified(tiny_run).misfits == ()


def test_better_weights_that_a_training_saves_meanwhile_fit(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    (run / ENCODED).mkdir()

    def saved_meanwhile(folder: Path, info: RunInfo) -> Inventory:
        tensors, meta = read_tensors(folder / MODEL)
        save_best(folder, {name: tensor + 1 for name, tensor in tensors.items()}, meta=meta)
        return load_words(folder, info)

    monkeypatch.setattr(verification, "load_words", saved_meanwhile)
    assert verified(run).misfits == ()


DAMAGES: dict[str, tuple[Damage, str, str]] = {
    "one bit of a checkpoint": (
        flipped(RESUME),
        RESUME,
        "its numbers are not those that were written (SHA-256)",
    ),
    "counts": (
        changed(VOCABULARY, lambda value: value["counts"].reverse()),
        VOCABULARY,
        "the words are those that run.json names, their counts are not; ",
    ),
    "words": (
        changed(VOCABULARY, lambda value: value["words"].reverse()),
        VOCABULARY,
        "words begin with ",
    ),
    "no vocabulary": (
        lambda run: (run / VOCABULARY).unlink(),
        VOCABULARY,
        "no such file; the run is damaged",
    ),
    "settings": (
        changed(RUN, lambda value: value["settings"]["context"].update(dmi=3)),
        RUN,
        "context 'lstm' has no option 'dmi'",
    ),
    "nothing to go on with": (
        changed(RUN, lambda value: value.update(seed=-1)),
        RUN,
        "says nothing to go on with; the run is damaged",
    ),
    "one bit of a weight": (flipped(MODEL), MODEL, "sha256 "),
    "no weights": (
        lambda run: (run / MODEL).unlink(),
        MODEL,
        "no such file; expected the weights of the best epoch",
    ),
    "weights of another epoch": (
        of_epoch(3),
        MODEL,
        "weights of epoch 3; expected those of 1, log.jsonl's best",
    ),
    "a checkpoint of another model": (
        without_a_weight,
        RESUME,
        "model.output.words.bias is missing; expected the weights that run.json describes",
    ),
    "a checkpoint without a position": (
        lambda run: write_tensors(run / RESUME, read_tensors(run / RESUME)[0], meta={}),
        RESUME,
        "tells no position; the run is damaged",
    ),
    "a cut checkpoint": (
        lambda run: (run / RESUME).write_bytes((run / RESUME).read_bytes()[:-1]),
        RESUME,
        "cut or damaged (",
    ),
    "more epochs in the log": (twice, LOG, "its 2 records are not the 1 of resume.safetensors"),
    "no log": (
        lambda run: (run / LOG).unlink(),
        LOG,
        "its 0 records are not the 1 of resume.safetensors",
    ),
    "a speller that is not there": (
        with_speller,
        SPELLER_WEIGHTS,
        "no such file; --resume trains it again",
    ),
    "a speller that is none": (
        lambda run: (with_speller(run), (run / SPELLER_WEIGHTS).touch()),
        SPELLER_WEIGHTS,
        "cut or damaged (",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_the_file_that_was_damaged_is_named_with_what_was_found(
    copied_run: Path, kind: str
) -> None:
    damage, name, found = DAMAGES[kind]
    damage(copied_run)
    (check,) = (each for each in verified(copied_run).files if each.name == name)
    assert check.fits is False
    assert check.found.startswith(found.format(run=copied_run))
    assert name in verified(copied_run).misfits


def test_what_needs_the_vocabulary_is_not_blamed_for_it(copied_run: Path) -> None:
    changed(VOCABULARY, lambda value: value["counts"].reverse())(copied_run)
    assert verified(copied_run).misfits == (VOCABULARY,)
    found = found_in(copied_run)
    assert found[RUN] == found[RESUME] == (None, "not compared, since vocab.json fits no more")
    assert found[MODEL] == (True, "epoch 1, sha256 as recorded")


def test_a_part_that_this_program_does_not_know_is_no_damage(copied_run: Path) -> None:
    changed(RUN, lambda value: value["settings"]["encoder"].update(type="letter-bag"))(copied_run)
    assert verified(copied_run).misfits == ()
    state, why = found_in(copied_run)[RUN]
    assert state is None and why.startswith("unknown encoder 'letter-bag'; expected one of word, ")
    assert why.endswith("; a part of one's own is known to programs that add it")
    assert found_in(copied_run)[RESUME] == (None, "not compared, since run.json makes no model")


@pytest.mark.parametrize("kind", ["a cut checkpoint", "a checkpoint without a position"])
def test_the_log_is_not_blamed_for_the_checkpoint(copied_run: Path, kind: str) -> None:
    DAMAGES[kind][0](copied_run)
    assert verified(copied_run).misfits == (RESUME,)
    assert found_in(copied_run)[LOG] == (
        None,
        "not compared, since resume.safetensors fits no more",
    )


def test_a_run_of_charlm_0_1_is_checked_as_far_as_it_recorded(copied_run: Path) -> None:
    changed(RUN, lambda v: (v.pop("counts_sha256"), v.pop("weights_sha256")))(copied_run)
    flipped(MODEL)(copied_run)
    found = found_in(copied_run)
    assert found[VOCABULARY] == (True, "words as recorded; no hash of the counts, as in charlm 0.1")
    assert found[MODEL] == (None, "no hash, as in charlm 0.1; weights of epoch 1 that fit")


def test_what_a_killed_training_leaves_behind_says_that_resuming_mends_it(copied_run: Path) -> None:
    (copied_run / ENCODED).mkdir()
    twice(copied_run)
    of_epoch(2)(copied_run)
    assert verified(copied_run).misfits == ()
    flipped(MODEL)(copied_run)
    (check,) = (each for each in verified(copied_run).files if each.fits is False)
    assert check.name == MODEL
    assert check.found.endswith("; if the training was killed, --resume mends it")


def test_a_speller_that_is_still_to_be_trained_is_no_misfit(copied_run: Path) -> None:
    with_speller(copied_run)
    (copied_run / ENCODED).mkdir()
    assert found_in(copied_run)[SPELLER_WEIGHTS] == (None, "none yet; --resume trains it")


def test_a_run_that_was_only_begun_has_nothing_that_fits_no_more(copied_run: Path) -> None:
    for name in (MODEL, RESUME, LOG, CARD, CURVE):
        (copied_run / name).unlink()
    verification = verified(copied_run)
    assert verification.misfits == ()
    assert verification.files[2:4] == (
        FileCheck(MODEL, None, "none before the first epoch is done"),
        FileCheck(RESUME, None, "missing; --resume would begin again"),
    )
