"""Optimisers by name: their fields are their options, named as in torch.

`weight_decay` is an L2 term in the gradient, as in the LSTM literature; only `adamw` subtracts it
from the weights themselves. The training loop sets the rate before every step.
"""

import inspect
from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.settings import Meaning, Range

Rate = Annotated[float, Range(0.0, 1e6), Meaning("learning rate")]
Kept = Annotated[float, Range(0.0, 0.999_999)]  # the share of an average that a step keeps
Momentum = Annotated[Kept, Meaning("momentum: share of the previous step that is carried over")]
Decay = Annotated[
    float, Range(0.0, 1e3), Meaning("weight decay: how strongly weights are pulled towards 0")
]
# With 0, a word that is never seen would give 0 / 0.
Epsilon = Annotated[
    float, Range(1e-30, 1.0), Meaning("small number added to the denominator of each step")
]
Maker = Callable[..., torch.optim.Optimizer]

FUSED, FOREACH = {"fused": True}, {"foreach": True}


class Optimiser(ABC):
    """Settings of one of torch's optimisers.

    On a CPU, torch's fused kernels, where they exist, take a third of the time of the others.
    """

    of_torch: ClassVar[Maker]
    kernels: ClassVar[Mapping[str, bool]] = {}
    lr: float

    @property
    def is_sparse(self) -> bool:
        """Whether a step changes only what has a gradient, and so can use row-sparse gradients.

        Otherwise they are made dense first: the steps are the same, at the cost of whole tables.
        """
        return False

    @property
    def is_linear(self) -> bool:
        """Whether a step is the gradient times the rate and nothing else."""
        return False

    def kernels_on(self, parameters: Sequence[nn.Parameter]) -> Mapping[str, bool | None]:
        """Which of torch's kernels compute the steps."""
        return self.kernels

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        listed = list(parameters)
        return _plain_class(self.of_torch)(listed, **vars(self), **self.kernels_on(listed))

    def slots(self) -> dict[str, bool]:
        """What torch's keeps of a parameter: whether a number for each weight, or only one."""
        weights = nn.Parameter(torch.zeros(2))
        weights.grad = torch.zeros(2)
        tried = self.over([weights])
        tried.step()
        kept = {name: each for name, each in tried.state[weights].items() if each is not None}
        return {name: each.shape == weights.shape for name, each in kept.items()}


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of torch's optimisers that does not load torch's compiler: a second, and 70 MB.

    torch decorates them to tell the compiler, which nothing here uses, to leave them alone. When
    loaded it also leaves a folder in /tmp, or, where that is full, in the working folder.
    """
    plain: Callable[..., Any] = inspect.unwrap(method)
    return plain


@cache
def _plain_class(kind: Any) -> Maker:
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: _plain(getattr(kind, name)) for name in names}
    return type(kind.__name__, (kind,), {**methods, "step": torch.no_grad()(_plain(kind.step))})


class LateSGD(torch.optim.SGD):
    """torch's SGD, also for parameters whose first gradient comes later than that of others.

    In pre-training these are one side's. torch's fused kernels take momenta of all or of none; one
    of zeros gives the first step that none gives.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for parameter in group["params"] if group["momentum"] else ():
                if parameter.grad is not None and not self.state[parameter]:
                    self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        return _plain(torch.optim.SGD.step)(self, closure)


@dataclass(frozen=True, kw_only=True)
class SGD(Optimiser):
    """Stochastic gradient descent (Kim et al., 2016: rate 1, nothing else).

    Momentum is as in torch: the buffer is not scaled by 1 − momentum.

    Raises:
        ConfigError: Nesterov's momentum with a momentum of 0.
    """

    of_torch = LateSGD
    lr: Rate = 1.0
    momentum: Momentum = 0.0
    nesterov: Annotated[bool, Meaning("Nesterov's momentum instead of plain momentum")] = False
    weight_decay: Decay = 0.0

    def __post_init__(self) -> None:
        if self.nesterov and not self.momentum:
            raise ConfigError(
                "option 'nesterov' of optimiser 'sgd' is true where momentum is 0; expected a "
                "momentum; use --set recipe.optimiser.momentum=0.9"
            )

    @property
    def is_sparse(self) -> bool:
        return self.is_linear

    @property
    def is_linear(self) -> bool:
        return not self.momentum and not self.weight_decay

    def kernels_on(self, parameters: Sequence[nn.Parameter]) -> Mapping[str, bool | None]:
        """The fused kernels, except for plain steps, where the others are faster."""
        return {"foreach": self.is_linear, "fused": not self.is_linear}


@dataclass(frozen=True, kw_only=True)
class Adam(Optimiser):
    """Adam (Kingma & Ba, 2015), with L2 in the gradient.

    With `betas` = 0, 0.999 it is what Melis et al. (2018) call RMSprop and use for tuned LSTMs.

    Raises:
        ConfigError: there are not two betas.
    """

    of_torch: ClassVar[Maker] = torch.optim.Adam
    kernels = FUSED
    lr: Rate = 1e-3
    betas: Annotated[
        tuple[float, ...],
        Range(0.0, 0.999_999),
        Meaning("decay rates of the averages of the gradient and of its square"),
    ] = (0.9, 0.999)
    eps: Epsilon = 1e-8
    weight_decay: Decay = 0.0

    def __post_init__(self) -> None:
        if len(self.betas) != 2:
            raise ConfigError(
                f"option 'betas' of optimiser {type(self).__name__.lower()!r} holds "
                f"{len(self.betas)} numbers; expected two; use --set "
                "recipe.optimiser.betas=0.9,0.999"
            )


@dataclass(frozen=True, kw_only=True)
class AdamW(Adam):
    """Adam with decay subtracted from the weights (Loshchilov & Hutter, 2019).

    A step shrinks the weights by lr · weight_decay. The tiny values of the LSTM literature (1e-6)
    are meant for L2 in the gradient: here they have almost no effect, and the model overfits. For
    such values use `adam`.
    """

    of_torch = torch.optim.AdamW
    weight_decay: Decay = 0.01


@dataclass(frozen=True, kw_only=True)
class NAdam(Adam):
    """Adam with Nesterov's momentum (Dozat, 2016), with torch's schedule of the momentum."""

    of_torch = torch.optim.NAdam
    kernels = FOREACH
    lr: Rate = 2e-3


@dataclass(frozen=True, kw_only=True)
class RAdam(Adam):
    """Adam that uses only momentum until its second moment is reliable (Liu et al., 2020)."""

    of_torch = torch.optim.RAdam
    kernels = FOREACH


@dataclass(frozen=True, kw_only=True)
class RMSprop(Optimiser):
    """The gradient over the root of its mean square (Tieleman & Hinton, 2012); ε outside the root.

    It has no bias correction for the first steps, unlike Adam.
    """

    of_torch = torch.optim.RMSprop
    lr: Rate = 1e-2
    alpha: Annotated[Kept, Meaning("decay rate of the average of the squared gradient")] = 0.99
    eps: Epsilon = 1e-8
    momentum: Momentum = 0.0
    weight_decay: Decay = 0.0


class RowAdagrad(torch.optim.Adagrad):
    """torch's Adagrad, with faster steps for row-sparse gradients.

    Rows without a gradient do not change, just as with a dense gradient. A row-sparse gradient must
    hold each row only once, and cannot be combined with decay, which changes all rows.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        moved = []
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None and gradient.is_sparse:
                    self._move_rows(parameter, gradient, lr=group["lr"], eps=group["eps"])
                    parameter.grad = None  # so that torch moves only the others
                    moved.append((parameter, gradient))
        result = _plain(torch.optim.Adagrad.step)(self, closure)
        for parameter, gradient in moved:
            parameter.grad = gradient
        return result

    def _move_rows(self, parameter: Tensor, gradient: Tensor, *, lr: float, eps: float) -> None:
        rows, values = gradient._indices()[0], gradient._values()
        state = self.state[parameter]
        state["step"] += 1
        sums = state["sum"][rows].addcmul_(values, values)
        state["sum"].index_copy_(0, rows, sums)
        parameter.index_add_(0, rows, values / sums.sqrt_().add_(eps), alpha=-lr)


@dataclass(frozen=True, kw_only=True)
class Adagrad(Optimiser):
    """The gradient over the root of the sum of all its squares (Duchi et al., 2011)."""

    of_torch = RowAdagrad
    lr: Rate = 1e-2
    eps: Epsilon = 1e-10
    weight_decay: Decay = 0.0

    @property
    def is_sparse(self) -> bool:
        return not self.weight_decay

    def kernels_on(self, parameters: Sequence[nn.Parameter]) -> Mapping[str, bool | None]:
        """The fused kernels on a CPU; torch has none for other devices."""
        return {"fused": all(each.device.type == "cpu" for each in parameters) or None}


@dataclass(frozen=True, kw_only=True)
class Adadelta(Optimiser):
    """Steps scaled by the size of earlier steps (Zeiler, 2012); `lr` is a further factor."""

    of_torch = torch.optim.Adadelta
    lr: Rate = 1.0
    rho: Annotated[Kept, Meaning("decay rate of the averages of squared gradients and steps")] = 0.9
    eps: Epsilon = 1e-6
    weight_decay: Decay = 0.0


OPTIMISERS: dict[str, type[Optimiser]] = {
    "sgd": SGD,
    "adam": Adam,
    "adamw": AdamW,
    "nadam": NAdam,
    "radam": RAdam,
    "rmsprop": RMSprop,
    "adagrad": Adagrad,
    "adadelta": Adadelta,
}
