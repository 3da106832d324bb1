"""MUT1 to MUT3 of Jozefowicz et al. (2015): the gated units that they found by search.

MUT1's update gate does not see the state, MUT2's reset gate sees the input itself, and MUT3 is the
GRU except that its update gate sees the squashed state. Where the input itself is used, it must be
as wide as the state; if it is not, a projection without a bias replaces it.
"""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from charlm.model.contexts.recurrence import Cell, Drop, Leaves, Normalised, Times, drawn
from charlm.model.contexts.stacked_context import StackedContext


class MUTCell(Cell):
    """One step; h = candidate ⊙ z + h ⊙ (1 − z). The rows are in the order z, r, candidate.

    W and U contain only the rows that a cell's equations name.
    """

    n_input: ClassVar[int]  # rows of W, in units of the state's width
    n_state: ClassVar[tuple[int, ...]]  # rows of U, by product
    reads_input: ClassVar[bool] = True  # whether the input itself is used besides W x

    def __init__(self, input_dim: int, dim: int, *, layer_norm: Normalised = False) -> None:
        super().__init__()
        self.dim = dim
        self.products = [n * dim for n in self.n_state]
        self.weight_ih_l0 = drawn(self.n_input * dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(sum(self.products), dim, dim=dim)
        self.bias_ih_l0 = drawn(3 * dim, dim=dim)
        is_projected = self.reads_input and input_dim != dim
        self.projection_l0 = drawn(dim, input_dim, dim=dim) if is_projected else None
        self.set_norms(layer_norm)

    def input_itself(self, x_TBE: Tensor) -> Tensor:
        """The input itself, made as wide as the state, shape (T, B, H)."""
        return x_TBE if self.projection_l0 is None else functional.linear(x_TBE, self.projection_l0)

    def matrices(self) -> list[Tensor]:
        return list(self.weight_hh_l0.split(self.products))


class MUT1Cell(MUTCell):
    """The first cell of their search.

    z = σ(W_z x + b_z), r = σ(W_r x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + tanh(x) + b_h) ⊙ z + h ⊙ (1 − z).
    """

    n_input, n_state = 2, (1, 1)

    def project(self, x_TBE: Tensor) -> Tensor:
        parts = [self.on_input(x_TBE), torch.tanh(self.input_itself(x_TBE))]
        return torch.cat(parts, dim=-1) + self.bias_ih_l0

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        (h_BH,) = state
        z_BH, r_BH, new_BH = x_BG.chunk(3, dim=-1)
        z_BH = torch.sigmoid(z_BH)
        r_BH = torch.sigmoid(r_BH + times(0, h_BH))
        new_BH = torch.tanh(times(1, r_BH * h_BH) + new_BH)
        return (drop(new_BH) * z_BH + h_BH * (1 - z_BH),)


class MUT2Cell(MUTCell):
    """The second cell of their search.

    z = σ(W_z x + U_z h + b_z), r = σ(x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + W_h x + b_h) ⊙ z + h ⊙ (1 − z).
    """

    n_input, n_state = 2, (2, 1)

    def project(self, x_TBE: Tensor) -> Tensor:
        z_TBH, new_TBH = self.on_input(x_TBE).chunk(2, dim=-1)
        return torch.cat([z_TBH, self.input_itself(x_TBE), new_TBH], dim=-1) + self.bias_ih_l0

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        (h_BH,) = state
        gates_BG, new_BH = x_BG.split([2 * self.dim, self.dim], dim=-1)
        z_BH, r_BH = torch.sigmoid(gates_BG + times(0, h_BH)).chunk(2, dim=-1)
        new_BH = torch.tanh(times(1, r_BH * h_BH) + new_BH)
        return (drop(new_BH) * z_BH + h_BH * (1 - z_BH),)


class MUT3Cell(MUTCell):
    """The third cell of their search.

    z = σ(W_z x + U_z tanh(h) + b_z), r = σ(W_r x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + W_h x + b_h) ⊙ z + h ⊙ (1 − z).
    """

    n_input, n_state, reads_input = 3, (1, 1, 1), False

    def project(self, x_TBE: Tensor) -> Tensor:
        return self.on_input(x_TBE) + self.bias_ih_l0

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        (h_BH,) = state
        z_BH, r_BH, new_BH = x_BG.chunk(3, dim=-1)
        z_BH = torch.sigmoid(z_BH + times(0, torch.tanh(h_BH)))
        r_BH = torch.sigmoid(r_BH + times(1, h_BH))
        new_BH = torch.tanh(times(2, r_BH * h_BH) + new_BH)
        return (drop(new_BH) * z_BH + h_BH * (1 - z_BH),)


class MUT1(StackedContext):
    """MUT1, the first cell that the search of Jozefowicz et al. (2015) found."""

    name, layer = "mut1", MUT1Cell


class MUT2(StackedContext):
    """MUT2, the second cell that the search of Jozefowicz et al. (2015) found."""

    name, layer = "mut2", MUT2Cell


class MUT3(StackedContext):
    """MUT3, the third cell that the search of Jozefowicz et al. (2015) found."""

    name, layer = "mut3", MUT3Cell
