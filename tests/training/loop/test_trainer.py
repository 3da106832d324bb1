"""What an epoch leaves behind, what stops it, and batches that are prepared ahead."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from charlm.errors import TrainingError
from charlm.run.folder import MODEL, RESUME
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.checkpoint import save_epoch, save_position
from charlm.training.loop import trainer as loop
from charlm.training.loop.trainer import Position, Trainer, made_ahead
from charlm.training.recipe.schedules import Linear

IDS = [2, 3, 0, 4, 2, 3, 1, 0, 2, 2, 0]
ADVICE = "there was no checkpoint yet; try a lower --lr"


@pytest.fixture
def trainer(new_trainer: Callable[..., Trainer]) -> Trainer:
    """Five streams of eleven tokens: three steps, of one token a stream, and four streams only."""
    inventory = inventory_of([["a", "b", "c"]], min_count=1)
    text = EncodedText(np.array(IDS, np.int32), (), 3, "")
    parts = {
        "encoder": {"type": "word", "dim": 3},
        "context": {"type": "lstm", "dim": 4, "layers": 1},
        "output": {"type": "softmax"},
    }
    recipe = {"batch_size": 5, "bptt": 1, "epochs": 9}
    return new_trainer(parts, recipe, inventory=inventory, text=text)


def go_on() -> bool:
    return False


def poison(trainer: Trainer, value: float = math.nan) -> None:
    with torch.no_grad():
        trainer.model.get_parameter("output.words.bias")[2] = value


def test_a_model_that_gives_every_word_the_same_has_the_perplexity_of_its_size(
    trainer: Trainer,
) -> None:
    for parameter in trainer.parameters:
        torch.nn.init.zeros_(parameter)
    trainer.position.rate = 0.0
    trainer.run_epoch(go_on)
    (record,) = trainer.position.history
    assert record["train_ppl"] == pytest.approx(5)
    assert record["valid_ppl"] == pytest.approx(5)
    assert (record["epoch"], record["n_tokens"], record["rate"]) == (1, 11, 0.0)


def test_an_epoch_sums_its_own_tokens_only_and_starts_the_next_at_nothing(trainer: Trainer) -> None:
    losses = []

    def after_step() -> bool:
        losses.append(trainer.position.nll)
        return False

    trainer.run_epoch(after_step)
    assert trainer.position.history[0]["train_ppl"] == pytest.approx(math.exp(losses[-1] / 11))
    assert trainer.position == Position(epoch=1, rate=1.0, history=trainer.position.history)


def test_the_time_of_the_steps_and_that_of_the_validation_are_told_apart(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def later(method: Callable[..., object], seconds: float) -> Callable[..., object]:
        def timed(*arguments: object) -> object:
            nonlocal now
            now += seconds
            return method(*arguments)

        return timed

    monkeypatch.setattr(loop.time, "perf_counter", lambda: now)
    monkeypatch.setattr(trainer, "step", later(trainer.step, 2.0))
    monkeypatch.setattr(trainer, "validate", later(trainer.validate, 50.0))
    trainer.run_epoch(go_on)
    (record,) = trainer.position.history
    assert (record["seconds"], record["validation_seconds"]) == (3 * 2.0, 50.0)


def test_the_share_of_clipped_steps_is_told(trainer: Trainer) -> None:
    trainer.objective.recipe = replace(trainer.recipe, clip=1e-9)
    trainer.run_epoch(go_on)
    trainer.objective.recipe = replace(trainer.recipe, clip=1e9)
    trainer.run_epoch(go_on)
    assert [record["clipped"] for record in trainer.position.history] == [1.0, 0.0]


def test_an_epoch_that_is_stopped_goes_on_with_the_next_step(trainer: Trainer) -> None:
    assert not trainer.run_epoch(lambda: trainer.position.step == 2)
    assert (trainer.position.epoch, trainer.position.step) == (0, 2)
    assert trainer.run_epoch(go_on)
    assert trainer.position.epoch == 1
    assert trainer.position.history[0]["n_tokens"] == 11


def test_a_wish_to_stop_at_the_last_step_ends_the_epoch(trainer: Trainer) -> None:
    assert trainer.run_epoch(lambda: trainer.position.step == 3)
    assert trainer.position.epoch == 1


def test_the_rate_follows_the_schedule(trainer: Trainer) -> None:
    trainer.progress.position = Position(
        epoch=2, rate=1.0, history=[{"valid_ppl": 5.0}, {"valid_ppl": 1.0}]
    )
    trainer.run_epoch(go_on)
    assert trainer.position.rate == 0.5


def test_the_rate_of_an_epoch_is_that_of_its_last_step(trainer: Trainer) -> None:
    trainer.progress.recipe = replace(trainer.recipe, schedule=Linear())
    trainer.run_epoch(go_on)
    assert trainer.position.history[0]["rate"] == pytest.approx(1 - 2 / 27)  # 9 epochs of 3 steps


def test_the_best_epoch_is_the_first_of_equals() -> None:
    ppls = [9.0, 7.0, 8.0, 7.0]
    history = [{"epoch": n, "valid_ppl": ppl} for n, ppl in enumerate(ppls, 1)]
    assert Position(history=history).best_epoch == 2
    assert Position().best_epoch == 0


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_the_epoch(trainer: Trainer, value: float) -> None:
    trainer.step(trainer.batches.batch(0))
    poison(trainer, value)
    with pytest.raises(TrainingError) as caught:
        trainer.run_epoch(go_on)
    assert str(caught.value) == (
        f"the loss became nan in epoch 1 at step 2; {ADVICE} or a smaller --set recipe.clip"
    )


def test_who_does_not_clip_is_told_to_begin_and_not_to_clip_more(trainer: Trainer) -> None:
    trainer.progress.recipe = replace(trainer.recipe, clip=0.0)
    poison(trainer, math.nan)
    with pytest.raises(TrainingError) as caught:
        trainer.run_epoch(go_on)
    assert str(caught.value) == (
        f"the loss became nan in epoch 1 at step 1; {ADVICE} or --set recipe.clip=5"
    )


def test_a_gradient_that_is_no_number_stops_the_epoch_before_the_weights_are_touched(
    trainer: Trainer,
) -> None:
    before = [parameter.clone() for parameter in trainer.parameters]
    trainer.parameters[0].register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(
        TrainingError, match=r"^the gradient became (nan|inf) in epoch 1 at step 1; "
    ):
        trainer.run_epoch(go_on)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.parameters, strict=True))


def test_a_validation_that_is_no_number_stops_the_run(trainer: Trainer) -> None:
    trainer.run_epoch(go_on)
    poison(trainer)
    with pytest.raises(TrainingError, match="^the validation perplexity became nan in epoch 2 at "):
        trainer.validate()


@pytest.mark.parametrize("save", [save_position, save_epoch])
def test_broken_weights_replace_no_checkpoint(
    trainer: Trainer, begun: Path, save: Callable[[Trainer, Path], None]
) -> None:
    trainer.run_epoch(go_on)
    save_epoch(trainer, begun)
    kept = {name: (begun / name).read_bytes() for name in (MODEL, RESUME)}
    poison(trainer, -math.inf)
    with pytest.raises(TrainingError) as caught:
        save(trainer, begun)
    assert str(caught.value) == (
        "output.words.bias holds NaN or infinity after 1 epochs and 0 steps; the last good "
        "checkpoint is kept; try a lower --lr"
    )
    assert kept == {name: (begun / name).read_bytes() for name in (MODEL, RESUME)}


def test_the_weights_of_an_epoch_that_is_not_the_best_are_not_kept_as_the_model(
    trainer: Trainer, begun: Path
) -> None:
    trainer.run_epoch(go_on)
    save_epoch(trainer, begun)
    kept = (begun / MODEL).read_bytes()
    trainer.run_epoch(go_on)
    trainer.position.history[1]["valid_ppl"] = trainer.position.history[0]["valid_ppl"]
    save_epoch(trainer, begun)
    assert (begun / MODEL).read_bytes() == kept


class Maker:
    """Makes numbers, and says how many it has made."""

    def __init__(self, n: int, *, broken: int = -1) -> None:
        self.n, self.broken, self.n_made = n, broken, 0

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.n):
            if number == self.broken:
                raise ValueError("broken")
            self.n_made += 1
            yield number


@pytest.mark.parametrize("n", [0, 1, 5])
def test_batches_made_ahead_are_the_same_ones_in_order(n: int) -> None:
    assert list(made_ahead(iter(Maker(n)))) == list(range(n))


def test_one_is_made_ahead_and_no_more() -> None:
    maker = Maker(5)
    batches = made_ahead(iter(maker))
    assert next(batches) == 0
    assert next(batches) == 1
    batches.close()  # waits for the thread
    assert maker.n_made == 3


def test_what_a_maker_raises_arrives_in_its_turn() -> None:
    batches = made_ahead(iter(Maker(5, broken=2)))
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        next(batches)
