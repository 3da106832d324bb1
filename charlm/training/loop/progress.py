"""How far a training has come: what a checkpoint holds besides the weights.

It is the same in every process of a training, except that the seconds are those of the first
process, and that each process has the state of its own streams.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NoReturn

from charlm.errors import TrainingError
from charlm.model.contract import Side, State
from charlm.run.history import PRETRAINING, best_record
from charlm.training.recipe.recipe import Recipe


@dataclass
class Position:
    """How far a training has come; stored as JSON."""

    epoch: int = 0  # epochs finished
    step: int = 0  # steps of the current epoch finished
    rate: float = 0.0
    nll: float = 0.0  # of the current epoch, in nats
    n_tokens: int = 0  # of the current epoch
    n_clipped: int = 0
    seconds: float = 0.0  # of the current epoch's steps
    history: list[dict[str, Any]] = field(default_factory=list)  # one record per finished epoch
    nll_tokens: int = 0  # summed in `nll`; fewer than `n_tokens` under sampled criteria
    n_averaged: int = 0  # steps in the averages

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights are kept; 0 before the first is finished."""
        return int(best_record(self.history)["epoch"]) if self.history else 0

    @property
    def complete_ppls(self) -> list[float]:
        """The validation perplexities of the epochs that trained the complete model."""
        return [each["valid_ppl"] for each in self.history if PRETRAINING not in each]


class Progress:
    """The position, the state that the next step reads, and what the recipe derives from them."""

    def __init__(self, recipe: Recipe, *, n_steps: int, state: State) -> None:
        self.recipe = recipe
        self.n_steps = n_steps  # of an epoch
        self.state = state
        self.position = Position(rate=recipe.schedule.first_rate(recipe.optimiser.lr))
        self.has_checkpoint = False

    @property
    def is_finished(self) -> bool:
        """Whether all epochs of the recipe are done, or its patience is exhausted.

        Patience counts from the first epoch that trains the complete model, after pre-training.
        """
        position = self.position
        if position.epoch >= self.recipe.epochs:
            return True
        if not position.history or PRETRAINING in best_record(position.history):
            return False
        return 0 < self.recipe.patience <= position.epoch - position.best_epoch

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return self._rate_of(self.position.step)

    def _rate_of(self, step: int) -> float:
        """The learning rate of a step of the current epoch, counted from 0."""
        done = self.position.epoch * self.n_steps + step
        n_steps = self.recipe.epochs * self.n_steps
        return self.position.rate * self.recipe.schedule.step_factor(done, n_steps)

    @property
    def side(self) -> Side:
        """Which side of a mixture of word and character vectors the current epoch reads."""
        return self.recipe.schedule.side(self.position.epoch)

    @property
    def kept(self) -> str:
        """What remains of a training that cannot go on from here, for messages."""
        if self.has_checkpoint:
            return "the last good checkpoint is kept"
        return "there was no checkpoint yet"

    def end_epoch(self, valid_ppl: float, *, validation_seconds: float) -> None:
        """Record the current epoch and move on to the next one."""
        position = self.position
        record: dict[str, Any] = {
            "epoch": position.epoch + 1,
            "rate": self._rate_of(self.n_steps - 1),  # of its last step
            "train_ppl": math.exp(min(position.nll / position.nll_tokens, 700.0)),
            "valid_ppl": valid_ppl,
            "n_tokens": position.n_tokens,
            "clipped": position.n_clipped / self.n_steps,
            "seconds": round(position.seconds, 3),
            "validation_seconds": round(validation_seconds, 1),
        }
        if self.side != "both":
            record[PRETRAINING] = 1
        history = [*position.history, record]
        rate = self.recipe.schedule.next_rate(position.rate, [r["valid_ppl"] for r in history])
        self.position = Position(
            epoch=position.epoch + 1, rate=rate, history=history, n_averaged=position.n_averaged
        )

    def stop(self, what: str, value: float, *, at: str = "") -> NoReturn:
        """Raise TrainingError: the value became infinite or NaN at the next step."""
        epoch = self.position.epoch + 1
        at = at or f"at step {min(self.position.step + 1, self.n_steps)}"
        clip = "a smaller --set recipe.clip" if self.recipe.clip else "--set recipe.clip=5"
        raise TrainingError(
            f"{what} became {value} in epoch {epoch} {at}; {self.kept}; try a lower --lr or {clip}"
        )
