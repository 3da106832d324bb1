"""How far a training has come: what is written down of it beside weights and states.

It is the same in every process of a training but for the seconds, which are the first one's.
"""

from dataclasses import dataclass, field
from typing import Any

from charlm.run.history import best_record


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
    nll_tokens: int = 0  # that `nll` is of: not all, where the criterion gives none by itself
    n_averaged: int = 0  # steps in the averages

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights are kept; 0 before any."""
        return int(best_record(self.history)["epoch"]) if self.history else 0

    @property
    def valid_ppls(self) -> list[float]:
        """The validation perplexity after each finished epoch."""
        return [record["valid_ppl"] for record in self.history]
