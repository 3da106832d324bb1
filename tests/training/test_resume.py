"""A training stopped on purpose resumes to the same bits, and only with its own settings."""

import json
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from charlm.errors import DataError, TrainingError
from charlm.run.folder import LOG, MODEL, RESUME, RUN, VOCABULARY, load_info
from charlm.runtime import versions
from charlm.training import session
from charlm.training import train as command
from charlm.training.loop.trainer import Trainer
from charlm.training.watcher import Silence
from charlm.version import __version__

TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]
STEPS = 6  # three in each of two epochs


class Clock(Silence):
    """A clock that stands still until so many steps are done; then a day has passed."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps, self.now = n_steps, 0.0
        self.n_stepped, self.notes = 0, list[str]()

    def monotonic(self) -> float:
        return self.now

    def stepped(self, trainer: Trainer) -> None:
        self.n_stepped += 1
        if self.n_stepped == self.n_steps:
            self.now = 86_400.0

    def note(self, text: str) -> None:
        self.notes.append(text)


class Counter(Silence):
    """What a resumed training says and does."""

    def __init__(self) -> None:
        self.n_stepped, self.n_started, self.notes = 0, 0, list[str]()

    def started(self, *_: object, **__: object) -> None:
        self.n_started += 1

    def stepped(self, trainer: Trainer) -> None:
        self.n_stepped += 1

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch, train_toy: TrainToy) -> Callable[..., Any]:
    """A training whose --max-time ends after so many steps."""

    def run(n_steps: int, **options: Any) -> Any:
        clock = Clock(n_steps)
        with monkeypatch.context() as patch:
            for module in (session, command):
                patch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
            return train_toy(max_time="90s", watcher=clock, **options)

    return run


@pytest.mark.parametrize("n_steps", range(1, STEPS))
def test_a_training_that_ran_out_of_time_goes_on_to_the_same_bits(
    n_steps: int, stop_after: Callable[..., Any], train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    stopped = stop_after(n_steps)
    assert (stopped.is_finished, stopped.epochs) == (False, n_steps // 3)
    counter = Counter()
    result = train_toy(resume=True, watcher=counter)
    assert (result.is_finished, result.epochs) == (True, 2)
    assert (counter.n_stepped, counter.notes) == (STEPS - n_steps, [])
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_a_training_of_many_sittings_ends_at_the_same_bits(
    stop_after: Callable[..., Any], train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    finished = [stop_after(1, resume=True).is_finished for _ in range(STEPS)]
    assert finished == [False] * (STEPS - 1) + [True]
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


@pytest.mark.parametrize("n_asked", range(1, 9))
def test_a_training_that_is_stopped_anywhere_goes_on_to_the_same_bits(
    n_asked: int, train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    asked = count()  # after each step and epoch, and before each chunk of a validation
    assert not train_toy(stop=lambda: next(asked) >= n_asked).is_finished
    assert train_toy(resume=True).is_finished
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_a_validation_that_is_stopped_is_made_again(
    train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    counter = Counter()
    stopped = train_toy(watcher=counter, stop=lambda: counter.n_stepped == 3)
    assert (stopped.epochs, stopped.steps) == (0, 3)
    assert not (tmp_path / "run" / LOG).exists()
    assert train_toy(resume=True).is_finished
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_time_that_is_over_at_the_very_end_finishes_the_run(stop_after: Callable[..., Any]) -> None:
    assert stop_after(STEPS).is_finished


def test_checkpoints_within_an_epoch_change_nothing(
    train_toy: TrainToy, bits: Bits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_toy("whole")
    monkeypatch.setattr(session, "CHECKPOINT_SECONDS", -1.0)
    train_toy()
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_a_finished_run_that_is_resumed_trains_nothing_and_gives_the_same_result(
    train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    first = train_toy()
    before, names = bits(tmp_path / "run"), sorted((tmp_path / "run").iterdir())
    counter = Counter()
    assert train_toy(resume=True, watcher=counter) == first
    assert (counter.n_stepped, counter.n_started) == (0, 0)
    assert bits(tmp_path / "run") == before
    assert sorted((tmp_path / "run").iterdir()) == names


@pytest.mark.parametrize("n_asked", [3, 9])
def test_a_run_that_is_given_more_epochs_ends_at_the_bits_of_one_that_was_begun_with_them(
    train_toy: TrainToy, bits: Bits, tmp_path: Path, n_asked: int
) -> None:
    train_toy("whole", epochs=n_asked)
    train_toy(epochs=2)
    result = train_toy(epochs=n_asked, resume=True)
    assert (result.is_finished, result.epochs) == (True, n_asked)
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")
    run, whole = load_info(tmp_path / "run"), load_info(tmp_path / "whole")
    assert run.settings == whole.settings
    # Options that are repeated or left out have the values of the run.
    assert train_toy(epochs=None, resume=True) == result


def test_resume_starts_a_run_where_there_is_none(
    train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    notes: list[str] = []
    assert train_toy(resume=True, notes=notes).is_finished
    assert notes == [f"{tmp_path / 'run'} holds no run yet: starting one of char-small"]
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_the_log_is_cut_back_to_the_checkpoint_before_the_first_step(
    stop_after: Callable[..., Any], train_toy: TrainToy, tmp_path: Path
) -> None:
    stop_after(4)
    log = tmp_path / "run" / LOG
    one_epoch = log.read_text()
    log.write_text(one_epoch + one_epoch)  # as if killed between the log and the checkpoint
    with pytest.raises(ZeroDivisionError):
        train_toy(resume=True, watcher=SimpleNamespace(started=lambda *_, **__: 1 / 0))
    assert log.read_text() == one_epoch


@pytest.mark.parametrize("split", ["train", "valid"])
def test_another_text_than_the_run_was_begun_with_is_refused(
    split: str, train_toy: TrainToy, toy_corpus: Path, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    other = tmp_path / "other"
    shutil.copytree(toy_corpus, other)
    with (other / f"{split}.txt").open("a") as file:
        file.write("the dog\n")
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True, data=other)
    # `encoded/` would make a finished run look unfinished.
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before
    assert str(caught.value) == (
        f"{other / split}.txt: not the text that the run was begun with; give that one with --data"
    )


def changed_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("what", "before", "now"),
    [
        ("threads", 2, 1),
        ("device", "cuda", "cpu"),
        ("versions", {**versions(), "torch": "2.11.0"}, versions()),
        ("charlm", "0.0.9", __version__),
    ],
)
def test_a_difference_in_what_bits_depend_on_is_said(
    what: str, before: object, now: object, train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    changed_json(tmp_path / "run" / RUN, **{what: before})
    notes: list[str] = []
    assert train_toy(epochs=1, resume=True, notes=notes).is_finished
    masks = "" if what == "threads" else "dropout may draw other masks; without it, "
    assert notes == [
        f"other {what} than the run's ({before}, now {now}): {masks}results agree closely, "
        "not to the bit"
    ]


def test_a_vocabulary_that_was_exchanged_is_refused(train_toy: TrainToy, tmp_path: Path) -> None:
    train_toy(epochs=1)
    changed_json(tmp_path / "run" / VOCABULARY, max_word_length=9)
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True)
    path = tmp_path / "run" / VOCABULARY
    assert str(caught.value) == (
        f"{path}: not the vocabulary that run.json names; the run is damaged"
    )


def test_an_option_that_the_runs_charlm_did_not_have_takes_its_default(
    train_toy: TrainToy, tmp_path: Path, bits: Bits
) -> None:
    train_toy("whole")
    train_toy("run", epochs=2, max_time="0.000001s")
    path = tmp_path / "run" / RUN
    settings = json.loads(path.read_text())["settings"]
    del settings["recipe"]["batching"]
    changed_json(path, settings=settings)
    train_toy("run", epochs=2, resume=True)
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_a_run_that_says_nothing_to_go_on_with_is_refused(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    changed_json(tmp_path / "run" / RUN, seed=-1)
    with pytest.raises(DataError, match="run.json: says nothing to go on with"):
        train_toy(epochs=1, resume=True)


def test_a_run_without_a_checkpoint_starts_again_from_its_settings(
    train_toy: TrainToy, bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    for name in (RESUME, MODEL, LOG, VOCABULARY):
        (tmp_path / "run" / name).unlink()
    train_toy(resume=True)
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")
    assert (tmp_path / "run" / VOCABULARY).is_file()


def test_encoded_text_that_was_left_by_another_text_is_made_again(
    train_toy: TrainToy, stop_after: Callable[..., Any], bits: Bits, tmp_path: Path
) -> None:
    train_toy("whole")
    stop_after(2)
    path = tmp_path / "run" / "encoded" / "train.json"
    changed_json(path, sha256="0" * 64)
    np.zeros(50, "<i4").tofile(path.with_suffix(".ids"))
    train_toy(resume=True)
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_a_loss_that_is_no_number_keeps_the_last_good_checkpoint(
    stop_after: Callable[..., Any], train_toy: TrainToy, tmp_path: Path
) -> None:
    stop_after(4, lr=1.0)
    kept = {name: (tmp_path / "run" / name).read_bytes() for name in (MODEL, RESUME, LOG)}

    class Poison(Silence):
        def started(self, trainer: Trainer, **_: object) -> None:  # type: ignore[override]
            with torch.no_grad():
                trainer.parameters[0].fill_(torch.nan)

    with pytest.raises(TrainingError) as caught:
        train_toy(resume=True, watcher=Poison())
    assert str(caught.value) == (
        "the loss became nan in epoch 2 at step 2; the last good checkpoint is kept; try a lower "
        "--lr or a smaller --set recipe.clip"
    )
    assert kept == {name: (tmp_path / "run" / name).read_bytes() for name in kept}
