"""What every encoder, context and output promises; the tests hold each listed part to it.

The base classes state contracts and share no code: a part is one class in one file.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Union

from torch import Tensor, nn

from charlm.model.forms import Forms

# A tree of tensors, batch on axis 0 of every leaf: so a state can be gathered by index.
State = Union[Tensor, tuple["State", ...]]  # noqa: UP007 -- `|` cannot name itself


class Encoder(nn.Module, ABC):
    """Forms to vectors. In evaluation mode a form's vector depends on nothing but the form."""

    dim: int  # width of a vector
    reads_spelling: bool  # whether forms outside the vocabulary differ from <unk>

    @abstractmethod
    def forward(self, forms: Forms) -> Tensor:
        """One vector a form, shape (N, E)."""

    @abstractmethod
    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Every intermediate vector that may be looked at, by name, first to last; each (N, …).

        The last one is what `forward` returns.
        """

    def after_step(self) -> None:  # noqa: B027 -- most encoders have nothing to put back
        """Put back what an optimiser's step must not have moved."""


class Context(nn.Module, ABC):
    """Vectors so far to one vector a position. Cutting a stream into chunks changes nothing."""

    dim: int  # width of an output vector

    @abstractmethod
    def initial_state(self, n_streams: int) -> State:
        """The state before any word, for `n_streams` streams."""

    @abstractmethod
    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and the state after the last position."""


class Output(nn.Module, ABC):
    """A context vector and the next word to probabilities."""

    @abstractmethod
    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""

    @abstractmethod
    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""

    def check_loaded(self) -> None:  # noqa: B027 -- most outputs load nothing but weights
        """Refuse indices that no constructor makes; to be called after loading from a file.

        Raises:
            DataError: the file is damaged; the caller puts its path before the message.
        """


def with_taps(inner: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """A wrapper's taps behind those of what it wraps, which become `inner.…` where names clash."""
    if inner.keys() & own.keys():
        inner = {f"inner.{name}": vectors for name, vectors in inner.items()}
    return {**inner, **own}


def map_state(change: Callable[[Tensor], Tensor], state: State) -> State:
    """`change` applied to every tensor of a state."""
    if isinstance(state, Tensor):
        return change(state)
    return tuple(map_state(change, part) for part in state)


def gather_state(state: State, rows: Tensor) -> State:
    """The rows of a state, in this order, with repetition."""
    return map_state(lambda leaf: leaf[rows], state)


def detached(state: State) -> State:
    """A state that gradients do not pass: where truncated BPTT cuts."""
    return map_state(Tensor.detach, state)


def state_leaves(state: State) -> list[Tensor]:
    """The tensors of a state, in a fixed order."""
    if isinstance(state, Tensor):
        return [state]
    return [leaf for part in state for leaf in state_leaves(part)]


def with_leaves(state: State, leaves: list[Tensor]) -> State:
    """A state of the same shape as `state` with these tensors."""
    remaining = iter(leaves)
    return map_state(lambda _: next(remaining), state)
