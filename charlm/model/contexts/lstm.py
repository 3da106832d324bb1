"""The stacked LSTM and its variants: without a gate, with peepholes, with layer normalisation.

A layer of the plain LSTM is one oneDNN or cuDNN call, also with a forget bias or weight drop.
Options that change the computation within a step use our own loop. Parameters have the same names
in both.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contexts.recurrence import Cell, Drop, LayerNorm, Leaves, Normalised, Times, drawn
from charlm.model.contexts.stacked_context import StackedContext
from charlm.model.contract import State
from charlm.settings import Meaning

# With transposed weights a product with a few rows takes two thirds of the time; making the copy
# takes as long as a dozen such products save.
PRODUCTS_WORTH_A_COPY = 16

Gates = Annotated[
    Literal["ifo", "fo", "io", "if"],
    Meaning("gates that the cell has: input (i), forget (f), output (o)"),
]


class LSTMCell(Cell):
    """One step; c = f ⊙ c + i ⊙ tanh(g), h = o ⊙ tanh(c), where a missing gate is 1.

    With peepholes it is Koehn's 4.10 to 4.13: all gates see the memory *before* the step through
    full matrices, nothing has a bias, and h = tanh(o ⊙ c), with the activation outside the gate.
    Layer normalisation follows Ba et al. (2016), eq. 20 to 22: it applies to the products with
    input and state, and to the memory before the output. The rows are in torch's order i, f, g, o.
    """

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        gates: Gates,
        forget_bias: float,
        peepholes: bool,
        layer_norm: bool,
    ) -> None:
        super().__init__()
        self.gates = gates
        self.rows = [name for name in "ifgo" if name in gates or name == "g"]
        self.forget_bias = forget_bias
        n_rows = len(self.rows) * dim
        self.weight_ih_l0 = drawn(n_rows, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(n_rows, dim, dim=dim)
        self.weight_ch_l0 = drawn(len(gates) * dim, dim, dim=dim) if peepholes else None
        self.bias_ih_l0 = None if peepholes else drawn(n_rows, dim=dim)
        self.bias_hh_l0 = None if peepholes else drawn(n_rows, dim=dim)
        self.set_norms(layer_norm)
        self.norm_c = LayerNorm(dim) if layer_norm else nn.Identity()

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x with both biases, shape (T, B, rows)."""
        x_TBG = self.on_input(x_TBE)
        if self.bias_ih_l0 is None or self.bias_hh_l0 is None:
            return x_TBG
        return x_TBG + (self.bias_ih_l0 + self.bias_hh_l0)

    def matrices(self) -> list[Tensor]:
        """The matrix on h and, with peepholes, the one on the memory."""
        on_memory = [] if self.weight_ch_l0 is None else [self.weight_ch_l0]
        return [self.weight_hh_l0, *on_memory]

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        h_BH, c_BH = state
        sums_BG = (x_BG + times(0, h_BH)).chunk(len(self.rows), dim=-1)
        parts = dict(zip(self.rows, sums_BG, strict=True))
        if self.weight_ch_l0 is not None:
            seen_BG = times(1, c_BH)
            for gate, seen_BH in zip(self.gates, seen_BG.chunk(len(self.gates), -1), strict=True):
                parts[gate] = parts[gate] + seen_BH
        new_BH = drop(torch.tanh(parts["g"]))
        if "i" in parts:
            new_BH = torch.sigmoid(parts["i"]) * new_BH
        if "f" in parts:
            c_BH = torch.sigmoid(parts["f"] + self.forget_bias) * c_BH
        c_BH = c_BH + new_BH
        out_BH: Tensor = self.norm_c(c_BH)
        o_BH = torch.sigmoid(parts["o"]) if "o" in parts else out_BH.new_ones(())
        if self.weight_ch_l0 is not None:
            return torch.tanh(o_BH * out_BH), c_BH
        return o_BH * torch.tanh(out_BH), c_BH


def _times(weight_GH: Tensor, *, n_products: int) -> Callable[[Tensor], Tensor]:
    """A function from h_BH to W h, for small B; bf16 gains nothing from a transposed copy."""
    if n_products < PRODUCTS_WORTH_A_COPY or torch.is_autocast_enabled(weight_GH.device.type):
        return lambda h_BH: functional.linear(h_BH, weight_GH)
    weight_HG = weight_GH.t().contiguous()
    return lambda h_BH: h_BH @ weight_HG


def _gated(gates_BG: Tensor, c_BH: Tensor) -> Leaves:
    """(h, c) from the gates' inputs, which are overwritten, and the previous memory."""
    dim = c_BH.shape[1]
    open_BG = gates_BG[:, : 2 * dim].sigmoid_()
    new_BH = gates_BG[:, 2 * dim : 3 * dim].tanh_()
    out_BH = gates_BG[:, 3 * dim :].sigmoid_()
    c_BH = (open_BG[:, dim:] * c_BH).addcmul_(open_BG[:, :dim], new_BH)
    return c_BH.tanh().mul_(out_BH), c_BH


class LSTM(StackedContext):
    """Hochreiter and Schmidhuber's LSTM with a forget gate, eq. 2 of Kim et al. (2016).

    Both affine maps of a gate have a bias, as in Kim et al.'s code, which adds nothing to the
    forget gate's bias (Jozefowicz et al., 2015: `forget_bias` 1). Kim et al. have no dropout on the
    first layer's input. `gates="io"` is the LSTM of 1997; the other incomplete ones are those of
    Jozefowicz's tables.

    Our own loop runs if `gates` lacks one, and with `peepholes`, `layer_norm`,
    `recurrent_dropout`, `zoneout` or `memory_zoneout`; otherwise a layer is a single call.

    Raises:
        ConfigError: a forget bias without a forget gate.
    """

    name = "lstm"
    n_leaves = 2  # h and c
    lacks = ()
    forget_bias: float

    def layer(
        self,
        input_dim: int,
        dim: int,
        *,
        gates: Gates = "ifo",
        forget_bias: Annotated[float, Meaning("constant added to the forget gate's bias")] = 0.0,
        peepholes: Annotated[
            bool, Meaning("gates also read the memory; no biases, h = tanh(o ⊙ c) (Koehn's 4.13)")
        ] = False,
        layer_norm: Normalised = False,
    ) -> nn.Module:
        if forget_bias and "f" not in gates:
            raise ConfigError(
                f"option 'forget_bias' of context 'lstm' is {forget_bias}; expected 0, since gates "
                f"{gates!r} have no forget gate; set gates=ifo"
            )
        self.forget_bias = forget_bias
        if gates == "ifo" and not (peepholes or layer_norm or self.noise.falls_on_steps):
            return nn.LSTM(input_dim, dim)
        return LSTMCell(
            input_dim,
            dim,
            gates=gates,
            forget_bias=forget_bias,
            peepholes=peepholes,
            layer_norm=layer_norm,
        )

    def bias_shift(self, layer: nn.RNNBase) -> Tensor | None:
        """A vector that is `forget_bias` at the forget gate's biases and 0 elsewhere."""
        if not self.forget_bias:
            return None
        dim = layer.hidden_size
        shift_H = layer.get_parameter("bias_hh_l0").new_full((dim,), self.forget_bias)
        return functional.pad(shift_H, (dim, 2 * dim))

    def project(self, x_NE: Tensor) -> Tensor:
        """The first layer's W x with all biases, if it is torch's LSTM; else x itself."""
        layer = self.layers[0]
        return self._products(layer, x_NE) if isinstance(layer, nn.LSTM) else x_NE

    def descend(
        self, x_NG: Tensor, state: State, *, parents: Sequence[Tensor]
    ) -> tuple[Tensor, State]:
        """Layer by layer, so that only one layer's weights have to stay in the cache."""
        if not isinstance(self.layers[0], nn.LSTM):
            return super().descend(x_NG, state, parents=parents)
        run = partial(self._descend, parents=parents)
        return self.through_layers(x_NG, state, run=run)

    @torch.no_grad()
    def _descend(
        self, layer: nn.Module, x_NE: Tensor, *, state: Leaves, parents: Sequence[Tensor]
    ) -> tuple[Tensor, Leaves]:
        """`descend` for one layer, by plain products with its weights.

        oneDNN packs a layer's weights at every call, and took three times as long for one level.
        """
        assert isinstance(layer, nn.LSTM)
        x_NG = x_NE if layer is self.layers[0] else self._products(layer, x_NE)
        h_BH, c_BH = state
        times = _times(layer.get_parameter("weight_hh_l0"), n_products=len(parents))
        blocks = []
        for x_BG, rows_B in zip(
            x_NG.split([rows_B.shape[0] for rows_B in parents]), parents, strict=True
        ):
            gates_BG = (x_BG + times(h_BH.index_select(0, rows_B))).to(c_BH.dtype)
            h_BH, c_BH = _gated(gates_BG, c_BH.index_select(0, rows_B))
            blocks.append(h_BH)
        return torch.cat(blocks), (h_BH, c_BH)

    def _products(self, layer: nn.LSTM, x_NE: Tensor) -> Tensor:
        bias_G = layer.get_parameter("bias_ih_l0") + layer.get_parameter("bias_hh_l0")
        shift_G = self.bias_shift(layer)
        if shift_G is not None:
            bias_G = bias_G + shift_G
        return functional.linear(x_NE, layer.get_parameter("weight_ih_l0"), bias_G)
