"""One layer's recurrence, and what disturbs it in training.

A layer is our own loop over a cell, or one call of oneDNN or cuDNN. Both take and return its state
as a flat tuple, the layer's output first. Weight drop never touches a module's own weight, where it
would do nothing or crash: the dropped matrix is handed to the call, and is drawn once a chunk,
while what falls on the candidate or the state is drawn afresh at each step.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.kernels import bf16_lstm
from charlm.model.kernels.masked_lstm import masked_lstm
from charlm.model.kernels.tiles import is_bf16_on_cpu
from charlm.settings import Meaning

Leaves = tuple[Tensor, ...]
Times = Callable[[int, Tensor], Tensor]
Drop = Callable[[Tensor], Tensor]
Activation = Annotated[Literal["tanh", "sigmoid", "relu"], Meaning("of a layer")]
Normalised = Annotated[bool, Meaning("sums within a step are normalised")]
Start = Annotated[Literal["zero", "learned"], Meaning("the state before the first word")]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}
NORM_EPSILON = 1e-3  # Straka's slides; torch's own default is 1e-5

# cuDNN says so of every matrix that is handed to its call, which weight drop cannot do without; the
# copy is of the weights alone.
warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous")


class Noise(NamedTuple):
    """What a recurrence is disturbed by in training."""

    recurrent_dropout: float = 0.0  # of the candidate, afresh at each step
    zoneout: tuple[float, ...] = ()  # a rate for each leaf of the state, or none at all
    weight_drop: float = 0.0  # of the matrices on the state, once a chunk

    @property
    def falls_on_steps(self) -> bool:
        """Whether it reaches into a step, so that no single call for all steps will do."""
        return bool(self.recurrent_dropout) or any(self.zoneout)


class LayerNorm(nn.Module):
    """(1 + gain) ⊙ (x − mean) / √(variance + ε) + shift (Ba et al., 2016; ε as in Straka's slides).

    The 1 is a constant, so that a recipe may draw or zero the gain like every other parameter.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.zeros(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x_BG: Tensor) -> Tensor:
        """The normalised vectors, shape (…, G), in the parameters' precision."""
        x_BG = x_BG.to(self.gain.dtype)
        return functional.layer_norm(
            x_BG, self.gain.shape, 1.0 + self.gain, self.shift, NORM_EPSILON
        )


class Cell(nn.Module, ABC):
    """The equations of one step of one layer, for `run_cell`.

    Parameters are named as torch names them (`weight_ih_l0` on the input, `weight_hh_l0` on the
    state), so that initialisations know them and weights move between a cell and torch's layer.
    """

    weight_ih_l0: nn.Parameter
    norms: nn.ModuleList  # one for each of `matrices`, or none
    norm_x: nn.Module  # of the product with the input, or nothing

    def set_norms(self, layer_norm: bool) -> None:
        """Set a layer norm for each product, or none; the weights are there already."""
        self.norms = nn.ModuleList(LayerNorm(len(m)) for m in self.matrices() if layer_norm)
        self.norm_x = LayerNorm(len(self.weight_ih_l0)) if layer_norm else nn.Identity()

    def on_input(self, x_TBE: Tensor) -> Tensor:
        """W x, normalised if asked for, shape (T, B, G)."""
        product_TBG: Tensor = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0))
        return product_TBG

    @abstractmethod
    def project(self, x_TBE: Tensor) -> Tensor:
        """What the inputs contribute, for all steps at once, shape (T, B, G)."""

    @abstractmethod
    def matrices(self) -> Sequence[Tensor]:
        """The matrices that are multiplied with the state within a step."""

    @abstractmethod
    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """The next state. `times(k, h)` is matrix k times h; `drop` masks a candidate."""


def run_cell(cell: Cell, x_TBE: Tensor, *, state: Leaves, noise: Noise) -> tuple[Tensor, Leaves]:
    """h_TBH, and the state after the last step.

    Recurrent dropout as Semeniuta et al. (2016). Zoneout as Krueger et al. (2017): in training a
    number of the state keeps its old value with that probability, in evaluation it takes the
    expectation; the output is computed from the memory before its zoneout.
    """
    matrices = [_ready(m, noise.weight_drop, cell.training) for m in cell.matrices()]

    def times(number: int, h_BH: Tensor) -> Tensor:
        product_BG = functional.linear(h_BH, matrices[number])
        return cell.norms[number](product_BG) if len(cell.norms) else product_BG

    def drop(candidate_BH: Tensor) -> Tensor:
        return functional.dropout(candidate_BH, noise.recurrent_dropout, cell.training)

    outputs = []
    for x_BG in cell.project(x_TBE):
        new = cell.step(x_BG, state, times=times, drop=drop)
        if any(noise.zoneout):
            new = _zoned_out(new, state, rates=noise.zoneout, training=cell.training)
        state = new
        outputs.append(state[0])
    return torch.stack(outputs), state


def _ready(matrix: Tensor, rate: float, training: bool) -> Tensor:
    """A matrix after weight drop, cast once: autocast would cast a part of one at each step."""
    matrix = _thinned(matrix, rate, training)
    kind = matrix.device.type
    if torch.is_autocast_enabled(kind):
        return matrix.to(torch.get_autocast_dtype(kind))
    return matrix


def _zoned_out(new: Leaves, old: Leaves, *, rates: tuple[float, ...], training: bool) -> Leaves:
    mixed = []
    for leaf, before, rate in zip(new, old, rates, strict=True):
        if training and rate:
            mixed.append(torch.where(torch.rand_like(leaf) < rate, before, leaf))
        else:
            mixed.append(torch.lerp(leaf, before, rate))
    return tuple(mixed)


def run_fused(
    layer: nn.RNNBase,
    x_TBE: Tensor,
    *,
    state: Leaves,
    weight_drop: float = 0.0,
    bias_shift_G: Tensor | None = None,
) -> tuple[Tensor, Leaves]:
    """As `run_cell`, for one of torch's layers: one call for all steps.

    `bias_shift_G` is added to the bias on the state.

    Raises:
        ValueError: a state for another number of streams, beyond which some calls would read.
    """
    n_streams = x_TBE.shape[1]
    # Not len(), which is a plain number: the model exported to ONNX would be for that batch alone.
    if any(leaf.shape[0] != n_streams for leaf in state):
        raise ValueError(f"a state for {len(state[0])} streams; expected one for {n_streams}")
    is_plain = bias_shift_G is None and not (layer.training and weight_drop)
    if bf16_lstm.takes(layer, x_TBE):
        weights = _weights(layer, weight_drop=weight_drop, bias_shift_G=bias_shift_G)
        h_TBH, *ends = bf16_lstm.run(x_TBE, state, weights=weights)
        after = [end[None] for end in ends]
    else:
        start = tuple(leaf[None].contiguous() for leaf in state)
        hx = start if len(start) > 1 else start[0]
        if is_plain:
            h_TBH, last = layer(x_TBE, hx)
            after = list(last) if len(start) > 1 else [last]
        else:
            weights = _weights(layer, weight_drop=weight_drop, bias_shift_G=bias_shift_G)
            call = getattr(torch._VF, layer.mode.lower())  # as torch's own layer
            h_TBH, *after = call(x_TBE, hx, weights, True, 1, 0.0, layer.training, False, False)
    return h_TBH, tuple(leaf[0].to(before.dtype) for leaf, before in zip(after, state, strict=True))


def run_masked(
    layer: nn.RNNBase,
    x_TBE: Tensor,
    *,
    state: Leaves,
    keep_TB: Tensor,
    weight_drop: float = 0.0,
    bias_shift_G: Tensor | None = None,
) -> tuple[Tensor, Leaves]:
    """As `run_fused` for an LSTM; where `keep_TB` is 0 and not 1, a step begins with zeros anew.

    Some launches a step: for recordings, in which launches cost next to nothing.
    """
    on_input, on_state, bias_x, bias_h = _weights(
        layer, weight_drop=weight_drop, bias_shift_G=bias_shift_G
    )
    x_TBG = functional.linear(x_TBE, on_input, bias_x + bias_h)
    weight_GH = _ready(on_state, 0.0, layer.training)
    h_TBH, c_BH = masked_lstm(x_TBG, state, weight_GH=weight_GH, keep_TB=keep_TB)
    return h_TBH, (h_TBH[-1], c_BH)


def _weights(layer: nn.RNNBase, *, weight_drop: float, bias_shift_G: Tensor | None) -> list[Tensor]:
    """Those on the input and on the state, and their biases, as a chunk is to see them."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights: list[Tensor] = [layer.get_parameter(name) for name in names]
    if weight_drop:
        weights[1] = _thinned(weights[1], weight_drop, layer.training)
    if bias_shift_G is not None:
        weights[3] = weights[3] + bias_shift_G
    return weights


def _thinned(matrix: Tensor, rate: float, training: bool) -> Tensor:
    """Weight drop: DropConnect (Wan et al., 2013) as Merity et al. (2018).

    What is kept grows by 1 / (1 − rate). With torch's own mask a step of word-char-modern in fp32
    took 1,151 ms for 1,111.
    """
    if training and rate and matrix.device.type == "cpu":
        return matrix * quick_mask(matrix, rate)
    return functional.dropout(matrix, rate, training)


def drawn(*shape: int, dim: int) -> nn.Parameter:
    """A parameter drawn as torch draws those of a recurrence: uniform in ±1/√dim."""
    return nn.Parameter(torch.empty(shape).uniform_(-(dim**-0.5), dim**-0.5))


def dropped(x_TBE: Tensor, rate: float, *, training: bool, variational: bool) -> Tensor:
    """Dropout, afresh at each position or with one mask for all steps of a stream."""
    if not variational:
        if training and rate and is_bf16_on_cpu(x_TBE):
            return x_TBE * quick_mask(x_TBE, rate)
        return functional.dropout(x_TBE, rate, training)
    if not training or not rate:
        return x_TBE
    return x_TBE * functional.dropout(torch.ones_like(x_TBE[:1]), rate)


def quick_mask(like: Tensor, rate: float) -> Tensor:
    """What dropout multiplies with, from 16 random bits a number; in bf16 where products are.

    torch's own takes a random number of its generator for each, and as long as a layer's product.
    """
    drawn = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = drawn.view(torch.int16)[: like.numel()] >= round((rate - 0.5) * 2**16)
    dtype = torch.bfloat16 if is_bf16_on_cpu(like) else like.dtype
    return kept.view(like.shape).to(dtype).mul_(1 / (1 - rate))
