"""The vocabulary, or any pieces of spelling, encoded by a part of an encoder, in blocks.

A piece of spelling is a list of character ids and need not be a word: `{un` begins one and does not
end it. Only the part of an encoder that reads letters can encode it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from charlm.errors import ConfigError, DataError
from charlm.model.contract import Encoder
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.char_lstm import CharLSTM
from charlm.model.encoders.char_ngram import CharNgrams
from charlm.model.forms import Forms, FormTable
from charlm.run.stored_weights import LoadedRun
from charlm.scoring.likelihood.nll import FORMS_AT_ONCE, form_slices
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.vocabulary import PAD, UNKNOWN_LETTER, WORD_END, WORD_START, Inventory

Part = TypeVar("Part", bound=torch.nn.Module)
Piece = tuple[int, ...]  # character ids

SHOWN = {WORD_START: "{", WORD_END: "}", UNKNOWN_LETTER: "\N{REPLACEMENT CHARACTER}"}


def part_of(run: LoadedRun, *kinds: type[Part], what: str, wanted: str) -> Part:
    """A part of the run's encoder, of the first of these kinds of which it has one.

    Raises:
        ConfigError: there is none.
    """
    parts = list(run.model.encoder.modules())
    for kind in kinds:
        for part in parts:
            if isinstance(part, kind):
                return part
    raise ConfigError(
        f"{run.path}: its encoder {run.settings['encoder']['type']!r} has no {what}; expected one "
        f"with {wanted}"
    )


def character_encoder(run: LoadedRun) -> Encoder:
    """The part of the run's encoder that reads letters."""
    kinds: tuple[type[Encoder], ...] = (CharCNN, CharLSTM, CharNgrams)
    wanted = "char-cnn, char-lstm or char-ngram"
    return part_of(run, *kinds, what="character encoder", wanted=wanted)


def require_words(run: LoadedRun) -> None:
    """Raises ConfigError for a vocabulary without words to show."""
    if run.inventory.n_words <= UNK + 1:
        raise ConfigError(
            f"{run.path}: its vocabulary is </s> and <unk> alone; expected words beside them; "
            "choose a run of a longer text"
        )


def require_numbers(run: LoadedRun, values: npt.NDArray[np.floating]) -> None:
    """Raises DataError for a model whose outputs are not finite numbers."""
    if not np.isfinite(values).all():
        raise DataError(
            f"{run.path}: the model is broken: its encoder gives NaN or infinity; expected "
            "numbers; train it again"
        )


def vocabulary_blocks(run: LoadedRun, *, part: Encoder) -> Iterator[tuple[slice, Forms]]:
    """The words of the vocabulary in blocks, on the device of `part`, which is set to evaluate."""
    table = FormTable(run.inventory, run.inventory.words)
    rows = np.arange(len(table))
    device = next(part.eval().parameters()).device
    for block in form_slices(table.lengths):
        yield block, table.forms(rows[block]).to(device)


def pieces_of(inventory: Inventory, *, longest: int, shortest: int = 1) -> dict[Piece, int]:
    """The character n-grams of the vocabulary, and the number of words that hold each.

    The markers that begin and end a word count as characters but are not n-grams by themselves.
    `</s>` and `<unk>` have no spelling.
    """
    counts: dict[Piece, int] = {}
    for word in inventory.words[UNK + 1 :]:
        spelled = tuple(inventory.spelling(word))
        found = {
            spelled[first : first + length]
            for length in range(shortest, longest + 1)
            for first in range(len(spelled) - length + 1)
        }
        for piece in found - {(WORD_START,), (WORD_END,)}:
            counts[piece] = counts.get(piece, 0) + 1
    return counts


def shown(piece: Piece, inventory: Inventory) -> str:
    """A piece as text: `{` begins a word and `}` ends it, as in the paper."""
    n_markers = inventory.n_characters - len(inventory.characters)
    return "".join(
        inventory.characters[letter - n_markers] if letter >= n_markers else SHOWN[letter]
        for letter in piece
    )


@torch.no_grad()
def encoded_pieces(
    pieces: Sequence[Piece], *, by: Callable[[Forms], Tensor], device: torch.device
) -> npt.NDArray[np.float32]:
    """The pieces of spelling encoded by `by`, a row each."""
    results = []
    for first in range(0, len(pieces), FORMS_AT_ONCE):
        part = pieces[first : first + FORMS_AT_ONCE]
        lists = [torch.tensor(piece) for piece in part]
        letters_NL = pad_sequence(lists, batch_first=True, padding_value=PAD)
        forms = Forms(torch.full((len(part),), UNK), letters_NL).to(device)
        results.append(by(forms).float().cpu())
    return torch.cat(results).numpy()
