"""What every encoder, context and output promises; the tests hold each listed part to it.

The base classes state contracts, which a part repeats only where it has more to say. What they
share is how a word goes on to the encoders that stand within one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, Union

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.forms import Forms

Side = Literal["both", "word", "char"]

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

    def after_step(self) -> None:
        """Put back what an optimiser's step must not have moved, of the encoders within, too."""
        for part in self.inner():
            part.after_step()

    def use_side(self, side: Side) -> None:
        """Give vectors of the word side or the char side of a mixture alone, or of both again.

        Raises:
            ConfigError: there are no two sides.
        """
        inner = self.inner()
        if side != "both" and not inner:
            raise ConfigError(
                f"schedule 'pretraining': the encoder has no {side} side of its own; expected a "
                "mixture of a word and a char encoder; begin with --arch miyamoto-gate-pretrained"
            )
        for part in inner:
            part.use_side(side)

    def inner(self) -> list["Encoder"]:
        """The encoders that stand directly within this one."""
        return [part for part in self.children() if isinstance(part, Encoder)]


class Context(nn.Module, ABC):
    """Vectors so far to one vector a position. Cutting a stream into chunks changes nothing."""

    dim: int  # width of an output vector

    @abstractmethod
    def initial_state(self, n_streams: int) -> State:
        """The state before any word, for `n_streams` streams."""

    @abstractmethod
    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and the state after the last position."""

    @property
    def takes_masks(self) -> bool:
        """Whether `forward_masked` may be called."""
        return False

    def forward_masked(
        self, x_TBE: Tensor, state: State, *, keep_TB: Tensor
    ) -> tuple[Tensor, State]:
        """As `forward`, with a stream's state begun anew before each step where `keep_TB` is 0.

        Nothing depends on the mask but numbers, so that a step can be recorded.
        """
        raise NotImplementedError  # asked only of contexts that take masks

    def project(self, x_NE: Tensor) -> Tensor:
        """What the first layer makes of its input alone, (N, G), so that it can be kept a word.

        Here the input itself: for contexts that have no such product.
        """
        return x_NE

    def descend(
        self, x_NG: Tensor, state: State, *, parents: Sequence[Tensor]
    ) -> tuple[Tensor, State]:
        """h_NH of the nodes of some levels of a tree, and the last level's state, in evaluation.

        `x_NG` is what `project` gave for each node, level after level; `parents[k]` are the rows,
        in the level before, that the nodes of level k follow, and `state` is that before the first.
        """
        blocks = []
        for x_BG, rows_B in zip(
            x_NG.split([rows_B.shape[0] for rows_B in parents]), parents, strict=True
        ):
            h_TBH, state = self(x_BG[None], gather_state(state, rows_B))
            blocks.append(h_TBH[0])
        return torch.cat(blocks), state


class Output(nn.Module, ABC):
    """A context vector and the next word to probabilities.

    One with `has_scores` can be used unnormalised: nll = log_z − word_scores, and the criteria that
    train it so ask for nothing else. Scores are log-probabilities but for a number a position.
    """

    has_scores: bool = False  # whether word_scores, scores and log_z may be asked for
    # Whether parameters are of a word's rank or of a cluster, and so of one vocabulary alone.
    is_by_rank: bool = False
    vector_dim: int = 0  # width of the words' vectors; 0: expected_vectors may not be asked for

    @abstractmethod
    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""

    @abstractmethod
    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""

    # The next three are asked of an output with `has_scores` alone, the fourth where `vector_dim`.

    def word_scores(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """The score of each position's own word, shape (N,), fp32; 0 where it is -1."""
        raise NotImplementedError

    def scores(self, h_NH: Tensor, words_K: Tensor | None = None) -> Tensor:
        """The scores of these words (None: of all) at every position, shape (N, K), fp32."""
        raise NotImplementedError

    def log_z(self, h_NH: Tensor) -> Tensor:
        """log Σ_w exp(score of w), shape (N,), fp32."""
        raise NotImplementedError

    def expected_vectors(self, h_NH: Tensor) -> tuple[Tensor, Tensor]:
        """The words' vectors, shape (V, E), and their mean under P(w | h), shape (N, E)."""
        raise NotImplementedError

    def score_parameters(self) -> list[nn.Parameter]:
        """Weights that whatever a softmax normalises here is proportional to; none if not its own.

        A temperature divides them, and so the scores of both levels, of head and tails, of each
        component.
        """
        return []

    def start_from(self, log_probs_V: Tensor) -> None:  # noqa: B027 -- only scores need a start
        """Let the words' biases be these before the first step, where there are any.

        Scores that are to be read as log-probabilities begin there with a sum over words near 1.
        """

    def after_step(self) -> None:  # noqa: B027 -- most outputs have nothing to put back
        """Put back what an optimiser's step must not have moved, as an encoder's `after_step`."""

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


def merge_states(one: State, other: State, *, where_B: Tensor) -> State:
    """The streams of `one` where `where_B`, else those of `other`; both of one shape."""
    pairs = zip(state_leaves(one), state_leaves(other), strict=True)
    merged = [
        torch.where(where_B.view(-1, *[1] * (a.dim() - 1)), a.to(b.dtype), b) for a, b in pairs
    ]
    return with_leaves(other, merged)


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
