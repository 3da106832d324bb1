"""The feed-forward n-gram network: the last n − 1 vectors, concatenated, through hidden layers.

With direct connections the resulting vector holds the hidden layer and the words' vectors; the
output, which is linear, then has W for the first part and U for the second.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contexts.history import History, InputDropout, Order
from charlm.model.contexts.recurrence import ACTIVATIONS, Activation, Start, Variational, dropped
from charlm.model.contract import Context, State
from charlm.settings import Dim, Layers, Meaning, Probability


class FeedForward(Context):
    """h = tanh(b + Σⱼ Hⱼ C(wⱼ)), Koehn's 4.2 (Bengio et al., 2003), with any number of layers.

    `direct` gives [h; Σⱼ C(wⱼ)] instead of h. The output's linear map of it is 4.5, with one U for
    all positions as printed there (Bengio et al. have one for each position).
    """

    def __init__(
        self,
        input_dim: int,
        *,
        order: Order = 5,
        dim: Annotated[Dim, Meaning("dimension of each layer's output")] = 300,
        layers: Annotated[Layers, Meaning("number of stacked layers")] = 1,
        activation: Activation = "tanh",
        direct: Annotated[
            bool, Meaning("the words' vectors are also passed directly to the output")
        ] = False,
        dropout: Annotated[
            Probability, Meaning("share of each layer's output zeroed in training")
        ] = 0.0,
        input_dropout: InputDropout = 0.0,
        variational: Variational = False,
        initial_state: Start = "zero",
    ) -> None:
        super().__init__()
        self.dim = dim + input_dim if direct else dim
        self.direct = direct
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.variational = variational
        self.activation = ACTIVATIONS[activation]
        self.history = History(input_dim, order=order, start=initial_state)
        widths = [input_dim * (order - 1), *[dim] * (layers - 1)]
        self.layers = nn.ModuleList(nn.Linear(width, dim) for width in widths)

    def initial_state(self, n_streams: int) -> State:
        """The n − 2 vectors before a stream, oldest first, shape (B, n − 2, E)."""
        return self.history.initial(n_streams, like=next(self.layers.parameters()))

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and the last n − 2 vectors, in the parameters' precision."""
        whole_TBE, after = self.history.extended(x_TBE, state)
        vectors = self.history.read(dropped(self, whole_TBE, rate=self.input_dropout))
        h_TBH = torch.cat(vectors, dim=-1)
        for layer in self.layers:
            h_TBH = dropped(self, self.activation(layer(h_TBH)), rate=self.dropout)
        if self.direct:
            h_TBH = torch.cat([h_TBH, torch.stack(vectors).sum(dim=0)], dim=-1)
        return h_TBH, after
