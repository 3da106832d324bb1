"""What stands around the layers of every recurrence: dropout, residuals, sums, the start.

A part holds its own layers and says how one is run; here they are put on top of each other. Where a
dropout's mask is one for all steps, that is one a chunk and a stream: the next chunk draws anew.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contexts.recurrence import Leaves
from charlm.model.contract import State
from charlm.model.kernels.tiles import is_bf16_on_cpu
from charlm.settings import Range

LastDim = Annotated[int, Range(0, 65_536)]  # 0: as wide as the other layers
OutputDropout = Annotated[float, Range(-1.0, 0.999)]  # below 0: the rate of `dropout`
Start = Literal["zero", "learned"]
Run = Callable[[nn.Module, Tensor, Leaves], tuple[Tensor, Leaves]]


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


class Wiring(nn.Module):
    """Layers on top of each other, eq. 4.17 of Koehn's chapter, with what stands between them.

    Dropout follows every layer (Zaremba et al., 2014), with a rate of its own after the last one
    and before the first one; `variational` takes one mask for all steps (Gal and Ghahramani, 2016).
    Residual connections run from the second layer on, and a layer's dropout comes before what went
    in is added (Straka). A sum takes the layers' outputs before dropout, and drops once.

    Raises:
        ConfigError: residuals or a sum of one layer, or of layers that are not equally wide, or
            both at once.
    """

    def __init__(
        self,
        part: str,
        widths: Sequence[int],
        *,
        dropout: float,
        input_dropout: float,
        output_dropout: float,
        variational: bool,
        residual: bool,
        sum_layers: bool,
    ) -> None:
        super().__init__()
        self.widths = tuple(widths)  # the input's, then each layer's
        self.input_dropout = input_dropout
        self.rates = [dropout] * (len(widths) - 2)
        self.rates.append(output_dropout if output_dropout >= 0 else dropout)
        self.variational = variational
        self.residual = residual
        self.sum_layers = sum_layers
        self._check(part)

    def _check(self, part: str) -> None:
        if self.residual and self.sum_layers:
            raise ConfigError(
                f"options 'residual' and 'sum_layers' of context {part!r} are both true; "
                "expected one of them; leave one out"
            )
        option = "residual" if self.residual else "sum_layers"
        if not (self.residual or self.sum_layers):
            return
        if len(self.widths) == 2:
            raise ConfigError(
                f"option {option!r} of context {part!r} is true where there is one layer, to which "
                "it does nothing; expected two or more; set context.layers=2, or leave it out"
            )
        if len(set(self.widths[1:])) > 1:
            found = ", ".join(map(str, self.widths[1:]))
            raise ConfigError(
                f"option {option!r} of context {part!r} adds layers of widths {found}; "
                "expected equal widths; leave out last_dim"
            )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each layer's input width and width."""
        return list(pairwise(self.widths))

    def run(
        self, x_TBE: Tensor, state: State, *, layers: nn.ModuleList, run: Run
    ) -> tuple[Tensor, State]:
        """h_TBH of the whole stack, and each layer's state; `run` runs one layer."""
        after: list[State] = []
        outputs = []
        x_TBE = self._dropped(x_TBE, self.input_dropout)
        for number, (layer, leaves) in enumerate(zip(layers, state, strict=True)):
            assert isinstance(leaves, tuple)
            h_TBH, left = run(layer, x_TBE, tuple(map(as_tensor, leaves)))
            after.append(left)
            outputs.append(h_TBH)
            if self.sum_layers and number == len(layers) - 1:
                h_TBH = torch.stack(outputs).sum(dim=0)
            h_TBH = self._dropped(h_TBH, self.rates[number])
            x_TBE = h_TBH + x_TBE if self.residual and number else h_TBH
        return x_TBE, tuple(after)

    def _dropped(self, x_TBE: Tensor, rate: float) -> Tensor:
        return dropped(x_TBE, rate, training=self.training, variational=self.variational)


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
