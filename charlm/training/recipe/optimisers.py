"""Optimisers by name; each says how torch's own is made.

`weight_decay` is L2 in the gradient, as the LSTM literature's values mean it; only `adamw` takes it
off the weights themselves. The loop sets the rate anew before every step.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Annotated

import torch
from torch import nn

from charlm.errors import ConfigError
from charlm.settings import Range
from charlm.training.recipe.row_adagrad import RowAdagrad

Rate = Annotated[float, Range(0.0, 1e6)]
Share = Annotated[float, Range(0.0, 0.999_999)]  # of what an average keeps at a step
Betas = Annotated[tuple[float, ...], Range(0.0, 0.999_999)]
Decay = Annotated[float, Range(0.0, 1e3)]
Epsilon = Annotated[float, Range(1e-30, 1.0)]  # 0 would divide 0 by 0 where a word is never seen


class Optimiser(ABC):
    """Settings of one of torch's optimisers.

    Fused kernels, where torch has them, take a third of the time of the others on a CPU.
    """

    lr: float
    # Whether a step leaves alone what has no gradient, so that the rows of a row-sparse one are all
    # that it must read. Otherwise they are made dense first: the same steps, at the tables' cost.
    is_sparse: bool = False
    is_linear: bool = False  # whether a step is the gradient times the rate, and nothing else

    @abstractmethod
    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""


class SGD(Optimiser):
    """Stochastic gradient descent (Kim et al., 2016: rate 1, nothing else).

    Momentum as torch's: the buffer is not scaled by 1 − momentum.

    Raises:
        ConfigError: Nesterov's momentum without momentum.
    """

    def __init__(
        self,
        *,
        lr: Rate = 1.0,
        momentum: Share = 0.0,
        nesterov: bool = False,
        weight_decay: Decay = 0.0,
    ) -> None:
        if nesterov and not momentum:
            raise ConfigError(
                "option 'nesterov' of optimiser 'sgd' is true where momentum is 0; expected a "
                "momentum; use --set recipe.optimiser.momentum=0.9"
            )
        self.lr = lr
        self.momentum = momentum
        self.nesterov = nesterov
        self.weight_decay = weight_decay
        self.is_sparse = self.is_linear = not momentum and not weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.SGD(
            parameters,
            lr=self.lr,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
            foreach=self.is_linear,  # the faster one there
            fused=not self.is_linear,
        )


class Adam(Optimiser):
    """Adam (Kingma & Ba, 2015), L2 in the gradient.

    `betas` = 0, 0.999 is what the tuned LSTMs of Melis et al. (2018) call RMSprop.
    """

    def __init__(
        self,
        *,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: Epsilon = 1e-8,
        weight_decay: Decay = 0.0,
    ) -> None:
        self.lr = lr
        self.betas = _pair(betas, name="adam")
        self.eps = eps
        self.weight_decay = weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.Adam(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            fused=True,
        )


class AdamW(Optimiser):
    """Adam with its decay taken off the weights (Loshchilov & Hutter, 2019).

    A step shrinks the weights by lr · weight_decay. The LSTM literature's tiny values (1e-6) are
    meant for L2 in the gradient: here they do next to nothing, and the model overfits. Use `adam`.
    """

    def __init__(
        self,
        *,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: Epsilon = 1e-8,
        weight_decay: Decay = 0.01,
    ) -> None:
        self.lr = lr
        self.betas = _pair(betas, name="adamw")
        self.eps = eps
        self.weight_decay = weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.AdamW(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            fused=True,
        )


class NAdam(Optimiser):
    """Adam with Nesterov's momentum (Dozat, 2016), the momentum's schedule as torch's."""

    def __init__(
        self,
        *,
        lr: Rate = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: Epsilon = 1e-8,
        weight_decay: Decay = 0.0,
    ) -> None:
        self.lr = lr
        self.betas = _pair(betas, name="nadam")
        self.eps = eps
        self.weight_decay = weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.NAdam(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            foreach=True,
        )


class RAdam(Optimiser):
    """Adam that is momentum alone until its second moment can be trusted (Liu et al., 2020)."""

    def __init__(
        self,
        *,
        lr: Rate = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: Epsilon = 1e-8,
        weight_decay: Decay = 0.0,
    ) -> None:
        self.lr = lr
        self.betas = _pair(betas, name="radam")
        self.eps = eps
        self.weight_decay = weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.RAdam(
            parameters,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            foreach=True,
        )


class RMSprop(Optimiser):
    """The gradient over the root of its mean square (Tieleman & Hinton, 2012); ε outside the root.

    Without Adam's correction of the first steps.
    """

    def __init__(
        self,
        *,
        lr: Rate = 1e-2,
        alpha: Share = 0.99,
        eps: Epsilon = 1e-8,
        momentum: Share = 0.0,
        weight_decay: Decay = 0.0,
    ) -> None:
        self.lr = lr
        self.alpha = alpha
        self.eps = eps
        self.momentum = momentum
        self.weight_decay = weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.RMSprop(
            parameters,
            lr=self.lr,
            alpha=self.alpha,
            eps=self.eps,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )


class Adagrad(Optimiser):
    """The gradient over the root of the sum of all its squares (Duchi et al., 2011)."""

    def __init__(self, *, lr: Rate = 1e-2, eps: Epsilon = 1e-10, weight_decay: Decay = 0.0) -> None:
        self.lr = lr
        self.eps = eps
        self.weight_decay = weight_decay
        self.is_sparse = not weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        listed = list(parameters)
        is_on_cpu = all(parameter.device.type == "cpu" for parameter in listed)
        return RowAdagrad(
            listed,
            lr=self.lr,
            eps=self.eps,
            weight_decay=self.weight_decay,
            fused=True if is_on_cpu else None,  # torch has no such kernel elsewhere
        )


class Adadelta(Optimiser):
    """Steps of the size of the steps before (Zeiler, 2012); `lr` is a factor on them."""

    def __init__(
        self,
        *,
        lr: Rate = 1.0,
        rho: Share = 0.9,
        eps: Epsilon = 1e-6,
        weight_decay: Decay = 0.0,
    ) -> None:
        self.lr = lr
        self.rho = rho
        self.eps = eps
        self.weight_decay = weight_decay

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.Adadelta(
            parameters, lr=self.lr, rho=self.rho, eps=self.eps, weight_decay=self.weight_decay
        )


def _pair(betas: tuple[float, ...], *, name: str) -> tuple[float, float]:
    if len(betas) != 2:
        raise ConfigError(
            f"option 'betas' of optimiser {name!r} holds {len(betas)} numbers; expected two; "
            "use --set recipe.optimiser.betas=0.9,0.999"
        )
    return betas[0], betas[1]


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
