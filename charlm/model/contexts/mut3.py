"""MUT3 of Jozefowicz et al. (2015): a gated unit whose update gate sees the squashed state.

It differs from the GRU by that alone.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contexts.mut1 import MUT1
from charlm.model.contexts.recurrence import (
    Cell,
    Drop,
    LayerNorm,
    Leaves,
    Times,
    drawn,
    norms_for,
)


class MUT3Cell(Cell):
    """One step; rows stand in the order z, r, candidate.

    z = σ(W_z x + U_z tanh(h) + b_z), r = σ(W_r x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + W_h x + b_h) ⊙ z + h ⊙ (1 − z).
    """

    n_leaves = 1

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


class MUT3(MUT1):
    """The third architecture that Jozefowicz et al. (2015) found by search; our own loop."""

    name = "mut3"
    cell = MUT3Cell
