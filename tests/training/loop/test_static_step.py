"""Steps of tensors that stay where they are, on the CPU, against the ordinary ones."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.errors import TrainingError
from charlm.model.encoders.char_cnn import CharCNN
from charlm.run.folder import LOG, MODEL, RESUME
from charlm.run.stored_weights import read_tensors
from charlm.training import session
from charlm.training.checkpoint import save_position
from charlm.training.loop import static_step, trainer
from charlm.training.loop.capturable import is_capturable
from charlm.training.loop.graphs import Function
from charlm.training.loop.static_step import StaticSteps
from charlm.training.loop.trainer import Trainer
from charlm.training.train import Silence

TrainToy = Callable[..., Any]
MODERN = (
    "context.dropout=0",
    "recipe.activation_penalty=2",
    "recipe.temporal_penalty=1",
    "recipe.past_decode_penalty=0.5",
    "recipe.divisor=tokens",
    "recipe.clip=0.5",
    "recipe.batching.shuffle=partial",
    "recipe.averaging.type=ema",
    "recipe.optimiser.type=adam",
    "recipe.optimiser.lr=0.01",
    "recipe.schedule.type=linear",
    "recipe.oov_input=spelling",
)


class Kept(Silence):
    """Keeps the trainer."""

    trainer: Trainer

    def started(self, trainer: Trainer, **_: Any) -> None:
        self.trainer = trainer


@pytest.fixture
def made_static(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, trainers make static steps, and the CNN does as on a GPU."""

    def make() -> None:
        monkeypatch.setattr(trainer, "static_steps", StaticSteps)
        monkeypatch.setattr(CharCNN, "_in_buckets", CharCNN._all_at_once)

    return make


@pytest.fixture
def in_float64(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything, also what a model makes in fp32 on purpose."""
    before = torch.get_default_dtype()
    monkeypatch.setattr(Tensor, "float", Tensor.double)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def tensors_of(folder: Path) -> dict[str, Tensor]:
    found = {}
    for name in (MODEL, RESUME):
        tensors, _ = read_tensors(folder / name)
        found |= {f"{name}:{key}": tensor for key, tensor in tensors.items()}
    return {key: tensor for key, tensor in found.items() if "generator" not in key}


@pytest.mark.parametrize(
    "overrides",
    [
        ("context.dropout=0", "recipe.clip=0.3"),
        ("context.dropout=0", "recipe.clip=0", "recipe.optimiser.momentum=0.9"),
        MODERN,
        ("context.dropout=0", "output.type=composed", "output.project=true"),
        ("context.dropout=0", "context.type=gru", "recipe.criterion.type=self-normalised"),
    ],
    ids=["clipped", "momentum", "modern", "tied", "gru"],
)
def test_thirty_static_steps_are_the_ordinary_ones_in_float64(
    train_toy: TrainToy,
    tiny: tuple[str, ...],
    overrides: tuple[str, ...],
    made_static: Callable[[], None],
    in_float64: None,
    tmp_path: Path,
) -> None:
    """Two epochs of fifteen chunks, the last of which lacks words; forms are padded to 64."""
    options = {"overrides": (*tiny, *overrides), "bptt": 3}
    train_toy("ordinary", **options)
    made_static()
    train_toy("static", **options)
    ordinary, static = (tensors_of(tmp_path / name) for name in ("ordinary", "static"))
    assert ordinary.keys() == static.keys()
    for key, tensor in ordinary.items():
        assert float((tensor.double() - static[key].double()).abs().max()) < 1e-12, key
    logs = [(tmp_path / name / LOG).read_text().splitlines() for name in ("ordinary", "static")]
    for lines in zip(*logs, strict=True):
        one, other = (json.loads(line) for line in lines)
        for name in ("train_ppl", "valid_ppl", "n_tokens", "clipped"):
            assert one[name] == pytest.approx(other[name], rel=1e-12)


def test_a_static_training_that_was_stopped_ends_with_the_same_bits(
    train_toy: TrainToy,
    bits: Callable[[Path], dict[str, object]],
    made_static: Callable[[], None],
    tmp_path: Path,
) -> None:
    made_static()
    train_toy("whole")
    assert not train_toy("stopped", max_time="0.000001s").is_finished
    while not train_toy("stopped", resume=True, max_time="0.000001s").is_finished:
        pass
    assert bits(tmp_path / "whole") == bits(tmp_path / "stopped")


def trainer_of(train_toy: TrainToy, overrides: tuple[str, ...], **options: Any) -> Trainer:
    kept = Kept()
    chosen = {"max_time": "0.000001s", "bptt": 3, **options}
    train_toy(overrides=overrides, watcher=kept, **chosen)
    return kept.trainer


def test_an_estimate_of_static_steps_changes_nothing(
    train_toy: TrainToy,
    bits: Callable[[Path], dict[str, object]],
    made_static: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made_static()
    train_toy("with")
    monkeypatch.setattr(session, "estimate", lambda trainer: None)
    train_toy("without")
    assert bits(tmp_path / "with") == bits(tmp_path / "without")


def test_dropout_draws_afresh_at_every_run_of_a_step(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    trainer = trainer_of(train_toy, tiny)
    probe = StaticSteps(trainer).probe(trainer.batches.batch(1))
    gradients = []
    for _ in range(2):
        probe()
        gradients.append(trainer.model.get_parameter("output.words.weight").grad)
    assert float((gradients[0] - gradients[1]).abs().max()) > 1e-4


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_what_is_no_number_stops_a_training_before_its_checkpoint_is_replaced(
    train_toy: TrainToy, tiny: tuple[str, ...], what: str, tmp_path: Path
) -> None:
    trainer = trainer_of(train_toy, tiny)
    trainer.static = StaticSteps(trainer)
    kept = (tmp_path / "run" / RESUME).read_bytes()
    if what == "loss":
        with torch.no_grad():
            trainer.model.get_parameter("output.words.bias")[2] = torch.nan
    else:
        trainer.parameters[0].register_hook(lambda gradient: gradient * torch.inf)
    trainer.step(trainer.batches.batch(1))
    with pytest.raises(TrainingError, match=rf"^the {what} became (nan|inf) in epoch 1 by step 2;"):
        save_position(trainer, tmp_path / "run")
    assert (tmp_path / "run" / RESUME).read_bytes() == kept


def test_a_shape_is_recorded_once_and_the_last_chunk_never(
    train_toy: TrainToy, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[Function] = []

    def record(function: Function) -> Function:
        recorded.append(function)
        return function

    trainer = trainer_of(train_toy, tiny, epochs=9)
    trainer.static = StaticSteps(trainer, record=record)
    assert not trainer.batches.batch(len(trainer.batches) - 1).is_full
    for _ in range(2):
        trainer.run_epoch(lambda: False)
    assert len(recorded) == 1
    monkeypatch.setattr(static_step, "MAX_SHAPES", 1)
    trainer.static.step(trainer.batches.batch(0)._replace(forms=wide(trainer)))
    assert len(recorded) == 1
    monkeypatch.setattr(static_step, "MAX_SHAPES", 2)
    trainer.static.step(trainer.batches.batch(0)._replace(forms=wide(trainer)))
    assert len(recorded) == 2


def wide(trainer: Trainer) -> Any:
    """The first batch's forms, a letter more than fits into the width of the others."""
    forms = trainer.batches.batch(0).forms.padded()
    more = torch.zeros(len(forms.letters_NL), 1, dtype=torch.int64)
    return forms._replace(letters_NL=torch.cat([forms.letters_NL, more], dim=1))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), True),
        (("recipe.optimiser.type=adamw", "output.type=mixture"), True),
        (("recipe.optimiser.type=adagrad",), False),
        (("recipe.criterion.type=nce",), False),
        (("recipe.batching.type=sentences",), False),
        (("recipe.batching.reset=0.5",), False),
        (("context.initial_state=learned",), False),
        (("output.type=adaptive",), False),
        (("encoder.type=char-lstm",), False),
    ],
)
def test_what_reads_numbers_back_is_not_recorded(
    train_toy: TrainToy, tiny: tuple[str, ...], overrides: tuple[str, ...], expected: bool
) -> None:
    given = () if "encoder.type" in str(overrides) else tiny
    trainer = trainer_of(train_toy, (*given, *overrides))
    assert is_capturable(trainer) == expected
    trainer.ranks = replace(trainer.ranks, size=2)
    assert not is_capturable(trainer)
