"""Learning rates over epochs and steps; a schedule is a function of counts, so it needs no state.

Each epoch has a rate, which is stored and shown; each step multiplies it by its own factor.
`first_epoch` is a number of finished epochs, counted from the start of the training.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from charlm.model.contract import Side
from charlm.settings import Count, Meaning, Range

Share = Annotated[float, Range(0.0, 1.0)]
Divisor = Annotated[
    float, Range(1.0, 1e6), Meaning("divisor of the learning rate after each epoch")
]
Factor = Annotated[float, Range(1e-6, 1e6)]


FEW = 2  # in so few epochs nobody expects the rate to change
SMALL = 0.01  # share of the first rate below which a training can gain little


class Schedule:
    """The same rate throughout; subclasses override parts of this."""

    divides_all_steps: ClassVar[bool] = False  # True: more epochs change even the first steps

    def first_rate(self, rate: float) -> float:
        """The rate of the first epoch; `rate` is the optimiser's."""
        return rate

    def next_rate(self, rate: float, valid_ppls: Sequence[float]) -> float:
        """The next epoch's rate, given the current one and the validation perplexities so far."""
        return rate

    def step_factor(self, step: int, n_steps: int) -> float:
        """The factor of a step's rate; steps count from 0 over the whole training."""
        return 1.0

    def side(self, epoch: int) -> Side:
        """Which side of a mixture of word and character vectors an epoch (from 0) trains."""
        return "both"

    def left_out(self, *, n_epochs: int, n_steps: int) -> str:
        """A note on what the schedule cannot reach in so many epochs and steps; "" if nothing."""
        return ""

    def spent(self, rate: float, next_rate: float, *, first: float) -> str:
        """A note after the epoch from which on there is little to gain; "" after other epochs."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Halving(Schedule):
    """Multiply the rate by `factor` after an epoch that gained too little.

    The gain is the fall of the validation perplexity against the *previous epoch*, not against the
    best; nothing changes before `first_epoch` has ended (Kim et al., 2016, and their code). Too
    little is less than `least_gain`, or less than `least_gain_share` of the previous perplexity:
    the papers' 1.0 is 1 % at a perplexity of 100, but 3 % at the 35 of an easy text.
    """

    factor: Annotated[
        Share, Meaning("factor of the learning rate after an epoch that gained too little")
    ] = 0.5
    least_gain: Annotated[
        float, Meaning("smallest fall of the validation perplexity that keeps the rate")
    ] = 1.0
    least_gain_share: Annotated[
        Share, Meaning("smallest such fall as a share of the previous perplexity")
    ] = 0.0
    first_epoch: Annotated[Count, Meaning("first epoch after which the rate may change")] = 3

    def next_rate(self, rate: float, valid_ppls: Sequence[float]) -> float:
        if len(valid_ppls) < max(self.first_epoch, 2):
            return rate
        before, now = valid_ppls[-2:]
        least = max(self.least_gain, self.least_gain_share * before)
        return rate * self.factor if before - now < least else rate

    def left_out(self, *, n_epochs: int, n_steps: int) -> str:
        return _unchanged(n_epochs, self.first_epoch)

    def spent(self, rate: float, next_rate: float, *, first: float) -> str:
        if not next_rate < SMALL * first <= rate:
            return ""
        share = self.least_gain_share
        also = f" and recipe.schedule.least_gain_share={share:g}" if share else ""
        return (
            f"the rate is {next_rate:g} now, since epochs gained less than "
            f"recipe.schedule.least_gain={self.least_gain:g}{also}; at less than {SMALL:.0%} of "
            "the first rate there is little to gain (recipe.patience ends what gains nothing)"
        )


class Constant(Schedule):
    """The same rate throughout."""


@dataclass(frozen=True, kw_only=True)
class Divide(Schedule):
    """Divide the rate by `divisor` after each epoch from the `first_epoch`-th on.

    Miyamoto & Cho (2016): k = `first_epoch` epochs at the full rate. Zaremba et al. (2014) write
    "after 6 epochs", but their code first divides when the 7th has ended, so `first_epoch` is 7.
    """

    divisor: Divisor = 2.0
    first_epoch: Annotated[Count, Meaning("first epoch after which the rate is divided")] = 4

    def next_rate(self, rate: float, valid_ppls: Sequence[float]) -> float:
        return rate / self.divisor if len(valid_ppls) >= self.first_epoch else rate

    def left_out(self, *, n_epochs: int, n_steps: int) -> str:
        return _unchanged(n_epochs, self.first_epoch)


@dataclass(frozen=True, kw_only=True)
class Pretraining(Schedule):
    """Words only for `epochs` epochs, characters only for as many, then both (Miyamoto & Cho, 3.3).

    The optimiser's rate holds for the third phase, where it is divided as by `divide`; in the first
    two it is multiplied by the phase's factor (in the paper 1 and 0.1, at rate 1). The paper does
    not say where k counts from. In their code it is the start of the training, not of the third
    phase, so their k = 4 with 2 + 2 epochs divides the rate in the first epoch with both.
    """

    epochs: Annotated[
        Count, Meaning("epochs with words only, then as many with characters only")
    ] = 2
    word_factor: Annotated[
        Factor, Meaning("factor of the learning rate in the word-only epochs")
    ] = 1.0
    char_factor: Annotated[
        Factor, Meaning("factor of the learning rate in the character-only epochs")
    ] = 0.1
    divisor: Divisor = 2.1
    first_epoch: Annotated[Count, Meaning("first epoch after which the rate is divided")] = 7

    def side(self, epoch: int) -> Side:
        if epoch < self.epochs:
            return "word"
        return "char" if epoch < 2 * self.epochs else "both"

    def first_rate(self, rate: float) -> float:
        return rate * self._phase_factor(0)

    def next_rate(self, rate: float, valid_ppls: Sequence[float]) -> float:
        epoch = len(valid_ppls)
        if self.side(epoch) == self.side(epoch - 1):
            is_divided = self.side(epoch) == "both" and epoch >= self.first_epoch
            return rate / self.divisor if is_divided else rate
        return rate / self._phase_factor(epoch - 1) * self._phase_factor(epoch)

    def _phase_factor(self, epoch: int) -> float:
        """The factor of the optimiser's rate in the first epoch of a phase."""
        side = self.side(epoch)
        if side != "both":
            return self.word_factor if side == "word" else self.char_factor
        n_divided = epoch - max(self.first_epoch, 1) + 1
        return float((1.0 / self.divisor) ** max(n_divided, 0))


@dataclass(frozen=True, kw_only=True)
class WarmUp(Schedule, ABC):
    """A linear warm-up; subclasses decide what follows it."""

    divides_all_steps = True
    warm_up: Annotated[
        float, Range(0.0, 1e9), Meaning("steps of linear warm-up; below 1: a share of all steps")
    ] = 0.01

    def step_factor(self, step: int, n_steps: int) -> float:
        is_share = self.warm_up < 1
        n_warm = round(self.warm_up * n_steps) if is_share else min(int(self.warm_up), n_steps)
        if step < n_warm:
            return (step + 1) / n_warm
        return self.factor_after(step, n_steps, n_warm=n_warm)

    @abstractmethod
    def factor_after(self, step: int, n_steps: int, *, n_warm: int) -> float:
        """The factor of a step after the warm-up's `n_warm` steps."""

    def left_out(self, *, n_epochs: int, n_steps: int) -> str:
        if self.warm_up < max(n_steps, 1):
            return ""
        return (
            f"the rate rises up to the last step: recipe.schedule.warm_up={self.warm_up:g}, and "
            f"there are {n_steps} steps"
        )


@dataclass(frozen=True, kw_only=True)
class Cosine(WarmUp):
    """A linear warm-up, then half a cosine down to `floor` (Loshchilov & Hutter, 2017, eq. 5).

    The first step after the warm-up has the full rate; `floor` would be reached one step after the
    last.
    """

    floor: Annotated[Share, Meaning("learning rate at the end, as a share of the full rate")] = 0.0

    def factor_after(self, step: int, n_steps: int, *, n_warm: int) -> float:
        done = _done(step, n_warm, n_steps=n_steps)
        return self.floor + (1.0 - self.floor) * (1.0 + math.cos(math.pi * done)) / 2.0


@dataclass(frozen=True, kw_only=True)
class Linear(WarmUp):
    """A linear warm-up, the full rate up to `hold` of all steps, then a line down to zero.

    Zero would be reached one step after the last. The warm-up is part of `hold`; if it is longer,
    the line down begins at its end.
    """

    hold: Annotated[Share, Meaning("share of all steps after which the rate begins to fall")] = 0.0

    def factor_after(self, step: int, n_steps: int, *, n_warm: int) -> float:
        n_full = max(n_warm, round(self.hold * n_steps))
        return 1.0 - _done(step, n_full, n_steps=n_steps)


def _unchanged(n_epochs: int, first_epoch: int) -> str:
    if not FEW < n_epochs <= first_epoch:
        return ""
    return (
        f"the rate is the same in all {n_epochs} epochs: recipe.schedule.first_epoch="
        f"{first_epoch}, after which it may change"
    )


def _done(step: int, first: int, *, n_steps: int) -> float:
    """The share of the steps from `first` to the end that is done, 0 to 1."""
    return min(max(step - first, 0) / max(n_steps - first, 1), 1.0)


SCHEDULES: dict[str, type[Schedule]] = {
    "halving": Halving,
    "constant": Constant,
    "divide": Divide,
    "pretraining": Pretraining,
    "cosine": Cosine,
    "linear": Linear,
}
