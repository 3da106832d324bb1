"""The stacked simple recurrent network.

It has no candidate separate from the state, and hence no recurrent dropout.
"""

from torch import Tensor, nn

from charlm.model.contexts.recurrence import (
    ACTIVATIONS,
    Activation,
    Cell,
    Drop,
    Leaves,
    Normalised,
    Times,
    drawn,
)
from charlm.model.contexts.stacked_context import StackedContext


class RNNCell(Cell):
    """One step: h = f(W x + b + U h + d)."""

    def __init__(
        self, input_dim: int, dim: int, *, activation: Activation, layer_norm: bool
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.weight_ih_l0 = drawn(dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(dim, dim=dim)
        self.bias_hh_l0 = drawn(dim, dim=dim)
        self.set_norms(layer_norm)

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x with both biases, shape (T, B, H)."""
        return self.on_input(x_TBE) + (self.bias_ih_l0 + self.bias_hh_l0)

    def matrices(self) -> list[Tensor]:
        return [self.weight_hh_l0]

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        return (self.activation(x_BG + times(0, state[0])),)


class RNN(StackedContext):
    """Elman's network, as in Koehn's section 4.4 (sigmoid) and Straka's slides (tanh).

    With more than one of `layers` it is Koehn's deep stacked network, 4.17. Our own loop runs with
    `activation="sigmoid"`, `layer_norm` or `zoneout`; otherwise a layer is a single call.
    """

    name = "rnn"
    lacks = ("recurrent_dropout", "memory_zoneout")

    def layer(
        self,
        input_dim: int,
        dim: int,
        *,
        activation: Activation = "tanh",
        layer_norm: Normalised = False,
    ) -> nn.Module:
        if activation == "sigmoid" or layer_norm or self.noise.falls_on_steps:
            return RNNCell(input_dim, dim, activation=activation, layer_norm=layer_norm)
        return nn.RNN(input_dim, dim, nonlinearity=activation)
