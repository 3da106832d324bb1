"""How far a training has come: what a checkpoint holds of it beside the weights.

It is the same in every process of a training but for the seconds, which are the first one's, and
for the state, of which each has that of its own streams.
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
    """How far a training has come; JSON."""

    epoch: int = 0  # epochs finished
    step: int = 0  # steps of the current epoch finished
    rate: float = 0.0
    nll: float = 0.0  # of the current epoch, in nats
    n_tokens: int = 0  # of the current epoch
    n_clipped: int = 0
    seconds: float = 0.0  # of its steps
    history: list[dict[str, Any]] = field(default_factory=list)  # a record a finished epoch
    nll_tokens: int = 0  # summed in `nll`; fewer than `n_tokens` under sampled criteria
    n_averaged: int = 0  # steps in the averages

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights are kept; 0 before any."""
        return int(best_record(self.history)["epoch"]) if self.history else 0

    @property
    def valid_ppls(self) -> list[float]:
        """The validation perplexity after each finished epoch."""
        return [record["valid_ppl"] for record in self.history]


class Progress:
    """The position, the state that the next step reads, and what a recipe makes of them."""

    def __init__(self, recipe: Recipe, *, n_steps: int, state: State) -> None:
        self.recipe = recipe
        self.n_steps = n_steps  # of an epoch
        self.state = state
        self.position = Position(rate=recipe.schedule.first_rate(recipe.optimiser.lr))
        self.has_checkpoint = False

    @property
    def is_finished(self) -> bool:
        """Whether all epochs of the recipe are done, or patience has ended.

        Patience begins with the first epoch that reads all that the model is.
        """
        position = self.position
        if position.epoch >= self.recipe.epochs:
            return True
        if not position.history or PRETRAINING in best_record(position.history):
            return False
        return 0 < self.recipe.patience <= position.epoch - position.best_epoch

    @property
    def rate(self) -> float:
        """The rate of the coming step."""
        return self._rate_of(self.position.step)

    def _rate_of(self, step: int) -> float:
        """The rate of a step of the current epoch, from 0."""
        done = self.position.epoch * self.n_steps + step
        n_steps = self.recipe.epochs * self.n_steps
        return self.position.rate * self.recipe.schedule.step_factor(done, n_steps)

    @property
    def side(self) -> Side:
        """Which side of a mixture of word and character vectors the current epoch reads."""
        return self.recipe.schedule.side(self.position.epoch)

    @property
    def kept(self) -> str:
        """What is left of a training that cannot go on from here."""
        if self.has_checkpoint:
            return "the last good checkpoint is kept"
        return "there was no checkpoint yet"

    def end_epoch(self, valid_ppl: float, *, validation_seconds: float) -> None:
        """Record the current epoch and stand before the next one."""
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
        """Raises TrainingError: this became infinite, or no number, at the coming step."""
        epoch = self.position.epoch + 1
        at = at or f"at step {min(self.position.step + 1, self.n_steps)}"
        clip = "a smaller --set recipe.clip" if self.recipe.clip else "--set recipe.clip=5"
        raise TrainingError(
            f"{what} became {value} in epoch {epoch} {at}; {self.kept}; try a lower --lr or {clip}"
        )
