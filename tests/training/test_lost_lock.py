"""A training whose folder was taken away writes nothing more, least of all into another run."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import TrainingError
from charlm.run.folder import LOCK, RUN, locked
from charlm.training import session
from charlm.training.loop.trainer import Trainer
from charlm.training.watcher import Silence

TrainToy = Callable[..., Any]


class Thief(Silence):
    """Does something to the run after so many steps, or when these words are logged."""

    def __init__(self, act: Callable[[], object], *, n_steps: int = 0, words: str = "-") -> None:
        self.act, self.n_steps, self.words = act, n_steps, words

    def stepped(self, trainer: Trainer) -> None:
        self.n_steps -= 1
        if self.n_steps == 0:
            self.act()

    def note(self, text: str) -> None:
        if text.startswith(self.words):
            self.act()


def line_of(folder: Path) -> str:
    return (
        f"{folder}: its lock is gone or another's, so the folder was removed or replaced under "
        "this training; nothing more is written to it; begin again with another --out"
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("n_steps", [2, 3], ids=["within an epoch", "at the end of one"])
def test_a_training_into_the_same_name_is_left_alone_by_the_one_that_was_removed(
    n_steps: int, train_toy: TrainToy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if n_steps == 2:
        monkeypatch.setattr(session, "CHECKPOINT_SECONDS", -1.0)
    kept = {}

    def replace() -> None:
        shutil.rmtree(tmp_path / "run")
        train_toy(epochs=1, seed=4)
        kept.update(contents(tmp_path / "run"))

    with pytest.raises(TrainingError) as caught:
        train_toy(watcher=Thief(replace, n_steps=n_steps))
    assert str(caught.value) == line_of(tmp_path / "run")
    assert contents(tmp_path / "run") == kept


def test_a_training_whose_folder_was_removed_says_so_and_does_not_make_it_again(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError) as caught:
        train_toy(watcher=Thief(lambda: shutil.rmtree(tmp_path / "run"), n_steps=1))
    assert str(caught.value) == line_of(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", ["speller: learning", "softmax temperature"])
def test_what_is_made_beside_the_steps_is_not_written_either(
    words: str, train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("catty doggy\nhorsing unhorsed\n")
    asked = {
        "overrides": (*tiny, "recipe.temperature=valid"),
        "spellings": tmp_path / "words.txt",
        "epochs": 1,
    }
    kept = {}

    def replace() -> None:
        (tmp_path / "run" / LOCK).unlink()
        (tmp_path / "run" / LOCK).touch()
        kept.update(contents(tmp_path / "run"))

    with pytest.raises(TrainingError) as caught:
        train_toy(watcher=Thief(replace, words=words), **asked)
    assert str(caught.value) == line_of(tmp_path / "run")
    assert contents(tmp_path / "run") == kept


def test_a_folder_that_is_replaced_while_its_lock_is_taken_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(descriptor: int, how: int) -> None:
        (tmp_path / LOCK).unlink()

    monkeypatch.setattr("fcntl.flock", take)
    with pytest.raises(TrainingError) as caught, locked(tmp_path):
        (tmp_path / RUN).touch()
    assert str(caught.value) == line_of(tmp_path)
    assert not (tmp_path / RUN).exists()
