"""Resuming a run from a stranger, or a damaged one: one line, and nothing outside the run.

Further damages to settings and vocabularies are in test_resume and tests/run.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.run.folder import MODEL, RESUME, RUN, VOCABULARY, is_unfinished, load_info
from charlm.run.stored_weights import read_tensors, write_tensors
from charlm.training import session
from charlm.training.watcher import Silence

TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]


class Stop(Silence):
    """As a crash before the first step."""

    def started(self, *_: object, **__: object) -> None:
        raise ZeroDivisionError


@pytest.fixture
def stopped(train_toy: TrainToy, tmp_path: Path) -> Path:
    """A run that has not made its first step; its text is encoded."""
    with pytest.raises(ZeroDivisionError):
        train_toy(watcher=Stop())
    return tmp_path / "run"


def changed_json(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_counts_that_were_changed_are_refused_though_the_words_are_the_runs(
    train_toy: TrainToy, tiny: Sequence[str], tmp_path: Path
) -> None:
    asked = {"epochs": 1, "overrides": (*tiny, "recipe.criterion.type=nce")}
    train_toy(**asked)
    path = tmp_path / "run" / VOCABULARY
    changed_json(path, lambda value: value["counts"].reverse())
    with pytest.raises(DataError) as caught:
        train_toy(resume=True, **asked)
    assert str(caught.value) == (
        f"{path}: the words are those that run.json names, their counts are not; the run is "
        "damaged; put back the file that it was begun with"
    )


def test_a_run_of_charlm_0_1_which_kept_fewer_hashes_goes_on_without_a_note(
    train_toy: TrainToy, stopped: Path, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    changed_json(
        stopped / RUN, lambda value: (value.pop("counts_sha256"), value.pop("weights_sha256"))
    )
    notes: list[str] = []
    train_toy(resume=True, notes=notes)
    assert notes == []
    assert bits(stopped) == bits(tmp_path / "whole")
    assert load_info(stopped).counts_sha256 is None


@pytest.mark.parametrize("is_hashed", [True, False], ids=["hashed", "of charlm 0.1"])
def test_a_checkpoint_in_which_one_bit_is_another_is_refused(
    is_hashed: bool, train_toy: TrainToy, tmp_path: Path
) -> None:
    asked = {"bptt": 99, "max_time": "0.000001s"}
    train_toy(**asked)
    path = tmp_path / "run" / RESUME
    tensors, meta = read_tensors(path)
    if not is_hashed:
        del meta["sha256"]
        write_tensors(path, tensors, meta=meta)
    content = bytearray(path.read_bytes())
    content[8 + int.from_bytes(content[:8], "little")] ^= 1  # the lowest bit of the first number
    path.write_bytes(content)
    if not is_hashed:
        train_toy(resume=True, **asked)
        return
    with pytest.raises(DataError) as caught:
        train_toy(resume=True, **asked)
    assert str(caught.value) == (
        f"{path}: its numbers are not those that were written (SHA-256); it is damaged; copy it "
        f"again, or begin a new run from the best weights with --init {tmp_path / 'run'}"
    )


@pytest.mark.parametrize(
    "asked",
    [{"epochs": 1}, {"bptt": 99, "max_time": "0.000001s"}],  # the latter stops after one epoch
    ids=["finished", "unfinished"],
)
def test_best_weights_that_are_missing_are_named_and_nothing_is_touched(
    asked: dict[str, Any], train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(**asked)
    path = tmp_path / "run" / MODEL
    path.unlink()
    before = sorted((tmp_path / "run").rglob("*"))
    with pytest.raises(DataError) as caught:
        train_toy(resume=True, **asked)
    assert str(caught.value) == (
        f"{path}: no such file; expected the best weights of the epochs that are done, which no "
        "other file holds; put it back, or begin again with another --out"
    )
    assert sorted((tmp_path / "run").rglob("*")) == before


def test_best_weights_that_are_damaged_are_no_beginning(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    path = tmp_path / "run" / MODEL
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    before = (tmp_path / "run" / RESUME).read_bytes()
    with pytest.raises(DataError, match=rf"{path}: sha256 .*; expected .* damaged or changed"):
        train_toy(epochs=2, resume=True)
    assert (tmp_path / "run" / RESUME).read_bytes() == before


def test_a_link_to_a_folder_in_place_of_the_encoded_text_is_refused(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "letter").write_text("mine")
    link = tmp_path / "run" / "encoded"
    link.symlink_to(tmp_path / "docs")
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True)
    assert str(caught.value) == (
        f"{link}: is a link or a file; expected charlm's own folder; remove it"
    )
    assert os.listdir(tmp_path / "docs") == ["letter"]


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
@pytest.mark.parametrize("name", ["letter", "sub"])
def test_what_is_not_ours_beside_the_encoded_text_is_kept_and_said(
    name: str, make: Callable[[Path], None], stopped: Path, train_toy: TrainToy
) -> None:
    make(stopped / "encoded" / name)
    notes: list[str] = []
    assert train_toy(resume=True, notes=notes).is_finished
    assert os.listdir(stopped / "encoded") == [name]
    assert notes == [
        f"{stopped / 'encoded'}: holds what is not charlm's; the run counts as unfinished until "
        "it is moved away"
    ]


def test_a_folder_under_a_temporary_name_does_not_end_a_training_in_an_error(
    stopped: Path, train_toy: TrainToy
) -> None:
    (stopped / "encoded" / ".train.ids.partial").mkdir()
    notes: list[str] = []
    assert train_toy(resume=True, notes=notes).is_finished
    assert len(notes) == 1


def test_what_a_crash_left_beside_the_encoded_text_goes_with_it(
    stopped: Path, train_toy: TrainToy
) -> None:
    left = [stopped / "encoded" / ".valid.json.partial", stopped / ".encoded.partial"]
    for path in left:
        path.touch()
    assert train_toy(resume=True).is_finished
    assert not any(path.exists() for path in (*left, stopped / "encoded"))


def test_a_file_that_nfs_keeps_since_it_is_mapped_leaves_no_run_unfinished(
    stopped: Path, train_toy: TrainToy, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped = {path.stat().st_ino for path in (stopped / "encoded").glob("*.ids")}
    unlink = Path.unlink

    def keep_mapped(path: Path, missing_ok: bool = False) -> None:
        if path.exists() and path.stat().st_ino in mapped:
            path.rename(path.with_name(f".nfs{path.stat().st_ino}"))
        else:
            unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", keep_mapped)
    notes: list[str] = []
    assert train_toy(resume=True, notes=notes).is_finished
    assert (notes, is_unfinished(stopped)) == ([], False)


def test_half_of_the_encoded_text_is_not_trained_on(
    stopped: Path, train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    ids = stopped / "encoded" / "train.ids"
    ids.write_bytes(ids.read_bytes()[: ids.stat().st_size // 8 * 4])
    train_toy(resume=True)
    train_toy("whole")
    assert bits(stopped) == bits(tmp_path / "whole")


def test_the_recipe_says_whether_spellings_are_kept(
    train_toy: TrainToy, tiny: Sequence[str], tmp_path: Path
) -> None:
    kept = {}
    for oov_input in ("unk", "spelling"):
        overrides = (*tiny, f"recipe.oov_input={oov_input}")
        with pytest.raises(ZeroDivisionError):
            train_toy(oov_input, watcher=Stop(), overrides=overrides)
        value = json.loads((tmp_path / oov_input / "encoded" / "valid.json").read_text())
        ids = np.fromfile(tmp_path / oov_input / "encoded" / "valid.ids", "<i4")
        kept[oov_input] = value["spellings"], int((ids == 1).sum())
    assert kept == {"unk": ([], 2), "spelling": (["validing", "unvalid"], 0)}


def test_a_text_of_another_length_than_run_json_says_is_refused(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    path = tmp_path / "run" / RUN
    n_tokens = json.loads(path.read_text())["corpus"]["valid"]["n_tokens"]
    changed_json(path, lambda value: value["corpus"]["valid"].update(n_tokens=7))
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True)
    assert str(caught.value) == (
        f"valid.txt: read as {n_tokens} tokens; expected the 7 of run.json; the run is damaged"
    )


def test_a_run_that_asks_for_more_than_its_checkpoint_holds_allocates_nothing(
    train_toy: TrainToy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_toy(epochs=1)
    changed_json(
        tmp_path / "run" / RUN, lambda value: value["settings"]["context"].update(dim=60_000)
    )

    def allocate(*_: object) -> None:
        pytest.fail("a model of that size was built")

    monkeypatch.setattr(session, "trainer_of", allocate)
    with pytest.raises(DataError) as caught:
        train_toy(overrides=(), epochs=1, resume=True)
    assert str(caught.value).startswith(f"{tmp_path / 'run' / RESUME}: model.context.layers.0.")
    assert str(caught.value).endswith(", as run.json and vocab.json describe")


@pytest.mark.parametrize(("begun", "epochs"), [(1, 1), (1, 2), (2, 2)])
def test_best_weights_are_not_written_over_where_the_checkpoint_is_missing(
    begun: int, epochs: int, train_toy: TrainToy, tmp_path: Path
) -> None:
    path = tmp_path / "run" / RESUME
    result = train_toy(epochs=begun, stop=path.is_file)  # at the end of the first epoch
    assert (result.is_finished, result.epochs) == (begun == 1, 1)
    path.unlink()
    before = {each: each.read_bytes() for each in (tmp_path / "run").rglob("*") if each.is_file()}
    with pytest.raises(DataError) as caught:
        train_toy(resume=True, epochs=epochs)
    assert str(caught.value) == (
        f"{path}: no such file; expected where the training stands, since it would begin again and "
        "write over the best weights; put it back, or begin another run with them, "
        f"--init {path.parent} --out OTHER"
    )
    after = {each: each.read_bytes() for each in (tmp_path / "run").rglob("*") if each.is_file()}
    assert after == before
