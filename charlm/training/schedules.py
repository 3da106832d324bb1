"""Learning rates over epochs; a schedule is a function of what happened, so it needs no state."""

from collections.abc import Sequence
from typing import Annotated

from charlm.settings import Count, Range


class Halving:
    """Multiply the rate by `factor` after an epoch that gained less than `least_gain`.

    The gain is the fall of the validation perplexity against the *previous epoch*, not against the
    best; no change before `first_epoch` has ended (Kim et al., 2016, and their code).
    """

    def __init__(
        self,
        *,
        factor: Annotated[float, Range(0.0, 1.0)] = 0.5,
        least_gain: float = 1.0,
        first_epoch: Count = 3,
    ) -> None:
        self.factor = factor
        self.least_gain = least_gain
        self.first_epoch = first_epoch

    def next_rate(self, rate: float, valid_ppls: Sequence[float]) -> float:
        """The rate after the epochs whose validation perplexities these are."""
        if len(valid_ppls) < max(self.first_epoch, 2):
            return rate
        gain = valid_ppls[-2] - valid_ppls[-1]
        return rate * self.factor if gain < self.least_gain else rate


class Constant:
    """The same rate throughout."""

    def next_rate(self, rate: float, valid_ppls: Sequence[float]) -> float:
        """The rate as it is."""
        return rate


SCHEDULES = {"halving": Halving, "constant": Constant}
