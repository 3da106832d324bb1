"""A checkpoint that no training could have written is refused in one line, and never written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.errors import DataError
from charlm.run.folder import LOG, RESUME
from charlm.run.stored_weights import read_tensors, write_tensors
from charlm.training import checkpoint

TrainToy = Callable[..., Any]
Damage = Callable[[Any, Any], object]
Damaged = Callable[..., Path]
STEPS = 3  # steps of an epoch


def history(**changes: Any) -> Damage:
    return lambda tensors, meta: meta["position"]["history"][0].update(changes)


def position(**changes: Any) -> Damage:
    return lambda tensors, meta: meta["position"].update(changes)


@pytest.fixture(scope="module")
def trained() -> dict[str, Path]:
    """Runs after an epoch, by what was asked for; each test damages a copy."""
    return {}


@pytest.fixture
def damaged(
    train_toy: TrainToy,
    trained: dict[str, Path],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Damaged:
    """Damages the checkpoint of a run after an epoch, and gives its path."""

    def made(damage: Damage, **asked: Any) -> Path:
        key, run = repr(asked), tmp_path / "run"
        if key in trained:
            shutil.copytree(trained[key], run)
        else:
            train_toy(epochs=1, **asked)
            trained[key] = shutil.copytree(run, tmp_path_factory.mktemp("trained") / "run")
        tensors, meta = read_tensors(run / RESUME)
        damage(tensors, meta)
        write_tensors(run / RESUME, tensors, meta=meta)
        return run / RESUME

    return made


HISTORY = "its history is not that of its epochs"
EXP_AVG = "optimiser.1.exp_avg"


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (position(step=STEPS + 1, n_tokens=9), f"step is not between 0 and {STEPS}"),
        (position(step="1"), "step is of a wrong type"),
        (position(steps=1), "Position.__init__() got an unexpected "),
        (position(step=-1), f"step is not between 0 and {STEPS}"),
        (position(step=2, n_tokens=1), "n_tokens is less than its steps"),
        (position(n_tokens=1 << 64), "n_tokens is not between 0 and 9.22337e+18"),
        (position(n_clipped=1), "n_clipped is not between 0 and 0"),
        (position(nll_tokens=1 << 40), "nll_tokens is not between 0 and "),
        (position(nll=-0.5), "nll is not between 0 and 1.79769e+308"),
        (position(seconds=-0.5), "seconds is not between 0 and 1.79769e+308"),
        (position(rate=-0.5), "rate is not between 0 and 1e+06"),
        (position(rate=1e7), "rate is not between 0 and 1e+06"),
        (position(epoch=0), HISTORY),
        (position(epoch=2), HISTORY),
        (position(epoch=-1, history=[]), HISTORY),
        (position(history=[7]), HISTORY),
        (lambda t, m: m["position"]["history"][0].pop("clipped"), HISTORY),
        (history(epoch=2), HISTORY),
        (history(epoch=1.0), HISTORY),
        (history(seconds="1"), HISTORY),
        (history(rate=True), HISTORY),
        (history(warning=1), HISTORY),
        (history(rate=1e308), HISTORY),  # no axis of a picture takes it
        (history(valid_ppl=0), HISTORY),
        (history(train_ppl=-1.0), HISTORY),
        (history(n_tokens=10**400), HISTORY),
        (history(more=[]), HISTORY),
        (lambda t, m: t.pop("state.1"), "'state.1'"),
        (lambda t, m: t.update({"state.0": torch.zeros(9, 5)}), "state.0 has another shape"),
        (
            lambda t, m: t.update({"state.0": t["state.0"].double()}),
            "state.0 has another number format",
        ),
        (lambda t, m: t["state.1"].fill_(torch.inf), "state.1 holds NaN or infinity"),
        (lambda t, m: t.pop("generator.cpu"), "'cpu'"),
        (lambda t, m: t.update({"generator.cpu": torch.zeros(3)}), "RNG state must be a "),
    ],
)
def test_a_checkpoint_that_is_not_of_this_run_is_refused(
    damage: Damage, found: str, train_toy: TrainToy, damaged: Damaged
) -> None:
    path = damaged(damage)
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True)
    assert str(caught.value).startswith(f"{path}: not a checkpoint of this run ({found}")
    assert str(caught.value).endswith("); it is damaged")


def test_a_checkpoint_without_a_position_is_refused(train_toy: TrainToy, damaged: Damaged) -> None:
    path = damaged(lambda t, m: m.pop("position"))
    with pytest.raises(DataError, match=rf"^{path}: tells no position; the run is damaged$"):
        train_toy(epochs=1, resume=True)


def test_a_machine_without_the_memory_for_it_is_no_damage(
    train_toy: TrainToy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    train_toy(epochs=1)
    monkeypatch.setattr(checkpoint, "_restore_optimiser", too_large)
    with pytest.raises(torch.OutOfMemoryError):
        train_toy(epochs=2, resume=True)


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda t, m: t.pop("average.1"), "'average.1'"),
        (lambda t, m: t.update({"average.1": torch.zeros(2)}), "average.1 has another shape"),
        (
            lambda t, m: t.update({"average.1": t["average.1"].double()}),
            "average.1 has another num",
        ),
        (lambda t, m: t["average.1"].fill_(torch.nan), "average.1 holds NaN or infinity"),
        (lambda t, m: t.update({EXP_AVG: torch.zeros(1)}), f"{EXP_AVG} has another shape"),
        (lambda t, m: t.update({"optimiser.1.step": torch.zeros(2)}), "optimiser.1.step has anot"),
        (lambda t, m: t.update({EXP_AVG: t[EXP_AVG].double()}), f"{EXP_AVG} has another number f"),
        (
            lambda t, m: t.update({"optimiser.1.step": t["optimiser.1.step"].bool()}),
            "optimiser.1.step has another number format",
        ),
        (lambda t, m: t["optimiser.1.step"].fill_(-1), "optimiser.1.step is not a finite number o"),
        (lambda t, m: t["optimiser.1.step"].fill_(torch.nan), "optimiser.1.step is not a finite"),
        (lambda t, m: t.pop(EXP_AVG), "'exp_avg'"),
        (lambda t, m: t.update({"optimiser.99.step": torch.zeros(1)}), "99"),
    ],
)
def test_what_optimiser_and_averages_could_not_go_on_with_is_refused(
    damage: Damage, found: str, train_toy: TrainToy, damaged: Damaged
) -> None:
    overrides = ("context.dim=5", "recipe.optimiser.type=adam", "recipe.averaging.type=ema")
    path = damaged(damage, overrides=overrides)
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True, overrides=overrides)
    assert str(caught.value).startswith(f"{path}: not a checkpoint of this run ({found}")


def test_a_record_with_one_more_number_is_gone_on_with(
    train_toy: TrainToy, damaged: Damaged, tmp_path: Path
) -> None:
    damaged(history(minutes=0.5))
    assert train_toy(epochs=1, resume=True).is_finished
    assert json.loads((tmp_path / "run" / LOG).read_text())["minutes"] == 0.5


BIAS = "model.output.words.bias"


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (
            lambda t, m: t.pop(BIAS),
            f"{BIAS} is missing; expected the weights that run.json describes",
        ),
        (
            lambda t, m: t[BIAS].fill_(torch.nan),
            "output.words.bias holds NaN or infinity; the run is damaged",
        ),
    ],
)
def test_weights_of_another_model_are_refused(
    damage: Damage, line: str, train_toy: TrainToy, damaged: Damaged
) -> None:
    path = damaged(damage)
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True)
    assert str(caught.value) == f"{path}: {line}"


def test_clusters_that_are_no_partition_are_refused(train_toy: TrainToy, damaged: Damaged) -> None:
    asked = {"overrides": ("context.dim=5", "output.type=hierarchical")}
    clusters = "model.output.levels.cluster_V"
    path = damaged(lambda t, m: t[clusters].fill_(1 << 40), **asked)
    with pytest.raises(DataError) as caught:
        train_toy(epochs=1, resume=True, **asked)
    assert str(caught.value) == (
        f"{path}: cluster_V does not put the 12 words into 4 clusters of one or more; the run is "
        "damaged, or has no checkpoint yet; train anew"
    )


def test_the_weights_are_searched_for_nan_once_an_epoch(
    train_toy: TrainToy, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []
    real = checkpoint._refuse_broken
    monkeypatch.setattr(checkpoint, "_refuse_broken", lambda t: (searched.append(t), real(t)))
    train_toy(epochs=2)
    assert len(searched) == 2
