"""Word vectors kept with the run: used if they belong to the run, else computed again."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from charlm.insight.vectors import cache
from charlm.insight.vectors.cache import kept_path, unit_vectors
from charlm.insight.vectors.neighbours import neighbours
from charlm.insight.vectors.taps import Vectors
from charlm.run.stored_weights import load_run
from charlm.text.vocabulary.vocabulary import load_inventory

MakeRun = Callable[..., Path]
AXES = {"a": [3.0, 0.0], "b": [2.0, 1.0], "c": [0.0, 5.0], "d": [0.0, 0.0]}


@pytest.fixture(autouse=True)
def _keep_small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LEAST_KEPT", 0)


def refuse(*_: object) -> None:
    raise AssertionError("encoded again")


def nearest(run: Path, word: str) -> list[str]:
    (found,) = neighbours(word, model=run, device="cpu")
    return [near.word for near in found.nearest]


def test_the_file_is_read_by_the_library_and_holds_unit_vectors_in_fp16(
    run_of_vectors: MakeRun,
) -> None:
    run = run_of_vectors(AXES)
    kept = unit_vectors(Vectors(load_run(run)), "word")
    with safe_open(kept_path(run, "word"), framework="np") as file:
        (name,) = file.keys()
        stored = file.get_tensor(name)
    assert kept_path(run, "word").name == "vectors-word.safetensors"
    assert (stored.dtype, stored.shape) == (np.float16, (6, 2))
    expected = [[1, 0], [np.float16(2 / 5**0.5), np.float16(5**-0.5)], [0, 1], [0, 0]]
    assert stored[2:].tolist() == expected
    assert torch.equal(kept, torch.from_numpy(stored))


@pytest.mark.parametrize("name", ["plain", os.fsdecode(b"no utf-8: caf\xe9")])
def test_a_second_question_is_answered_from_the_file(
    name: str, run_of_vectors: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of_vectors(AXES).rename(tmp_path / name)
    first = neighbours(["a", "c"], model=run, device="cpu")
    monkeypatch.setattr(cache, "_blocks", refuse)
    assert neighbours(["a", "c"], model=run, device="cpu") == first


def test_a_run_of_other_weights_is_never_answered_from_the_old_file(
    run_of_vectors: MakeRun,
) -> None:
    assert nearest(run_of_vectors(AXES), "a") == ["b", "c", "d"]
    retrained = run_of_vectors({**AXES, "b": [-1.0, 0.0]})
    assert nearest(retrained, "a") == ["c", "d", "b"]


@pytest.mark.parametrize("part", ["settings", "words"])
def test_a_run_of_other_settings_or_words_gets_a_new_file(
    run_of_vectors: MakeRun, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of_vectors(AXES)
    nearest(run, "a")
    described = json.loads((run / "run.json").read_text())
    if part == "settings":
        described["settings"]["recipe"]["epochs"] = 2
    else:
        vocabulary = json.loads((run / "vocab.json").read_text())
        vocabulary["words"][3] = "e"
        (run / "vocab.json").write_text(json.dumps(vocabulary))
        described["vocabulary_sha256"] = load_inventory(run / "vocab.json").sha256
    (run / "run.json").write_text(json.dumps(described))
    monkeypatch.setattr(cache, "_blocks", refuse)
    with pytest.raises(AssertionError, match="encoded again"):
        nearest(run, "a")


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "folder"])
def test_a_damaged_file_is_made_again_or_done_without(run_of_vectors: MakeRun, damage: str) -> None:
    run = run_of_vectors(AXES)
    expected = nearest(run, "a")
    path = kept_path(run, "word")
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "foreign":
        shutil.copy(run / "model.safetensors", path)
    else:
        path.write_bytes(whole[:-4] if damage == "cut" else b"")
    assert nearest(run, "a") == expected
    assert path.is_dir() or path.read_bytes() == whole


def test_a_shape_that_a_stranger_made_up_is_not_read(run_of_vectors: MakeRun) -> None:
    run = run_of_vectors(AXES)
    expected = nearest(run, "a")
    path = kept_path(run, "word")
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    header["vectors"] |= {"shape": [(1 << 64) - 1, 0], "data_offsets": [0, 0]}
    made_up = json.dumps(header).encode()
    path.write_bytes(len(made_up).to_bytes(8, "little") + made_up)
    assert nearest(run, "a") == expected
    assert path.read_bytes() == whole


def test_a_run_that_cannot_be_written_is_asked_in_memory_and_that_is_told(
    run_of_vectors: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of_vectors(AXES)
    expected = nearest(run, "a")
    kept_path(run, "word").unlink()

    def no_room(path: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(cache, "atomic_write", no_room)
    told: list[str] = []
    (found,) = neighbours("a", model=run, device="cpu", on_stage=told.append)
    assert [near.word for near in found.nearest] == expected
    assert told == [
        f"{run}/vectors-word.safetensors: made once, of 6 words",
        f"{run}/vectors-word.safetensors: not written (Read-only file system); the vectors are "
        "kept in memory",
    ]
    assert not kept_path(run, "word").exists()


def test_a_small_vocabulary_leaves_no_file(
    run_of_vectors: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of_vectors(AXES)
    before = sorted(run.iterdir())
    monkeypatch.setattr(cache, "LEAST_KEPT", 7)
    nearest(run, "a")
    assert sorted(run.iterdir()) == before
    monkeypatch.setattr(cache, "LEAST_KEPT", 6)
    nearest(run, "a")
    assert len(list(run.iterdir())) == len(before) + 1
