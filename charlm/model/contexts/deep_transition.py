"""The deep transitional network: several layers between one state and the next.

Unlike in a stack, only the last of these layers is carried over to the next step; `layers` stacks
whole transitions.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from torch import Tensor

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
from charlm.settings import Dim, Layers, Meaning


class TransitionCell(Cell):
    """One step: a₁ = f(W x + U₁ h + b₁), aᵢ = f(Uᵢ aᵢ₋₁ + bᵢ), and the last a is the new h.

    `weight_hh_l0` is U₁, `weight_hh_l1` U₂, and so on.
    """

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        depth: int,
        activation: Activation = "tanh",
        layer_norm: Normalised = False,
    ) -> None:
        super().__init__()
        self.depth = depth
        self.activation = ACTIVATIONS[activation]
        self.weight_ih_l0 = drawn(dim, input_dim, dim=dim)
        for number in range(depth):
            self.register_parameter(f"weight_hh_l{number}", drawn(dim, dim, dim=dim))
            self.register_parameter(f"bias_ih_l{number}", drawn(dim, dim=dim))
        self.set_norms(layer_norm)

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x + b₁, shape (T, B, H)."""
        return self.on_input(x_TBE) + self.get_parameter("bias_ih_l0")

    def matrices(self) -> Sequence[Tensor]:
        """U₁, U₂ …"""
        return [self.get_parameter(f"weight_hh_l{number}") for number in range(self.depth)]

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        a_BH = self.activation(x_BG + times(0, state[0]))
        for number in range(1, self.depth):
            bias_H = self.get_parameter(f"bias_ih_l{number}")
            a_BH = self.activation(times(number, a_BH) + bias_H)
        return (a_BH,)


class DeepTransition(StackedContext):
    """Koehn's 4.18 with feed-forward layers for fᵢ (Pascanu et al., 2014: DT-RNN).

    With `depth=1` it is the simple recurrent network. Weight drop is applied to every Uᵢ.
    """

    name = "deep-transition"
    layer = TransitionCell
    lacks = ("recurrent_dropout", "memory_zoneout")

    def __init__(
        self,
        input_dim: int,
        *,
        dim: Annotated[Dim, Meaning("dimension of each layer's output")] = 300,
        depth: Annotated[Layers, Meaning("number of transition layers within each time step")] = 2,
        layers: Annotated[Layers, Meaning("number of stacked layers")] = 1,
        **options: Any,
    ) -> None:
        super().__init__(input_dim, dim=dim, depth=depth, layers=layers, **options)
