"""The last vectors of a stream: the state of a context that sees a fixed number of words.

To predict a word, an n-gram model reads the n − 1 vectors before it. The newest of them is the
input at that position, so only n − 2 are carried over. At the start of a stream they are zeros, or
learned.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contexts.recurrence import Start
from charlm.model.contract import State
from charlm.settings import Meaning, Probability, Range

Order = Annotated[
    int, Range(2, 64), Meaning("n of the n-gram: the words in view and the predicted word")
]
InputDropout = Annotated[Probability, Meaning("share of each input vector zeroed in training")]


class History(nn.Module):
    """The n − 1 vectors up to each position."""

    def __init__(self, input_dim: int, *, order: int, start: Start) -> None:
        super().__init__()
        self.input_dim = input_dim
        self.n_read = order - 1
        learned = start == "learned" and order > 2
        self.first = nn.Parameter(torch.zeros(order - 2, input_dim)) if learned else None

    def initial(self, n_streams: int, *, like: Tensor) -> State:
        """The vectors before a stream, shape (B, n − 2, E), oldest first."""
        if self.first is not None:
            return self.first.expand(n_streams, -1, -1)
        return like.new_zeros(n_streams, self.n_read - 1, self.input_dim)

    def extended(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """The vectors with those before them, (n − 2 + T, B, E), and the state after the last."""
        assert isinstance(state, Tensor)
        whole_TBE = torch.cat([state.transpose(0, 1), x_TBE.to(state.dtype)])
        carried = whole_TBE[len(whole_TBE) - (self.n_read - 1) :]
        return whole_TBE, carried.transpose(0, 1).contiguous()

    def read(self, whole_TBE: Tensor) -> list[Tensor]:
        """For each position the n − 1 vectors ending with its own, newest first; each (T, B, E)."""
        n_steps = len(whole_TBE) - (self.n_read - 1)
        return [whole_TBE[first : first + n_steps] for first in reversed(range(self.n_read))]
