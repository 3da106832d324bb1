"""Vectors in two dimensions: the plane in which they differ most (principal components).

Words are drawn by their directions, since `charlm nn` compares cosines; n-grams by their vectors as
they are, as in figure 2 of Kim et al. (2016). The share of the variance tells how much of it a
plane can show.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.insight.encoded_pieces import (
    Piece,
    character_encoder,
    encoded_pieces,
    pieces_of,
    require_numbers,
    require_words,
    shown,
)
from charlm.insight.vectors.cache import units
from charlm.insight.vectors.taps import OUTPUT, Vectors
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.char_lstm import CharLSTM
from charlm.model.encoders.char_ngram import CharNgrams
from charlm.run.stored_weights import LoadedRun
from charlm.text.corpus.normalisation.normalisation import HYPHENS
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.vocabulary import WORD_END, WORD_START

Kind = Literal["prefix", "suffix", "hyphenated", "other"]
Floats = npt.NDArray[np.float64]

KINDS: tuple[Kind, ...] = get_args(Kind)
LEAST_WORDS = 2  # an n-gram of one word is that word's alone
LONGEST = 6  # characters of an n-gram, where the encoder has no widest filter
MOST_NGRAMS = 100_000  # of a large vocabulary those that stand in most words
MOST_WORDS = 10_000  # the most frequent


@dataclass(frozen=True)
class Plane:
    """Points on the two axes of largest variance, and the share of the variance that each holds."""

    points_N2: Floats
    shares: tuple[float, float]


@dataclass(frozen=True)
class NgramMap:
    """Character n-grams in the plane, those that occur in most words first."""

    ngrams: tuple[str, ...]
    kinds: tuple[Kind, ...]
    n_words: tuple[int, ...]  # that hold the n-gram
    plane: Plane
    n_left_out: int  # n-grams of fewer words, of a large vocabulary


@dataclass(frozen=True)
class WordMap:
    """The most frequent words in the plane, with the vectors' directions before projection."""

    words: tuple[str, ...]
    counts: tuple[int, ...]  # in the training text
    units_NE: npt.NDArray[np.float32]
    plane: Plane
    tap: str


def principal_plane(vectors_NE: npt.NDArray[np.floating]) -> Plane:
    """The plane of largest variance through the mean of the vectors.

    An axis points to the side where its largest component is positive, so that machines agree.
    """
    centred_NE = vectors_NE.astype(np.float64) - vectors_NE.mean(axis=0, dtype=np.float64)
    variances, axes_EE = np.linalg.eigh(centred_NE.T @ centred_NE)
    axes_E2 = axes_EE[:, :-3:-1]
    if axes_E2.shape[1] < 2:  # vectors of one number
        axes_E2 = np.pad(axes_E2, ((0, 0), (0, 1)))
    largest_2 = axes_E2[np.abs(axes_E2).argmax(axis=0), [0, 1]]
    axes_E2 = axes_E2 * np.where(largest_2 < 0, -1.0, 1.0)
    total = variances.sum()
    shares = [float(v / total) if total else 0.0 for v in (*variances[:-3:-1], 0.0)]
    return Plane(centred_NE @ axes_E2, (shares[0], shares[1]))


def ngram_map(run: LoadedRun) -> NgramMap:
    """All character n-grams of two words or more, by the vectors of the character encoder.

    These are taken before any highway layer. N-grams are at most as long as the widest filter,
    including the markers that begin and end a word. To an encoder without these markers `{un` is
    the same as `un`.

    Raises:
        ConfigError: the run has no character encoder; no two words share an n-gram.
        DataError: a model that gives no numbers.
    """
    encoder = character_encoder(run)
    longest = encoder.widest if isinstance(encoder, CharCNN) else LONGEST
    shortest = encoder.orders.start if isinstance(encoder, CharNgrams) else 1
    counts = pieces_of(run.inventory, longest=longest, shortest=shortest)
    pieces = [piece for piece, count in counts.items() if count >= LEAST_WORDS]
    pieces.sort(key=lambda piece: (-counts[piece], piece))
    if not pieces:
        raise ConfigError(
            f"{run.path}: no character n-gram stands in two of its words; expected some; choose "
            "a run of more words"
        )
    kept = pieces[:MOST_NGRAMS]
    device = next(encoder.parameters()).device
    # It takes a form's first and last characters for markers, and reads neither.
    is_unmarked = isinstance(encoder, CharLSTM) and not encoder.markers
    read = list(map(_as_word, kept)) if is_unmarked else kept
    vectors_NE = encoded_pieces(read, by=encoder.eval(), device=device)
    require_numbers(run, vectors_NE)
    ngrams = tuple(shown(piece, run.inventory) for piece in kept)
    return NgramMap(
        ngrams=ngrams,
        kinds=tuple(_kind(piece, ngram) for piece, ngram in zip(kept, ngrams, strict=True)),
        n_words=tuple(counts[piece] for piece in kept),
        plane=principal_plane(vectors_NE),
        n_left_out=len(pieces) - len(kept),
    )


def _as_word(piece: Piece) -> Piece:
    """The letters of a piece between the markers of a word."""
    letters = (letter for letter in piece if letter not in (WORD_START, WORD_END))
    return (WORD_START, *letters, WORD_END)


def _kind(piece: Piece, ngram: str) -> Kind:
    """An n-gram's kind; hyphens first, to which vectors are most sensitive (Kim et al.)."""
    if any(hyphen in ngram for hyphen in f"-{HYPHENS}"):
        return "hyphenated"
    if piece[0] == WORD_START:
        return "prefix"
    return "suffix" if piece[-1] == WORD_END else "other"


def word_map(run: LoadedRun, *, at: str | None = None) -> WordMap:
    """The most frequent words at a tap of the encoder, the last if not given."""
    tap = require_tap(run, at)
    require_words(run)
    inventory, chosen = run.inventory, slice(UNK + 1, UNK + 1 + MOST_WORDS)
    numbers = np.arange(inventory.n_words)[: chosen.stop]
    vectors_NE = Vectors(run).of_words(numbers, tap=tap)[chosen]
    require_numbers(run, vectors_NE.numpy())
    units_NE = units(vectors_NE).numpy()
    plane = principal_plane(units_NE)
    return WordMap(inventory.words[chosen], inventory.counts[chosen], units_NE, plane, tap)


def require_tap(run: LoadedRun, at: str | None) -> str:
    """`at`, or the last tap of the encoder if it is None.

    Raises:
        ConfigError: no such tap.
    """
    vectors = Vectors(run)
    names = [name for name in vectors.widths if name != OUTPUT]
    if at is not None and at not in names:
        raise ConfigError(f"at: found {at!r}; {run.path} has {', '.join(names)}; choose one")
    return vectors.last if at is None else at
