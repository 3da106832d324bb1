"""Layers of recurrent cells on top of each other: what all recurrent contexts have in common.

A subclass says how one of its layers is made; options, dropout, residuals and the initial state are
here. A dropout mask that holds for all steps holds for one chunk of one stream; the next chunk
draws a new one.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contexts.recurrence import (
    Cell,
    Leaves,
    Noise,
    Start,
    Variational,
    dropped,
    run_cell,
    run_fused,
)
from charlm.model.contract import Context, State, state_leaves
from charlm.settings import Dim, Layers, Meaning, Probability, Range, keyword_only


class StackedContext(Context):
    """Layers on top of each other, eq. 4.17 of Koehn's chapter, with dropout and residuals.

    Dropout follows every layer (Zaremba et al., 2014), with separate rates after the last layer and
    before the first; `variational` takes one mask for all steps (Gal and Ghahramani, 2016).
    Residual connections start at the second layer, and a layer's dropout comes before its input is
    added (Straka). A sum takes the layers' outputs before dropout, and drops once.

    A subclass's `layer` makes a layer from one width to another: a `Cell`, or one of torch's if
    `noise` allows it. Its keywords are the subclass's options: the constructor takes them after the
    widths, and so does its signature, against which settings are checked.

    Raises:
        ConfigError: residuals or a sum with one layer, with layers of different widths, or both
            at once.
    """

    name: ClassVar[str]  # as in CONTEXTS
    layer: ClassVar[Callable[..., nn.Module]]
    n_leaves: ClassVar[int] = 1  # tensors of a layer's state; the first one is the output
    lacks: ClassVar[Collection[str]] = ("memory_zoneout",)  # the options below that it lacks
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        shared = keyword_only(StackedContext.__init__)
        place = next(place for place, each in enumerate(shared) if each.name == "dropout")
        listed = [*shared[:place], *keyword_only(cls.layer), *shared[place:]]
        if "__init__" in vars(cls):  # options that a subclass redefines come first
            listed = [*keyword_only(cls.__init__), *listed]
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
        dim: Annotated[Dim, Meaning("dimension of each layer's output")] = 300,
        layers: Annotated[Layers, Meaning("number of stacked layers")] = 2,
        last_dim: Annotated[
            int, Range(0, 65_536), Meaning("dimension of the last layer; 0: that of the others")
        ] = 0,
        dropout: Annotated[
            Probability, Meaning("share of each layer's output zeroed in training")
        ] = 0.5,
        input_dropout: Annotated[
            Probability, Meaning("share of the first layer's input zeroed in training")
        ] = 0.0,
        output_dropout: Annotated[
            float,
            Range(-1.0, 0.999),
            Meaning("dropout of the last layer's output; below 0: same as dropout"),
        ] = -1.0,
        variational: Variational = False,
        recurrent_dropout: Annotated[
            Probability, Meaning("dropout of the candidate state at each step")
        ] = 0.0,
        zoneout: Annotated[
            Probability,
            Meaning("share of the hidden state that keeps its previous value in training"),
        ] = 0.0,
        memory_zoneout: Annotated[
            Probability,
            Meaning("share of the memory cell that keeps its previous value in training"),
        ] = 0.0,
        weight_drop: Annotated[
            Probability, Meaning("share of the recurrent weights zeroed for a whole chunk")
        ] = 0.0,
        residual: Annotated[
            bool, Meaning("from layer 2 on, a layer's input is added to its output")
        ] = False,
        sum_layers: Annotated[
            bool, Meaning("the context vector is the sum of all layers' outputs")
        ] = False,
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

    def initial_state(self, n_streams: int) -> State:
        """For each layer a tuple of leaves, (B, H) each."""
        return self.start.of(n_streams, like=next(self.parameters()))

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and for each layer a tuple of leaves, in the parameters' precision."""
        return self.through_layers(x_TBE, state, run=self.run_layer)

    @property
    def takes_masks(self) -> bool:
        """True if all layers are LSTMs or run in our own loop, and the initial state is zero."""
        return isinstance(self.layers[0], Cell | nn.LSTM) and not self.start.leaves

    def forward_masked(
        self, x_TBE: Tensor, state: State, *, keep_TB: Tensor
    ) -> tuple[Tensor, State]:
        return self.through_layers(x_TBE, state, run=partial(self.run_layer, keep_TB=keep_TB))

    def run_layer(
        self, layer: nn.Module, x_TBE: Tensor, *, state: Leaves, keep_TB: Tensor | None = None
    ) -> tuple[Tensor, Leaves]:
        """h_TBH of one layer, and its state; where `keep_TB` is 0, a step begins with zeros."""
        if isinstance(layer, Cell):
            return run_cell(layer, x_TBE, state=state, noise=self.noise, keep_TB=keep_TB)
        assert isinstance(layer, nn.RNNBase)
        return run_fused(
            layer,
            x_TBE,
            state=state,
            weight_drop=self.noise.weight_drop,
            bias_shift_G=self.bias_shift(layer),
            keep_TB=keep_TB,
        )

    def bias_shift(self, layer: nn.RNNBase) -> Tensor | None:
        """What is added to the bias on the state in one of torch's layers."""
        return None

    def through_layers(
        self, x_TBE: Tensor, state: State, *, run: Callable[..., tuple[Tensor, Leaves]]
    ) -> tuple[Tensor, State]:
        """h_TBH of the whole stack, and each layer's state; `run` has `run_layer`'s signature."""
        after: list[State] = []
        outputs = []
        x_TBE = dropped(self, x_TBE, rate=self.input_dropout)
        for number, (layer, before) in enumerate(zip(self.layers, state, strict=True)):
            h_TBH, left = run(layer, x_TBE, state=tuple(state_leaves(before)))
            after.append(left)
            outputs.append(h_TBH)
            if self.sum_layers and number == len(self.layers) - 1:
                h_TBH = torch.stack(outputs).sum(dim=0)
            h_TBH = dropped(self, h_TBH, rate=self.rates[number])
            x_TBE = h_TBH + x_TBE if self.residual and number else h_TBH
        return x_TBE, tuple(after)


class InitialState(nn.Module):
    """The state before any word: zeros, or learned vectors that every stream starts from."""

    def __init__(self, widths: Sequence[int], *, n_leaves: int, start: Start) -> None:
        super().__init__()
        self.n_leaves = n_leaves
        self.widths = [dim for dim in widths for _ in range(n_leaves)]
        learned = [torch.zeros(dim) for dim in self.widths]
        self.leaves = nn.ParameterList(learned if start == "learned" else [])

    def of(self, n_streams: int, *, like: Tensor) -> State:
        """For each layer a tuple of (B, H) leaves, on the device and in the precision of `like`."""
        if len(self.leaves):
            flat = [leaf.expand(n_streams, -1) for leaf in self.leaves]
        else:
            flat = [like.new_zeros(n_streams, dim) for dim in self.widths]
        return tuple(
            tuple(flat[first : first + self.n_leaves])
            for first in range(0, len(flat), self.n_leaves)
        )
