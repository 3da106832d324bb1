"""The stacked gated recurrent unit, as published and as torch computes it.

These are two different cells: the papers apply the reset gate before the product with the state,
oneDNN and cuDNN after it. The published cell is the default and runs in our own loop; the other is
one call per layer.
"""

from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contexts.recurrence import Cell, Drop, Leaves, Normalised, Times, drawn
from charlm.model.contexts.stacked_context import StackedContext
from charlm.settings import Meaning

Reset = Annotated[
    Literal["before", "after"],
    Meaning("the reset gate acts before or after the product with the state"),
]
Bias = Annotated[
    Literal["candidate", "state"],
    Meaning("whether the bias is added inside the candidate or to the new state"),
]


class GRUCell(Cell):
    """One step; the rows are in torch's order r, u, n.

    Reset before: n = tanh(W x + U (r ⊙ h) + b). After: n = tanh(W x + b + r ⊙ (U h + d)), and the
    gates also have two biases. In both cases h = u ⊙ h + (1 − u) ⊙ n, where u multiplies the old
    state, as in Straka's slides. Koehn's u in 4.16 multiplies the candidate, which is equivalent
    with W, U and b of the opposite sign; his bias is not part of the candidate but is added to the
    new state.
    """

    def __init__(
        self, input_dim: int, dim: int, *, reset: Reset, bias: Bias, layer_norm: bool
    ) -> None:
        super().__init__()
        self.dim = dim
        self.bias = bias
        self.weight_ih_l0 = drawn(3 * dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(3 * dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(3 * dim, dim=dim)
        self.bias_hh_l0 = drawn(3 * dim, dim=dim) if reset == "after" else None
        self.set_norms(layer_norm)

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x with every bias that can be added before the step, shape (T, B, 3 H)."""
        bias_G: Tensor = self.bias_ih_l0
        if self.bias == "state":
            bias_G = functional.pad(bias_G[: 2 * self.dim], (0, self.dim))
        if self.bias_hh_l0 is not None:
            bias_G = bias_G + functional.pad(self.bias_hh_l0[: 2 * self.dim], (0, self.dim))
        return self.on_input(x_TBE) + bias_G

    def matrices(self) -> list[Tensor]:
        """The matrices on h: that of the gates, and that of the candidate."""
        return list(self.weight_hh_l0.split([2 * self.dim, self.dim]))

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        (h_BH,) = state
        gates_BG, new_BH = x_BG.split([2 * self.dim, self.dim], dim=-1)
        r_BH, u_BH = torch.sigmoid(gates_BG + times(0, h_BH)).chunk(2, dim=-1)
        if self.bias_hh_l0 is None:
            new_BH = torch.tanh(new_BH + times(1, r_BH * h_BH))
        else:
            new_BH = torch.tanh(new_BH + r_BH * (times(1, h_BH) + self.bias_hh_l0[2 * self.dim :]))
        h_BH = u_BH * h_BH + (1 - u_BH) * drop(new_BH)
        if self.bias == "state":
            h_BH = h_BH + self.bias_ih_l0[2 * self.dim :]
        return (h_BH,)


class GRU(StackedContext):
    """Cho et al.'s (2014) gated recurrent unit, as in Straka's slides and Koehn's 4.14 to 4.16.

    `reset="before"` is the published cell. `bias="state"` is Koehn's: the candidate has no bias,
    and one is added after the interpolation.

    Our own loop runs with `reset="before"`, and with `layer_norm`, `recurrent_dropout` or
    `zoneout`; otherwise a layer is a single call.

    Raises:
        ConfigError: a bias on the state with torch's cell.
    """

    name = "gru"

    def layer(
        self,
        input_dim: int,
        dim: int,
        *,
        reset: Reset = "before",
        bias: Bias = "candidate",
        layer_norm: Normalised = False,
    ) -> nn.Module:
        if bias == "state" and reset == "after":
            raise ConfigError(
                "option 'bias' of context 'gru' is 'state'; expected 'candidate', since torch's "
                "cell has no other; set reset=before"
            )
        if reset == "after" and not (layer_norm or self.noise.falls_on_steps):
            return nn.GRU(input_dim, dim)
        return GRUCell(input_dim, dim, reset=reset, bias=bias, layer_norm=layer_norm)
