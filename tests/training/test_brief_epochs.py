"""Epochs of seconds, as on a GPU: not each has a checkpoint, and the result does not show it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.run.folder import CARD, LOG
from charlm.training import checkpoint, session
from charlm.training.loop.step import EagerStep
from charlm.training.planning.plan import left_behind
from charlm.training.train_options import TrainOptions
from charlm.training.watcher import Silence


class DiesAt(Silence):
    """Ends the process, as it were, when an epoch is done."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        if record["epoch"] == self.epoch:
            raise KeyboardInterrupt


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A number for each checkpoint; steps run ahead of the host."""
    numbers: list[object] = []
    write = checkpoint._write_position

    def counted(trainer: Any, folder: Path) -> None:
        numbers.append(len(numbers))
        write(trainer, folder)

    monkeypatch.setattr(checkpoint, "_write_position", counted)
    monkeypatch.setattr(EagerStep, "runs_ahead", True)
    return numbers


@pytest.mark.parametrize(("seconds", "n_written"), [(0.0, (5, 3, 2)), (1e9, (1, 0, 1))])
def test_a_training_that_dies_goes_on_from_its_last_checkpoint_or_the_start(
    train_toy: Callable[..., Any],
    bits: Callable[[Path], dict[str, object]],
    written: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    n_written: tuple[int, int, int],
) -> None:
    monkeypatch.setattr(session, "GPU_SECONDS", seconds)
    found = []
    train_toy("whole", epochs=5)
    found.append(len(written))
    with pytest.raises(KeyboardInterrupt):
        train_toy("killed", epochs=5, watcher=DiesAt(3))
    found.append(len(written) - sum(found))
    assert train_toy("killed", epochs=5, resume=True).is_finished
    found.append(len(written) - sum(found))
    assert tuple(found) == n_written
    assert bits(tmp_path / "killed") == bits(tmp_path / "whole")
    cards = [(tmp_path / name / CARD).read_text() for name in ("killed", "whole")]
    assert len({re.sub(r"\| time \|.*", "", card) for card in cards}) == 1


def test_one_that_is_stopped_between_checkpoints_goes_on_where_it_was(
    train_toy: Callable[..., Any],
    bits: Callable[[Path], dict[str, object]],
    written: list[object],
    tmp_path: Path,
) -> None:
    train_toy("whole", epochs=2)
    written.clear()
    n_starts = 1
    while not train_toy("run", epochs=2, max_time="0.000001s", resume=n_starts > 1).is_finished:
        n_starts += 1
    assert len(written) == n_starts > 2
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


@pytest.mark.parametrize(("seconds", "n_drawn"), [(0.0, (3, 5)), (1e9, (1, 2))])
def test_the_curve_is_not_drawn_after_each_of_them_but_the_last_is(
    train_toy: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    n_drawn: tuple[int, int],
) -> None:
    shown: list[int] = []  # epochs in each curve
    monkeypatch.setattr(session, "CURVE_SECONDS", seconds)
    monkeypatch.setattr(session, "save_curve", lambda history, *_, **__: shown.append(len(history)))
    train_toy(epochs=2)
    assert (len(shown), shown[-1]) == (n_drawn[0], 2)
    train_toy(epochs=3, resume=True)
    assert (len(shown), shown[-1]) == (n_drawn[1], 3)


@pytest.mark.parametrize(
    ("is_stopped_first", "left"),
    [
        (False, "holds no checkpoint; --resume would begin again"),
        (True, "holds 1 epoch; go on with --resume"),
    ],
)
def test_epochs_after_the_last_checkpoint_are_not_said_to_be_left(
    train_toy: Callable[..., Any],
    written: list[object],
    tmp_path: Path,
    is_stopped_first: bool,
    left: str,
) -> None:
    if is_stopped_first:
        train_toy(epochs=5, bptt=99, max_time="0.000001s")  # one step an epoch
    with pytest.raises(KeyboardInterrupt):
        train_toy(epochs=5, bptt=99, watcher=DiesAt(3), resume=is_stopped_first)
    assert len((tmp_path / "run" / LOG).read_text().splitlines()) == 3
    assert left_behind(TrainOptions(data="d", out=tmp_path / "run")) == f"{tmp_path / 'run'} {left}"
