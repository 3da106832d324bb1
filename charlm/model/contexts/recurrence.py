"""Recurrent contexts: one layer's recurrence, and layers of it on top of each other.

A layer is our own loop over a cell, or one call of oneDNN or cuDNN. Both take and return its state
as a flat tuple, the layer's output first. Weight drop never touches a module's own weight, where it
would do nothing or crash: the dropped matrix is handed to the call, and is drawn once a chunk,
while what falls on the candidate or the state is drawn afresh at each step.

A part says how one layer of its own is made; whatever else recurrent contexts have in common stands
here: options, dropout, residuals, the start. Where a dropout's mask is one for all steps, that is
one a chunk and a stream: the next chunk draws anew.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Context, State
from charlm.model.kernels import bf16_lstm, fp16_lstm
from charlm.model.kernels.tiles import is_bf16_on_cpu
from charlm.settings import Dim, Layers, Probability, Range

Leaves = tuple[Tensor, ...]
Times = Callable[[int, Tensor], Tensor]
Drop = Callable[[Tensor], Tensor]
Activation = Literal["tanh", "sigmoid", "relu"]
LastDim = Annotated[int, Range(0, 65_536)]  # 0: as wide as the other layers
OutputDropout = Annotated[float, Range(-1.0, 0.999)]  # below 0: the rate of `dropout`
Start = Literal["zero", "learned"]
LayerResult = tuple[Tensor, Leaves]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}
NORM_EPSILON = 1e-3  # Straka's slides; torch's own default is 1e-5


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

    def set_norms(self, layer_norm: bool, *, on_input: int, on_state: Sequence[int]) -> None:
        """Set a layer norm for each product, of these widths, or none."""
        self.norms = nn.ModuleList(LayerNorm(width) for width in on_state if layer_norm)
        self.norm_x = LayerNorm(on_input) if layer_norm else nn.Identity()

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
    """A matrix after weight drop, cast once: autocast would cast a part of a parameter each step.

    DropConnect (Wan et al., 2013) as Merity et al. (2018): what is kept grows by 1 / (1 − rate).
    """
    matrix = functional.dropout(matrix, rate, training)
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


_CALLS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "LSTM": torch._VF.lstm,
    "GRU": torch._VF.gru,
    "RNN_TANH": torch._VF.rnn_tanh,
    "RNN_RELU": torch._VF.rnn_relu,
}


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
    kernel = next((each for each in (bf16_lstm, fp16_lstm) if each.takes(layer, x_TBE)), None)
    if kernel is not None:
        weights = _weights(layer, weight_drop=weight_drop, bias_shift_G=bias_shift_G)
        h_TBH, *ends = kernel.run(x_TBE, state, weights=weights)
        after = [end[None] for end in ends]
    else:
        start = tuple(leaf[None].contiguous() for leaf in state)
        hx = start if len(start) > 1 else start[0]
        if is_plain:
            h_TBH, last = layer(x_TBE, hx)
            after = list(last) if len(start) > 1 else [last]
        else:
            weights = _weights(layer, weight_drop=weight_drop, bias_shift_G=bias_shift_G)
            h_TBH, *after = _CALLS[layer.mode](
                x_TBE, hx, weights, True, 1, 0.0, layer.training, False, False
            )
    return h_TBH, tuple(leaf[0].to(before.dtype) for leaf, before in zip(after, state, strict=True))


def _weights(layer: nn.RNNBase, *, weight_drop: float, bias_shift_G: Tensor | None) -> list[Tensor]:
    """Those on the input and on the state, and their biases, as a chunk is to see them."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights: list[Tensor] = [layer.get_parameter(name) for name in names]
    if weight_drop:
        weights[1] = functional.dropout(weights[1], weight_drop, layer.training)
    if bias_shift_G is not None:
        weights[3] = weights[3] + bias_shift_G
    return weights


def drawn(*shape: int, dim: int) -> nn.Parameter:
    """A parameter drawn as torch draws those of a recurrence: uniform in ±1/√dim."""
    return nn.Parameter(torch.empty(shape).uniform_(-(dim**-0.5), dim**-0.5))


class Run(Protocol):
    """h_TBH of one layer from what goes in, and its state."""

    def __call__(self, layer: nn.Module, x_TBE: Tensor, /, *, state: Leaves) -> LayerResult: ...


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
    """What dropout multiplies with, from 16 random bits a number and in bf16.

    torch's own takes a random number of its generator for each, and as long as a layer's product.
    """
    drawn = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = drawn.view(torch.int16)[: like.numel()] >= round((rate - 0.5) * 2**16)
    return kept.view(like.shape).to(torch.bfloat16).mul_(1 / (1 - rate))


class StackedContext(Context):
    """Layers on top of each other, eq. 4.17 of Koehn's chapter, with what stands between them.

    Dropout follows every layer (Zaremba et al., 2014), with a rate of its own after the last one
    and before the first one; `variational` takes one mask for all steps (Gal and Ghahramani, 2016).
    Residual connections run from the second layer on, and a layer's dropout comes before what went
    in is added (Straka). A sum takes the layers' outputs before dropout, and drops once.

    A part's own options are the keywords of its `layer`: its constructor takes them behind the
    widths, and its signature, which settings are checked against, has them there.

    Raises:
        ConfigError: residuals or a sum of one layer, or of layers that are not equally wide, or
            both at once.
    """

    name: ClassVar[str]  # as CONTEXTS has it
    n_leaves: ClassVar[int] = 1  # tensors of a layer's state; the first one is the output
    lacks: ClassVar[Collection[str]] = ("memory_zoneout",)  # of the options below
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        shared = _keyword_options(StackedContext.__init__)
        place = next(place for place, each in enumerate(shared) if each.name == "dropout")
        listed = [*shared[:place], *_keyword_options(cls.layer), *shared[place:]]
        if "__init__" in vars(cls):  # what a part says anew stands first
            listed = [*_keyword_options(cls.__init__), *listed]
        options: dict[str, inspect.Parameter] = {}
        for option in listed:
            if option.name not in cls.lacks:
                options.setdefault(option.name, option)
        leading = inspect.signature(StackedContext.__init__).parameters["input_dim"]
        cls.__signature__ = inspect.Signature([leading, *options.values()])

    def __init__(
        self,
        input_dim: int,
        *,
        dim: Dim = 300,
        layers: Layers = 2,
        last_dim: LastDim = 0,
        dropout: Probability = 0.5,
        input_dropout: Probability = 0.0,
        output_dropout: OutputDropout = -1.0,
        variational: bool = False,
        recurrent_dropout: Probability = 0.0,
        zoneout: Probability = 0.0,
        memory_zoneout: Probability = 0.0,
        weight_drop: Probability = 0.0,
        residual: bool = False,
        sum_layers: bool = False,
        initial_state: Start = "zero",
        **of_layer: Any,
    ) -> None:
        super().__init__()
        self.widths = (input_dim, *[dim] * (layers - 1), last_dim or dim)
        self.dim = self.widths[-1]
        self.input_dropout = input_dropout
        self.rates = [*[dropout] * (layers - 1), output_dropout if output_dropout >= 0 else dropout]
        self.variational = variational
        self.residual = residual
        self.sum_layers = sum_layers
        self._check_sums()
        zoneouts = (zoneout, memory_zoneout)[: self.n_leaves]
        self.noise = Noise(recurrent_dropout, zoneouts, weight_drop)
        self.layers = nn.ModuleList(self.layer(*pair, **of_layer) for pair in pairwise(self.widths))
        self.start = InitialState(self.widths[1:], n_leaves=self.n_leaves, start=initial_state)

    def _check_sums(self) -> None:
        if self.residual and self.sum_layers:
            raise ConfigError(
                f"options 'residual' and 'sum_layers' of context {self.name!r} are both true; "
                "expected one of them; leave one out"
            )
        option = "residual" if self.residual else "sum_layers"
        if not (self.residual or self.sum_layers):
            return
        if len(self.widths) == 2:
            raise ConfigError(
                f"option {option!r} of context {self.name!r} is true where there is one layer, to "
                "which it does nothing; expected two or more; set context.layers=2, or leave it out"
            )
        if len(set(self.widths[1:])) > 1:
            found = ", ".join(map(str, self.widths[1:]))
            raise ConfigError(
                f"option {option!r} of context {self.name!r} adds layers of widths {found}; "
                "expected equal widths; leave out last_dim"
            )

    @abstractmethod
    def layer(self, *widths: Any, **options: Any) -> nn.Module:
        """A layer from one width to another: a `Cell`, or one of torch's if `noise` allows it."""

    def initial_state(self, n_streams: int) -> State:
        """A tuple of (B, H) leaves a layer."""
        return self.start.of(n_streams, like=next(self.parameters()))

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and a tuple of leaves a layer, in the parameters' precision."""
        return self.through_layers(x_TBE, state, run=self.run_layer)

    def run_layer(self, layer: nn.Module, x_TBE: Tensor, *, state: Leaves) -> LayerResult:
        """h_TBH of one layer alone, and its state."""
        if isinstance(layer, Cell):
            return run_cell(layer, x_TBE, state=state, noise=self.noise)
        assert isinstance(layer, nn.RNNBase)
        return run_fused(
            layer,
            x_TBE,
            state=state,
            weight_drop=self.noise.weight_drop,
            bias_shift_G=self.bias_shift(layer),
        )

    def bias_shift(self, layer: nn.RNNBase) -> Tensor | None:
        """What is added to the bias on the state of one of torch's layers."""
        return None

    def through_layers(self, x_TBE: Tensor, state: State, *, run: Run) -> tuple[Tensor, State]:
        """h_TBH of the whole stack, and each layer's state; `run` runs one layer."""
        after: list[State] = []
        outputs = []
        x_TBE = self._dropped(x_TBE, self.input_dropout)
        for number, (layer, leaves) in enumerate(zip(self.layers, state, strict=True)):
            assert isinstance(leaves, tuple)
            h_TBH, left = run(layer, x_TBE, state=tuple(map(as_tensor, leaves)))
            after.append(left)
            outputs.append(h_TBH)
            if self.sum_layers and number == len(self.layers) - 1:
                h_TBH = torch.stack(outputs).sum(dim=0)
            h_TBH = self._dropped(h_TBH, self.rates[number])
            x_TBE = h_TBH + x_TBE if self.residual and number else h_TBH
        return x_TBE, tuple(after)

    def _dropped(self, x_TBE: Tensor, rate: float) -> Tensor:
        return dropped(x_TBE, rate, training=self.training, variational=self.variational)


def _keyword_options(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]


def as_tensor(leaf: State) -> Tensor:
    """A leaf of a state whose shape is known."""
    assert isinstance(leaf, Tensor)
    return leaf


class InitialState(nn.Module):
    """The state before any word: zeros, or learned vectors that every stream starts from."""

    def __init__(self, widths: Sequence[int], *, n_leaves: int, start: Start) -> None:
        super().__init__()
        self.n_leaves = n_leaves
        self.widths = [dim for dim in widths for _ in range(n_leaves)]
        learned = [torch.zeros(dim) for dim in self.widths]
        self.leaves = nn.ParameterList(learned if start == "learned" else [])

    def of(self, n_streams: int, *, like: Tensor) -> State:
        """A tuple of (B, H) leaves a layer, on the device and in the precision of `like`."""
        if len(self.leaves):
            flat = [leaf.expand(n_streams, -1) for leaf in self.leaves]
        else:
            flat = [like.new_zeros(n_streams, dim) for dim in self.widths]
        return tuple(
            tuple(flat[first : first + self.n_leaves])
            for first in range(0, len(flat), self.n_leaves)
        )
