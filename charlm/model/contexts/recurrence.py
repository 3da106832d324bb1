"""One layer's recurrence, and its noise in training.

A layer is our own loop over a cell, or one call of oneDNN or cuDNN. Both take and return its state
as a flat tuple, with the layer's output first. Weight drop never changes a module's own weight,
where it would have no effect or crash: the dropped matrix is passed to the call. It is drawn once
per chunk, while noise on the candidate or the state is drawn anew at each step.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.kernels import bf16_lstm
from charlm.model.kernels.dropout import dropout, quick_mask
from charlm.model.kernels.masked_lstm import masked_lstm
from charlm.model.kernels.step_product import StepProduct
from charlm.model.kernels.tiles import as_multiplied
from charlm.settings import Meaning

Leaves = tuple[Tensor, ...]
Times = Callable[[int, Tensor], Tensor]
Drop = Callable[[Tensor], Tensor]
Activation = Annotated[
    Literal["tanh", "sigmoid", "relu"], Meaning("activation function of the layers")
]
Normalised = Annotated[bool, Meaning("layer normalisation of the sums within each step")]
Variational = Annotated[bool, Meaning("one dropout mask is used for all steps of a chunk")]
Start = Annotated[
    Literal["zero", "learned"], Meaning("state before the first word: zeros or learned")
]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}
NORM_EPSILON = 1e-3  # as in Straka's slides; torch's default is 1e-5

# cuDNN warns of this whenever a matrix is passed to its call, which weight drop needs; only the
# weights are copied.
warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous")


class Noise(NamedTuple):
    """The noise of a recurrence in training."""

    recurrent_dropout: float = 0.0  # of the candidate, anew at each step
    zoneout: tuple[float, ...] = ()  # a rate for each leaf of the state, or empty
    weight_drop: float = 0.0  # of the matrices on the state, once per chunk

    @property
    def falls_on_steps(self) -> bool:
        """Whether it acts within a step, which excludes a single call for all steps."""
        return bool(self.recurrent_dropout) or any(self.zoneout)


class LayerNorm(nn.Module):
    """(1 + gain) ⊙ (x − mean) / √(variance + ε) + shift (Ba et al., 2016; ε as in Straka's slides).

    The 1 is a constant, so that a recipe can draw or zero the gain like any other parameter.
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

    Parameters have torch's names (`weight_ih_l0` on the input, `weight_hh_l0` on the state), so
    that initialisations recognise them and weights can move between a cell and torch's layer.
    """

    weight_ih_l0: nn.Parameter
    norms: nn.ModuleList  # one for each of `matrices`, or empty
    norm_x: nn.Module  # of the product with the input, or the identity

    def set_norms(self, layer_norm: bool) -> None:
        """Create a layer norm for each product, or none; the weights must already exist."""
        self.norms = nn.ModuleList(LayerNorm(len(m)) for m in self.matrices() if layer_norm)
        self.norm_x = LayerNorm(len(self.weight_ih_l0)) if layer_norm else nn.Identity()

    def on_input(self, x_TBE: Tensor) -> Tensor:
        """W x, normalised if asked for, shape (T, B, G)."""
        product_TBG: Tensor = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0))
        return product_TBG

    @abstractmethod
    def project(self, x_TBE: Tensor) -> Tensor:
        """The contribution of the inputs, for all steps at once, shape (T, B, G)."""

    @abstractmethod
    def matrices(self) -> Sequence[Tensor]:
        """The matrices that are multiplied with the state within a step."""

    def whole_matrices(self) -> Sequence[Tensor]:
        """Further matrices of a step, numbered after these, which weight drop leaves alone."""
        return ()

    @abstractmethod
    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """The next state. `times(k, h)` is matrix k times h; `drop` masks a candidate."""


def run_cell(
    cell: Cell, x_TBE: Tensor, *, state: Leaves, noise: Noise, keep_TB: Tensor | None
) -> tuple[Tensor, Leaves]:
    """h_TBH, and the state after the last step. Where `keep_TB` is 0, a step begins with zeros.

    Recurrent dropout follows Semeniuta et al. (2016). Zoneout follows Krueger et al. (2017): in
    training a number of the state keeps its old value with the given probability, in evaluation it
    takes the expectation; the output is computed from the memory before its zoneout.
    """
    thinned = [_thinned(m, noise.weight_drop, cell.training) for m in cell.matrices()]
    n_steps, n_streams, _ = x_TBE.shape
    products = [
        StepProduct(as_multiplied(matrix), n_steps=n_steps, n_streams=n_streams)
        for matrix in (*thinned, *cell.whole_matrices())
    ]

    def times(number: int, h_BH: Tensor) -> Tensor:
        product_BG = products[number](h_BH)
        return cell.norms[number](product_BG) if len(cell.norms) else product_BG

    def drop(candidate_BH: Tensor) -> Tensor:
        return functional.dropout(candidate_BH, noise.recurrent_dropout, cell.training)

    outputs = []
    masks = masks_of_resets(keep_TB)
    for t, x_BG in enumerate(cell.project(x_TBE)):
        if t in masks:
            state = tuple(leaf * masks[t] for leaf in state)
        new = cell.step(x_BG, state, times=times, drop=drop)
        if any(noise.zoneout):
            new = _zoned_out(new, state, rates=noise.zoneout, training=cell.training)
        state = new
        outputs.append(state[0])
    return torch.stack(outputs), state


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
    keep_TB: Tensor | None = None,
) -> tuple[Tensor, Leaves]:
    """As `run_cell`, for one of torch's layers: one call for all steps of a chunk without resets.

    `bias_shift_G` is added to the bias on the state. Only an LSTM takes a mask.

    Raises:
        ValueError: the state is for another number of streams; some calls would read beyond it.
    """
    n_streams = x_TBE.shape[1]
    # Not len(), which gives a constant: a model exported to ONNX would then fit only that batch.
    if any(leaf.shape[0] != n_streams for leaf in state):
        raise ValueError(f"a state for {len(state[0])} streams; expected one for {n_streams}")
    weights = _weights(layer, weight_drop=weight_drop, bias_shift_G=bias_shift_G)
    masks = masks_of_resets(keep_TB)
    if bf16_lstm.takes(layer, x_TBE):
        h_TBH, *after = bf16_lstm.run(x_TBE, state, weights=weights, masks=masks)
    elif keep_TB is not None and masks:
        on_input, on_state, bias_x, bias_h = weights
        x_TBG = functional.linear(x_TBE, on_input, bias_x + bias_h)
        weight_GH = as_multiplied(on_state)
        h_TBH, c_BH = masked_lstm(x_TBG, state, weight_GH=weight_GH, keep_TB=keep_TB)
        after = [h_TBH[-1], c_BH]
    else:
        start = tuple(leaf[None].contiguous() for leaf in state)
        hx = start if len(start) > 1 else start[0]
        call = getattr(torch._VF, layer.mode.lower())  # as torch's own layer
        h_TBH, *ends = call(x_TBE, hx, weights, True, 1, 0.0, layer.training, False, False)
        after = [end[0] for end in ends]
    return h_TBH, tuple(leaf.to(before.dtype) for leaf, before in zip(after, state, strict=True))


def masks_of_resets(keep_TB: Tensor | None) -> dict[int, Tensor]:
    """The mask, (B, 1), of each step before which a stream is reset: where `keep_TB` is 0.

    On a GPU these are all steps, since to look at the mask would be to wait for it.
    """
    if keep_TB is None:
        return {}
    if keep_TB.is_cuda:
        steps = list(range(len(keep_TB)))
    else:
        steps = (keep_TB == 0).any(dim=1).nonzero().flatten().tolist()
    return {t: keep_TB[t].unsqueeze(1) for t in steps}


def _weights(layer: nn.RNNBase, *, weight_drop: float, bias_shift_G: Tensor | None) -> list[Tensor]:
    """The weights on input and state, and their biases, with the noise and shift of a chunk."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights: list[Tensor] = [layer.get_parameter(name) for name in names]
    weights[1] = _thinned(weights[1], weight_drop, layer.training)
    if bias_shift_G is not None:
        weights[3] = weights[3] + bias_shift_G
    return weights


def _thinned(matrix: Tensor, rate: float, training: bool) -> Tensor:
    """Weight drop: DropConnect (Wan et al., 2013) as in Merity et al. (2018).

    The remaining weights are scaled by 1 / (1 − rate). A step of word-char-modern in fp32 took
    1,151 ms with torch's own mask and 1,111 ms with `quick_mask`.
    """
    if training and rate and matrix.device.type == "cpu":
        return matrix * quick_mask(matrix, rate)
    return functional.dropout(matrix, rate, training)


def drawn(*shape: int, dim: int) -> nn.Parameter:
    """A parameter drawn as in torch's recurrent layers: uniform in ±1/√dim."""
    return nn.Parameter(torch.empty(shape).uniform_(-(dim**-0.5), dim**-0.5))


def dropped(context: nn.Module, x_TBE: Tensor, *, rate: float) -> Tensor:
    """Dropout; one mask for all steps of a stream if `context.variational`, else one for each."""
    if not context.variational:
        return dropout(x_TBE, rate, training=context.training)
    if not context.training or not rate:
        return x_TBE
    return x_TBE * functional.dropout(torch.ones_like(x_TBE[:1]), rate)
