"""How parameters are drawn before the first step; one class per method.

All values set by a part's constructor are overwritten. A parameter's role is read from its name:
`bias` marks a bias; `weight_hh…` and `weight_ch…` a matrix that multiplies a state.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from torch import nn

from charlm.model.contexts.history import History
from charlm.model.contexts.log_bilinear import LogBilinear
from charlm.model.contexts.lstm import LSTMCell
from charlm.model.contexts.mogrifier import MogrifierCell
from charlm.settings import Meaning, Range

Reach = Annotated[float, Range(0.0, 100.0), Meaning("largest absolute value drawn")]
Factor = Annotated[float, Range(0.0, 100.0)]
Kind = Literal["vector", "table", "recurrent", "input", "matrix"]

LSTM_ROWS = "ifgo"  # rows of a stacked kernel in torch's order: input, forget, candidate, output
CANDIDATE = "g"
RECURRENT = ("weight_hh", "weight_ch")  # how the names of such matrices begin


class Initialisation(ABC):
    """A way to draw all parameters of a model."""

    @abstractmethod
    def apply(self, model: nn.Module) -> None:
        """Draw the parameters from torch's global generator, in their order."""


@dataclass(frozen=True, kw_only=True)
class Uniform(Initialisation):
    """All parameters uniform in ±`range`; optionally zero biases (Kim et al., 2016: 0.05)."""

    range: Reach = 0.05
    biases: Annotated[
        Literal["drawn", "zero"], Meaning("biases are drawn like other parameters, or set to zero")
    ] = "drawn"

    @torch.no_grad()
    def apply(self, model: nn.Module) -> None:
        for name, parameter in model.named_parameters():
            if self.biases == "zero" and is_bias(name):
                parameter.zero_()
            else:
                parameter.uniform_(-self.range, self.range)


@dataclass(frozen=True, kw_only=True)
class Xavier(Initialisation):
    """Matrices uniform in ±gain·√(6 / (fan in + fan out)) (Glorot & Bengio, 2010, eq. 16).

    A recurrent cell's stacked kernels count as one matrix per gate, as in Miyamoto & Cho's code.
    Tables of vectors are uniform in ±`range`: their rows are read one at a time, so the vocabulary
    size is not a fan-in. Biases and all other vectors are 0.

    Miyamoto & Cho (2016): with `where` = encoder-cells, the range of an LSTM's three gates, but not
    of its candidate, is `gates` = 4 times as wide; everything else is drawn from ±0.1. Their
    character-only model draws the context's cells so, too. The paper has the factor of 4 only for
    that model's encoder; elsewhere it appears only in their code.
    """

    gain: Annotated[Factor, Meaning("factor of the range that matrices are drawn from")] = 1.0
    gates: Annotated[Factor, Meaning("further factor of that range for the gates of LSTMs")] = 1.0
    where: Annotated[
        Literal["everywhere", "cells", "encoder-cells"],
        Meaning("matrices drawn this way; all others are uniform in ±range"),
    ] = "everywhere"
    range: Reach = 0.1

    @torch.no_grad()
    def apply(self, model: nn.Module) -> None:
        for role in parameter_roles(model):
            parameter = role.parameter
            if role.kind == "vector":
                parameter.zero_()
            elif not self._is_meant(role):
                parameter.uniform_(-self.range, self.range)
            else:
                bound = self.gain * glorot_bound(parameter, n_stacked=role.n_stacked)
                parameter.uniform_(-bound, bound)
                for row, matrix in zip(role.rows, parameter.chunk(role.n_stacked), strict=False):
                    matrix.mul_(1.0 if row == CANDIDATE else self.gates)

    def _is_meant(self, role: "ParameterRole") -> bool:
        if role.kind == "table":
            return False
        if self.where == "everywhere":
            return True
        is_of_cell = role.kind in ("recurrent", "input")
        return is_of_cell and (self.where == "cells" or "encoder" in role.name.split("."))


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Initialisation):
    """Recurrent matrices orthogonal, all others as in Glorot & Bengio (Straka's slides).

    As in Keras, the whole 4H × H kernel of an LSTM has orthonormal columns, not each gate's H × H
    matrix; an input kernel also counts as one matrix. Biases and all other vectors are 0; a forget
    bias of 1 is an option of the LSTM. Tables of vectors are uniform in ±`range`, with Keras's
    default.
    """

    range: Reach = 0.05

    @torch.no_grad()
    def apply(self, model: nn.Module) -> None:
        for role in parameter_roles(model):
            parameter = role.parameter
            if role.kind == "vector":
                parameter.zero_()
            elif role.kind == "recurrent":
                nn.init.orthogonal_(parameter)
            elif role.kind in ("input", "matrix"):
                n_stacked = role.n_stacked if role.kind == "matrix" else 1
                bound = glorot_bound(parameter, n_stacked=n_stacked)
                parameter.uniform_(-bound, bound)
            else:
                parameter.uniform_(-self.range, self.range)


class ParameterRole(NamedTuple):
    """A parameter and its role in the model."""

    name: str
    parameter: torch.Tensor  # several matrices are stacked one above the other
    kind: Kind
    n_stacked: int  # number of stacked matrices: an LSTM's kernels hold 4
    rows: str = ""  # which gate each matrix of an LSTM belongs to, as `ifgo`


def parameter_roles(model: nn.Module) -> Iterator[ParameterRole]:
    """The roles of all parameters, in order.

    `vector` is a bias, a parameter of less than two dimensions, or the vectors before a stream's
    first word; `input` is a recurrent cell's `weight_ih…`, which may hold fewer gates than its
    recurrent kernel.
    """
    tables = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, nn.Embedding | nn.EmbeddingBag)
    }
    widths = {  # of a cell's state
        _owner(name): parameter.shape[1]
        for name, parameter in model.named_parameters()
        if is_recurrent(name)
    }
    modules = dict(model.named_modules())
    for name, parameter in model.named_parameters():
        width, module = widths.get(_owner(name), 0), modules[_owner(name)]
        is_input = bool(width) and name.rpartition(".")[2].startswith("weight_ih")
        if is_bias(name) or parameter.dim() < 2 or isinstance(module, History):
            yield ParameterRole(name, parameter, "vector", 1)
        elif id(parameter) in tables:
            yield ParameterRole(name, parameter, "table", 1)
        elif is_recurrent(name) or is_input:
            kind: Kind = "input" if is_input else "recurrent"
            rows = _lstm_rows(module, name)
            yield ParameterRole(name, parameter, kind, len(parameter) // width, rows)
        elif isinstance(module, LogBilinear) and parameter.dim() > 2:
            yield ParameterRole(name, parameter.flatten(0, 1), "matrix", len(parameter))
        else:
            yield ParameterRole(name, parameter, "matrix", 1)


def is_bias(name: str) -> bool:
    """Whether a parameter of this name is a bias; some of torch's are called `bias_hh_l0`."""
    return "bias" in name.rpartition(".")[2]


def is_recurrent(name: str) -> bool:
    """Whether a parameter of this name multiplies a cell's state, or its memory (peepholes)."""
    return name.rpartition(".")[2].startswith(RECURRENT)


def glorot_bound(matrix: torch.Tensor, *, n_stacked: int = 1) -> float:
    """√(6 / (fan in + fan out)) of each of the matrices (out × in) stacked in `matrix`."""
    fan_in = matrix[0].numel()
    fan_out = matrix.numel() // matrix.shape[1] / n_stacked
    return math.sqrt(6.0 / (fan_in + fan_out))


def _lstm_rows(module: nn.Module, name: str) -> str:
    """Which gates the matrices stacked in a kernel belong to; empty if the cell is not an LSTM."""
    if isinstance(module, LSTMCell):
        return module.gates if "weight_ch" in name else "".join(module.rows)
    return LSTM_ROWS if isinstance(module, nn.LSTM | MogrifierCell) else ""


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


INITIALISATIONS: dict[str, type[Initialisation]] = {
    "uniform": Uniform,
    "xavier": Xavier,
    "orthogonal": Orthogonal,
}
