"""The log-bilinear model's context: a linear prediction of the next word's vector.

There is no activation. The prediction is as wide as the input vectors, so that the output can
compare it with the same word vectors.
"""

from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional

from charlm.model.contexts.history import History, InputDropout, Order
from charlm.model.contexts.recurrence import Start, Variational, drawn, dropped
from charlm.model.contract import Context, State
from charlm.settings import Meaning, Probability


class LogBilinear(Context):
    """h = Σⱼ Cⱼ x₍ₜ₋ⱼ₎ over the last n − 1 words (Mnih and Hinton, 2007).

    Botha and Blunsom's (2014) MLBL uses this context over vectors of words and morphs. In both
    papers the Cⱼ are full; the default here is diagonal.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        order: Order = 5,
        matrices: Annotated[
            Literal["diagonal", "full"],
            Meaning("weights of each history position: diagonal or full matrix"),
        ] = "diagonal",
        dropout: Annotated[
            Probability, Meaning("share of the context vector zeroed in training")
        ] = 0.0,
        input_dropout: InputDropout = 0.0,
        variational: Variational = False,
        initial_state: Start = "zero",
    ) -> None:
        super().__init__()
        self.dim = input_dim
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.variational = variational
        self.history = History(input_dim, order=order, start=initial_state)
        shape = [input_dim, input_dim] if matrices == "full" else [input_dim]
        self.weight = drawn(order - 1, *shape, dim=input_dim)  # newest word first

    def initial_state(self, n_streams: int) -> State:
        """The n − 2 vectors before a stream, oldest first, shape (B, n − 2, E)."""
        return self.history.initial(n_streams, like=self.weight)

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBE, and the last n − 2 vectors, in the parameters' precision."""
        whole_TBE, after = self.history.extended(x_TBE, state)
        vectors = self.history.read(dropped(self, whole_TBE, rate=self.input_dropout))
        pairs = zip(self.weight, vectors, strict=True)
        parts = [functional.linear(x, w) if w.ndim == 2 else w * x for w, x in pairs]
        return dropped(self, torch.stack(parts).sum(dim=0), rate=self.dropout), after
