"""Negative log-probabilities of encoded text, with state carried or sentence by sentence.

A form's vector depends on the form alone, so the vocabulary is encoded once, and other spellings
once per chunk. Memory depends on the vocabulary and the chunk, never on the length of a text.
"""

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.model.contract import State, gather_state
from charlm.model.forms import FormTable, bounded_slices
from charlm.model.language_model import LanguageModel
from charlm.scoring.likelihood.streams import Streams, as_words, sentence_batches
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids
from charlm.text.vocabulary.vocabulary import Inventory

MAX_EXPONENT = 700.0  # exp of a larger number is not a float
FORMS_AT_ONCE = 2048
LETTERS_AT_ONCE = 70 * FORMS_AT_ONCE  # with padding: one very long word stretches all beside it
CHUNK_POSITIONS = 512  # of a chunk: 20 MB of scores at 10,000 words; more were slower per position
CHUNK_SCORES = 1 << 25  # of a chunk: fewer positions if the vocabulary is large
GPU_POSITIONS, GPU_SCORES = 1 << 13, 1 << 27  # for a GPU, which waits between chunks
MANY_WORDS = 100_000  # in a vocabulary: a text may lack most of them

Nlls = npt.NDArray[np.float32]


class ChunkVectors:
    """The vectors of a chunk's forms, each distinct form encoded once a call, with gradients."""

    def __init__(
        self, model: LanguageModel, inventory: Inventory, *, oov_input: str = "unk"
    ) -> None:
        self.model = model
        self.inventory = inventory
        self.by_spelling = oov_input == "spelling"
        self.device = next(model.parameters()).device
        self._words = FormTable(inventory, inventory.words)

    def of(self, form_ids: Ids, spellings: Sequence[str]) -> Tensor:
        """The vector of each form, (…, E); `spellings[i]` is the form with id V + i.

        Spellings are read as `<unk>` if `oov_input` says so.
        """
        n_words = self.inventory.n_words
        numbers = form_ids if self.by_spelling else as_words(form_ids, n_words)
        distinct, where = np.unique(numbers, return_inverse=True)
        n_known = int(np.searchsorted(distinct, n_words))
        new = [spellings[i - n_words] for i in distinct[n_known:]]
        known = distinct[:n_known].astype(np.int64)
        parts = [self._of_words(known)] if n_known or not new else []
        if new:
            table = FormTable(self.inventory, new, ids=distinct[n_known:])
            parts.append(self._encode(table, np.arange(len(table))))
        vectors_NE = torch.cat(parts) if len(parts) > 1 else parts[0]
        places = where.reshape(form_ids.shape).astype(np.int64)
        return vectors_NE[torch.from_numpy(places).to(self.device)]

    def _of_words(self, words: npt.NDArray[np.int64]) -> Tensor:
        """The vectors of words of the vocabulary."""
        return self._encode(self._words, words)

    def _encode(self, table: FormTable, rows: npt.NDArray[np.integer]) -> Tensor:
        """The vectors of some forms of a table."""
        encoded: Tensor = self.model.encoder(table.forms(rows).to(self.device))
        return encoded


class FormVectors(ChunkVectors):
    """The vectors of a vocabulary, computed once, and those of other spellings as they come.

    The vectors of a large vocabulary are computed when they are first needed. The encoder must not
    change, and there are no gradients.
    """

    def __init__(
        self, model: LanguageModel, inventory: Inventory, *, oov_input: str = "unk"
    ) -> None:
        super().__init__(model, inventory, oov_input=oov_input)
        is_large = inventory.n_words > MANY_WORDS
        first = np.arange(1 if is_large else inventory.n_words)
        self.vocabulary_VE = self._encode(self._words, first)
        if is_large:  # memory that is never written takes no space
            self.vocabulary_VE = self.vocabulary_VE.new_empty(inventory.n_words, model.encoder.dim)
        self._is_lacking_V = np.full(inventory.n_words, is_large)

    def under(self, kind: type[LanguageModel]) -> Self:
        """The same vectors, the parts of their model in one of another kind."""
        model, found = self.model, copy.copy(self)
        found.model = kind(model.encoder, model.context, model.output)
        return found

    @property
    def positions_at_once(self) -> int:
        """How many positions a chunk may hold, over all its streams."""
        positions, scores = CHUNK_POSITIONS, CHUNK_SCORES
        if self.device.type == "cuda":
            positions, scores = GPU_POSITIONS, GPU_SCORES
        return max(1, min(positions, scores // self.inventory.n_words))

    @torch.no_grad()
    def _encode(self, table: FormTable, rows: npt.NDArray[np.integer]) -> Tensor:
        encoder = self.model.encoder.eval()
        vectors_NE = torch.empty(0, encoder.dim, device=self.device)
        for part in form_slices(table.lengths[rows]):
            encoded = encoder(table.forms(rows[part]).to(self.device))
            if not len(vectors_NE):  # the encoder decides the number format
                vectors_NE = encoded.new_empty(len(rows), encoder.dim)
            vectors_NE[part] = encoded
        return vectors_NE

    def _of_words(self, words: npt.NDArray[np.int64]) -> Tensor:
        lacking = words[self._is_lacking_V[words]]
        if len(lacking):
            vectors = self._encode(self._words, lacking)
            self.vocabulary_VE[torch.from_numpy(lacking).to(self.device)] = vectors
            self._is_lacking_V[lacking] = False
        return self.vocabulary_VE[torch.from_numpy(words).to(self.device)]


def form_slices(lengths: npt.NDArray[np.int64]) -> Iterator[slice]:
    """Ranges of rows to encode together, in order."""
    return bounded_slices(lengths, most_rows=FORMS_AT_ONCE, most_places=LETTERS_AT_ONCE)


@torch.no_grad()
def chunk_nll(
    vectors: FormVectors, chunk: tuple[Ids, Ids], *, spellings: Sequence[str], state: State
) -> tuple[Nlls, State]:
    """nll_TB in nats of one chunk (0 where the target is −1), and the state after it.

    `chunk` holds the form ids fed in and the form ids to predict, both (T, B).
    """
    inputs_TB, targets_TB = chunk
    model = vectors.model.eval()
    x_TBE = vectors.of(inputs_TB, spellings)
    words_TB = torch.from_numpy(as_words(targets_TB, vectors.inventory.n_words))
    nll_TB, state = model.continue_from(x_TBE, words_TB=words_TB.to(vectors.device), state=state)
    result: Nlls = nll_TB.float().cpu().numpy()
    return result, state


def streams_nll(
    vectors: FormVectors,
    ids: Ids,
    *,
    spellings: Sequence[str],
    n_streams: int = 1,
    columns: slice = slice(None),
) -> Iterator[tuple[Nlls, Ids]]:
    """Chunk by chunk, nll_TB in nats and the form ids predicted (−1: none); the state is carried.

    Only these `columns` of the streams are read.
    """
    streams = Streams(ids, n_streams=n_streams)
    n_read = len(range(n_streams)[columns])
    state = vectors.model.context.initial_state(n_read)
    steps = max(1, vectors.positions_at_once // n_read)
    for first in range(0, streams.length, steps):
        inputs, targets = streams.chunk(first, first + steps)
        chunk = (inputs[:, columns], targets[:, columns])
        nll, state = chunk_nll(vectors, chunk, spellings=spellings, state=state)
        yield nll, chunk[1]


def validation_perplexity(chunks: Iterable[tuple[Nlls, Ids]]) -> float:
    """exp of the mean nll over all tokens of `streams_nll`'s chunks, summed in float64."""
    return perplexity_of(*nll_sums(chunks))


def nll_sums(chunks: Iterable[tuple[Nlls, Ids]]) -> tuple[float, int]:
    """nll in nats of all tokens of `streams_nll`'s chunks, and the number of these tokens."""
    total, n_tokens = 0.0, 0
    for nll, targets in chunks:
        total += float(nll.sum(dtype=np.float64))
        n_tokens += int((targets >= 0).sum())
    return total, n_tokens


def perplexity_of(total: float, n_tokens: float) -> float:
    """exp of the mean; infinite where the result does not fit a float."""
    mean = total / n_tokens
    return math.inf if mean > MAX_EXPONENT else math.exp(mean)


def continued_nll(
    vectors: FormVectors, ids: Ids, *, spellings: Sequence[str], state: State
) -> tuple[Nlls, State]:
    """nll in nats of each token of `ids`, whole sentences that continue one stream from `state`.

    `</s>` is fed in first: `state` is the initial one, or has read all but the end of the sentence
    before.
    """
    stream = Streams(ids, n_streams=1)
    pieces = []
    for first in range(0, len(ids), vectors.positions_at_once):
        chunk = stream.chunk(first, first + vectors.positions_at_once)
        nll, state = chunk_nll(vectors, chunk, spellings=spellings, state=state)
        pieces.append(nll[:, 0].copy())  # as in `batch_nlls`
    return np.concatenate(pieces), state


def sentence_nlls(
    vectors: FormVectors, sentences: Sequence[Ids], *, spellings: Sequence[str]
) -> list[Nlls]:
    """nll in nats of each token of each sentence, every sentence from the initial state."""
    results = [np.empty(0, np.float32)] * len(sentences)
    for batch in sentence_batches(sentences):
        nlls = batch_nlls(vectors, [sentences[i] for i in batch], spellings=spellings)
        for i, nll in zip(batch, nlls, strict=True):
            results[i] = nll
    return results


class _WithoutOutput(LanguageModel):
    """The same model; where each nll would stand, there is the vector that the output reads."""

    def continue_from(
        self, x_TBE: Tensor, *, words_TB: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """h_TBH, and the state after the last position."""
        h_TBH, state = self.context(x_TBE, state)
        return h_TBH, state


def sentence_contexts(
    vectors: FormVectors, sentences: Sequence[Ids], *, spellings: Sequence[str]
) -> list[npt.NDArray[np.float32]]:
    """What the output reads where it predicts each token of each sentence, (n, H) each.

    Sentences are read as by `sentence_nlls`.
    """
    return sentence_nlls(vectors.under(_WithoutOutput), sentences, spellings=spellings)


def batch_nlls(
    vectors: FormVectors, batch: Sequence[Ids], *, spellings: Sequence[str]
) -> list[Nlls]:
    """`sentence_nlls` for sentences that are read side by side, the shortest first.

    Chunks have bounded size, and a sentence leaves the batch at its end, so that one long line
    costs no more than its own tokens. What a chunk gives is copied: kept as it is among the large
    blocks of memory of the chunks, it would keep them apart, and each chunk would take a new one.
    """
    found: list[Nlls] = []
    opened = [np.concatenate([[END], ids]).astype(np.int32) for ids in batch]
    state = vectors.model.context.initial_state(len(opened))
    first = 0
    while opened:
        last = first + max(1, vectors.positions_at_once // len(opened))
        chunk = _window(opened, first, last)
        nll_TB, state = chunk_nll(vectors, chunk, spellings=spellings, state=state)
        found = found or [np.empty((len(ids), *nll_TB.shape[2:]), np.float32) for ids in batch]
        for column, own in enumerate(found[-len(opened) :]):
            own[first:last] = nll_TB[: len(own) - first, column]
        first = last
        n_ended = sum(len(ids) - 1 <= first for ids in opened)
        opened = opened[n_ended:]
        if n_ended and opened:
            remaining = torch.arange(n_ended, n_ended + len(opened), device=vectors.device)
            state = gather_state(state, remaining)
    return found


def _window(opened: list[Ids], first: int, last: int) -> tuple[Ids, Ids]:
    """Form ids fed in and form ids to predict at steps `first` … `last` − 1, each (T, B)."""
    length = min(last, len(opened[-1]) - 1) - first
    inputs = np.full((length, len(opened)), END, np.int32)
    targets = np.full((length, len(opened)), -1, np.int32)
    for column, ids in enumerate(opened):
        predicted = ids[first + 1 : last + 1]
        targets[: len(predicted), column] = predicted
        inputs[: len(predicted), column] = ids[first : first + len(predicted)]
    return inputs, targets
