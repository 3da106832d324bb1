"""MUT1 to MUT3 of Jozefowicz et al. (2015): the gated units that they found by search.

MUT1's update gate does not see the state, MUT2's reset gate sees the input itself, and MUT3 is the
GRU but that its update gate sees the squashed state. Where the input itself comes in it must be as
wide as the state; where it is not, a projection without a bias stands in for it there.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contexts.recurrence import (
    Cell,
    Drop,
    LayerNorm,
    Leaves,
    StackedContext,
    Times,
    drawn,
    norms_for,
)


class MUT1Cell(Cell):
    """One step; rows stand in the order z, r, candidate.

    z = σ(W_z x + b_z), r = σ(W_r x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + tanh(x) + b_h) ⊙ z + h ⊙ (1 − z).
    """

    def __init__(self, input_dim: int, dim: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.dim = dim
        self.weight_ih_l0 = drawn(2 * dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(2 * dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(3 * dim, dim=dim)
        self.projection_l0 = None if input_dim == dim else drawn(dim, input_dim, dim=dim)
        self.norms = norms_for(layer_norm, [dim, dim])
        self.norm_x = LayerNorm(2 * dim) if layer_norm else nn.Identity()

    def project(self, x_TBE: Tensor) -> Tensor:
        """What z, r and the candidate get from the inputs, biases included, shape (T, B, 3 H)."""
        gates_TBG = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0))
        if self.projection_l0 is not None:
            x_TBE = functional.linear(x_TBE, self.projection_l0)
        return torch.cat([gates_TBG, torch.tanh(x_TBE)], dim=-1) + self.bias_ih_l0

    def matrices(self) -> list[Tensor]:
        """U_r and U_h."""
        return list(self.weight_hh_l0.split(self.dim))

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """(h,) after the step."""
        (h_BH,) = state
        z_BH, r_BH, new_BH = x_BG.chunk(3, dim=-1)
        z_BH = torch.sigmoid(z_BH)
        r_BH = torch.sigmoid(r_BH + times(0, h_BH))
        new_BH = torch.tanh(times(1, r_BH * h_BH) + new_BH)
        return (drop(new_BH) * z_BH + h_BH * (1 - z_BH),)


class MUT1(StackedContext):
    """The first architecture of their search; our own loop."""

    name = "mut1"

    def layer(self, input_dim: int, dim: int, *, layer_norm: bool = False) -> nn.Module:
        """A cell of its own."""
        return MUT1Cell(input_dim, dim, layer_norm=layer_norm)


class MUT2Cell(Cell):
    """One step; rows stand in the order z, r, candidate, without r where W has none.

    z = σ(W_z x + U_z h + b_z), r = σ(x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + W_h x + b_h) ⊙ z + h ⊙ (1 − z).
    """

    def __init__(self, input_dim: int, dim: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.dim = dim
        self.weight_ih_l0 = drawn(2 * dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(3 * dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(3 * dim, dim=dim)
        self.projection_l0 = None if input_dim == dim else drawn(dim, input_dim, dim=dim)
        self.norms = norms_for(layer_norm, [2 * dim, dim])
        self.norm_x = LayerNorm(2 * dim) if layer_norm else nn.Identity()

    def project(self, x_TBE: Tensor) -> Tensor:
        """What z, r and the candidate get from the inputs, biases included, shape (T, B, 3 H)."""
        z_TBH, new_TBH = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0)).chunk(2, dim=-1)
        if self.projection_l0 is not None:
            x_TBE = functional.linear(x_TBE, self.projection_l0)
        return torch.cat([z_TBH, x_TBE, new_TBH], dim=-1) + self.bias_ih_l0

    def matrices(self) -> list[Tensor]:
        """U_z over U_r, and U_h."""
        return list(self.weight_hh_l0.split([2 * self.dim, self.dim]))

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """(h,) after the step."""
        (h_BH,) = state
        gates_BG, new_BH = x_BG.split([2 * self.dim, self.dim], dim=-1)
        z_BH, r_BH = torch.sigmoid(gates_BG + times(0, h_BH)).chunk(2, dim=-1)
        new_BH = torch.tanh(times(1, r_BH * h_BH) + new_BH)
        return (drop(new_BH) * z_BH + h_BH * (1 - z_BH),)


class MUT2(StackedContext):
    """The second architecture of their search; our own loop."""

    name = "mut2"

    def layer(self, input_dim: int, dim: int, *, layer_norm: bool = False) -> nn.Module:
        """A cell of its own."""
        return MUT2Cell(input_dim, dim, layer_norm=layer_norm)


class MUT3Cell(Cell):
    """One step; rows stand in the order z, r, candidate.

    z = σ(W_z x + U_z tanh(h) + b_z), r = σ(W_r x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + W_h x + b_h) ⊙ z + h ⊙ (1 − z).
    """

    def __init__(self, input_dim: int, dim: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.dim = dim
        self.weight_ih_l0 = drawn(3 * dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(3 * dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(3 * dim, dim=dim)
        self.norms = norms_for(layer_norm, [dim, dim, dim])
        self.norm_x = LayerNorm(3 * dim) if layer_norm else nn.Identity()

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x + b, shape (T, B, 3 H)."""
        x_TBG: Tensor = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0))
        return x_TBG + self.bias_ih_l0

    def matrices(self) -> list[Tensor]:
        """U_z, U_r and U_h."""
        return list(self.weight_hh_l0.split(self.dim))

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """(h,) after the step."""
        (h_BH,) = state
        z_BH, r_BH, new_BH = x_BG.chunk(3, dim=-1)
        z_BH = torch.sigmoid(z_BH + times(0, torch.tanh(h_BH)))
        r_BH = torch.sigmoid(r_BH + times(1, h_BH))
        new_BH = torch.tanh(times(2, r_BH * h_BH) + new_BH)
        return (drop(new_BH) * z_BH + h_BH * (1 - z_BH),)


class MUT3(StackedContext):
    """The third architecture of their search; our own loop."""

    name = "mut3"

    def layer(self, input_dim: int, dim: int, *, layer_norm: bool = False) -> nn.Module:
        """A cell of its own."""
        return MUT3Cell(input_dim, dim, layer_norm=layer_norm)
