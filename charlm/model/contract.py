"""The contracts of encoders, contexts and outputs; the tests check them for each listed part.

The base classes state the contracts, and a part documents a method only where it adds to them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Union

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.forms import Forms

Side = Literal["both", "word", "char"]

# A tree of tensors with the batch on axis 0 of every leaf, so that states can be gathered by index.
State = Union[Tensor, tuple["State", ...]]  # noqa: UP007 -- `|` cannot name itself


class Encoder(nn.Module, ABC):
    """Forms to vectors. In evaluation mode a form's vector depends only on the form."""

    dim: int  # width of a vector
    reads_spelling: bool  # whether forms outside the vocabulary differ from <unk>
    tap: str  # what `taps` calls the vectors

    @abstractmethod
    def forward(self, forms: Forms) -> Tensor:
        """One vector per form, shape (N, E)."""

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """All intermediate vectors for inspection, by name, first to last; each (N, …).

        The last one is what `forward` returns, the only one unless a part says otherwise.
        """
        return {self.tap: self(forms)}

    def after_step(self) -> None:
        """Restore values that the optimiser must not change, here and in encoders within."""
        for part in self.inner():
            part.after_step()

    def use_side(self, side: Side) -> None:
        """Use only the word side or only the char side of a mixture, or both again.

        Raises:
            ConfigError: the encoder does not have two sides.
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


class Wrapper(Encoder):
    """An encoder around another one, whose vectors it changes."""

    def __init__(self, encoder: Encoder, *, dim: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.dim = dim or encoder.dim
        self.reads_spelling = encoder.reads_spelling

    @abstractmethod
    def over(self, vectors_NE: Tensor) -> Tensor:
        """The changed vectors, shape (N, dim)."""

    def forward(self, forms: Forms) -> Tensor:
        return self.over(self.encoder(forms))

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """The inner encoder's taps, then the changed vectors."""
        taps = self.encoder.taps(forms)
        return with_taps(taps, {self.tap: self.over(list(taps.values())[-1])})


class Context(nn.Module, ABC):
    """Maps the vectors so far to one vector per position, however a stream is cut into chunks."""

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
        """As `forward`, but a stream's state is reset before each step where `keep_TB` is 0.

        The mask changes only numbers, and neither shapes nor control flow, so that a step can be
        recorded.
        """
        raise NotImplementedError  # asked only of contexts that take masks

    def project(self, x_NE: Tensor) -> Tensor:
        """The first layer's product with its input, (N, G), which can be cached for each word.

        The default, for contexts without such a product, is the input itself.
        """
        return x_NE

    def descend(
        self, x_NG: Tensor, state: State, *, parents: Sequence[Tensor]
    ) -> tuple[Tensor, State]:
        """h_NH of the nodes of some levels of a tree, and the last level's state, in evaluation.

        `x_NG` is the result of `project` for each node, level after level. `parents[k]` are the
        rows of the previous level that the nodes of level k follow, and `state` is the state before
        the first level.
        """
        blocks = []
        for x_BG, rows_B in zip(
            x_NG.split([rows_B.shape[0] for rows_B in parents]), parents, strict=True
        ):
            h_TBH, state = self(x_BG[None], gather_state(state, rows_B))
            blocks.append(h_TBH[0])
        return torch.cat(blocks), state


class WordSample(NamedTuple):
    """Words that stand for all of the vocabulary in a sum over it."""

    words_K: Tensor  # each once, then repeats that count nothing
    log_weights_K: Tensor  # log of how often each counts
    own_N: Tensor  # where the word of each position is among them, -1 if there is none


class Output(nn.Module, ABC):
    """Maps a context vector and the next word to probabilities.

    An output with `has_scores` can be used without normalisation: nll = log_z − word_scores, and
    the criteria that train it for that use only these. Scores are log-probabilities up to one
    number per position.
    """

    has_scores: bool = False  # whether word_scores, scores and log_z are available
    has_table: bool = False  # whether sampled_nll is available
    # Whether parameters belong to a word's rank or to a cluster, and so to one vocabulary only.
    is_by_rank: bool = False
    chosen_cutoffs: tuple[int, ...] = ()  # where tails begin, if the vocabulary's counts decide it
    vector_dim: int = 0  # width of the words' vectors; 0: expected_vectors is not available

    @abstractmethod
    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""

    @abstractmethod
    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""

    def word_scores(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """The score of each position's own word, shape (N,), fp32; 0 where it is -1."""
        raise NotImplementedError  # asked only where has_scores

    def scores(self, h_NH: Tensor, words_K: Tensor | None = None) -> Tensor:
        """The scores of these words (None: all words) at every position, shape (N, K), fp32."""
        raise NotImplementedError  # asked only where has_scores

    def log_z(self, h_NH: Tensor) -> Tensor:
        """log Σ_w exp(score of w), shape (N,), fp32."""
        raise NotImplementedError  # asked only where has_scores

    def sampled_nll(self, h_NH: Tensor, sample: WordSample) -> Tensor:
        """As `nll`, with sums over all words estimated from a sample; its words have weight 1."""
        raise NotImplementedError  # asked only where has_table

    def expected_vectors(self, h_NH: Tensor) -> tuple[Tensor, Tensor]:
        """The words' vectors, shape (V, E), and their mean under P(w | h), shape (N, E)."""
        raise NotImplementedError  # asked only where vector_dim is not 0

    def score_parameters(self) -> list[nn.Parameter]:
        """The output's own weights to which all normalised scores are proportional; else empty.

        A temperature divides them, and with them the scores of both levels, of head and tails, or
        of each component.
        """
        return []

    def start_from(self, log_probs_V: Tensor) -> None:
        """Set the words' biases, where there are any, to these values before the first step.

        If scores are to be read as log-probabilities, their exponentials then begin with a sum over
        words near 1.
        """

    def after_step(self) -> None:
        """Restore values that the optimiser must not change, as an encoder's `after_step`."""

    def check_loaded(self) -> None:
        """Refuse invalid indices; must be called after loading from a file.

        Raises:
            DataError: the file is damaged; the caller puts its path before the message.
        """


def with_taps(inner: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """The taps of a wrapped encoder, then the wrapper's own; clashing ones become `inner.…`."""
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
    """The state without its gradient: where truncated BPTT cuts."""
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
