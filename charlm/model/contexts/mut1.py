"""MUT1 of Jozefowicz et al. (2015): a gated unit whose update gate does not see the state.

The candidate adds the input itself, so both must be equally wide; where they are not, a projection
without a bias stands in for the input there.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contexts.layers import InitialState, LastDim, OutputDropout, Start, Wiring
from charlm.model.contexts.recurrence import (
    Cell,
    Drop,
    LayerNorm,
    Leaves,
    Noise,
    Times,
    drawn,
    norms_for,
    run_cell,
)
from charlm.model.contract import Context, State
from charlm.settings import Dim, Layers, Probability


class MUT1Cell(Cell):
    """One step; rows stand in the order z, r, candidate.

    z = σ(W_z x + b_z), r = σ(W_r x + U_r h + b_r),
    h = tanh(U_h (r ⊙ h) + tanh(x) + b_h) ⊙ z + h ⊙ (1 − z).
    """

    n_leaves = 1

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


class MUT1(Context):
    """The first architecture that Jozefowicz et al. (2015) found by search; our own loop.

    MUT2 and MUT3 are the same around other cells.
    """

    name = "mut1"  # as CONTEXTS has it
    cell: ClassVar[Callable[..., Cell]] = MUT1Cell

    def __init__(
        self,
        input_dim: int,
        *,
        dim: Dim = 300,
        layers: Layers = 2,
        last_dim: LastDim = 0,
        layer_norm: bool = False,
        dropout: Probability = 0.5,
        input_dropout: Probability = 0.0,
        output_dropout: OutputDropout = -1.0,
        variational: bool = False,
        recurrent_dropout: Probability = 0.0,
        zoneout: Probability = 0.0,
        weight_drop: Probability = 0.0,
        residual: bool = False,
        sum_layers: bool = False,
        initial_state: Start = "zero",
    ) -> None:
        super().__init__()
        self.wiring = Wiring(
            self.name,
            [input_dim, *[dim] * (layers - 1), last_dim or dim],
            dropout=dropout,
            input_dropout=input_dropout,
            output_dropout=output_dropout,
            variational=variational,
            residual=residual,
            sum_layers=sum_layers,
        )
        self.dim = self.wiring.widths[-1]
        self.noise = Noise(recurrent_dropout, (zoneout,), weight_drop)
        self.layers = nn.ModuleList(
            self.cell(*pair, layer_norm=layer_norm) for pair in self.wiring.pairs
        )
        self.start = InitialState(self.wiring.widths[1:], n_leaves=1, start=initial_state)

    def initial_state(self, n_streams: int) -> State:
        """A tuple (h,) a layer, (B, H)."""
        return self.start.of(n_streams, like=next(self.parameters()))

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and a tuple (h,) a layer, in the parameters' precision."""
        return self.wiring.run(x_TBE, state, layers=self.layers, run=self._run)

    def _run(self, layer: nn.Module, x_TBE: Tensor, state: Leaves) -> tuple[Tensor, Leaves]:
        assert isinstance(layer, Cell)
        return run_cell(layer, x_TBE, state=state, noise=self.noise)
