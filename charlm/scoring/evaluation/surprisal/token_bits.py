"""Models' values for sentences of tokens: the bits of each token, and the entropy before it.

The entropy is that of the distribution over the vocabulary, including `<unk>` and `</s>`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.files.load import NgramModel
from charlm.ngram.ngram_states import NgramSteps
from charlm.ngram.word_ids import UNK as NGRAM_UNK
from charlm.ngram.word_ids import mapped
from charlm.run.onnx_model import OnnxModel
from charlm.scoring.likelihood.onnx_steps import SENTENCES_AT_ONCE, OnnxSteps, sentence_log_probs
from charlm.text.corpus.sentences import BLOCK, blocks, in_batches
from charlm.text.corpus.tokens import END_WORD, UNK
from charlm.text.vocabulary.vocabulary import Inventory

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

ROWS_AT_ONCE = 256  # distributions of an n-gram model in memory at once
NATS, LOG10 = 1 / math.log(2), math.log2(10)  # in bits

Bits = npt.NDArray[np.float64]
Sentences = Iterable[Sequence[str]]


@dataclass(frozen=True)
class SentenceBits:
    """A sentence under a model."""

    surprisals: Bits  # of each token and of the end; infinite at probability 0
    known: tuple[bool, ...]  # whether each token is in the vocabulary
    entropies: Bits | None  # of the distribution before each token, and before the end


def finite(value: float) -> float | None:
    """The value, or None if it is not finite (probability 0)."""
    return float(value) if math.isfinite(value) else None


class TokenModel(ABC):
    """A run, an exported model, or an n-gram model."""

    name: str  # in tables
    inventory: Inventory | None = None  # words, counts and text rules; None for an n-gram model
    vocabulary: frozenset[str]  # all words that it predicts; empty if unknown
    speller: "OpenVocabulary | None" = None  # for unknown words, if they are to be spelled
    learned_single_sentences: bool  # whether it was trained on single sentences
    adaptation: str = ""  # how it adapts to what it reads; empty: not at all
    can_carry: bool = True  # whether it can carry a state to the next sentence

    @abstractmethod
    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        """The values of sentences of tokens, each on its own or all as one stream.

        Raises:
            DataError: a model that gives no finite numbers.
        """


class ExportedBits(TokenModel):
    """An exported model: sentences on their own are read side by side, a stream token by token."""

    def __init__(self, model: OnnxModel, *, name: str) -> None:
        self.name = name
        self.inventory = model.inventory
        self.vocabulary = frozenset(model.inventory.words)
        self.learned_single_sentences = model.learned_single_sentences
        self._steps = OnnxSteps(model)

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        if not (is_carried or entropy):
            for some in in_batches(sentences, size=SENTENCES_AT_ONCE, size_of=lambda _: 1):
                found = sentence_log_probs(self._steps, some)
                for words, log_probs in zip(some, found, strict=True):
                    yield SentenceBits(log_probs * -NATS, self._known(words), None)
            return
        row = np.zeros(1, np.int64)
        start = at = self._steps.start(1)
        for words in sentences:
            at = at if is_carried else start
            ids = self._steps.ids([*words, END_WORD])
            nats, entropies = np.zeros((2, len(ids)))
            for place, token in enumerate([*words, END_WORD]):
                log_probs_V = self._steps.distribution(at)[0]
                nats[place] = -log_probs_V[ids[place]]
                if entropy:
                    entropies[place] = -(np.exp(log_probs_V) * log_probs_V).sum()
                if is_carried or place < len(words):
                    at = self._steps.read(at, rows=row, tokens=[token], words=ids[[place]])
            bits = nats * NATS
            yield SentenceBits(bits, self._known(words), entropies * NATS if entropy else None)

    def _known(self, words: Sequence[str]) -> tuple[bool, ...]:
        return tuple((self._steps.ids(words) != UNK).tolist())


class NgramBits(TokenModel):
    """An n-gram model, which reads every sentence from `<s>`."""

    can_carry = False
    learned_single_sentences = True

    def __init__(
        self,
        model: NgramModel,
        *,
        name: str,
        vocabulary: frozenset[str],
        speller: "OpenVocabulary | None",
    ) -> None:
        self.name = name
        self.model = model
        self.vocabulary = vocabulary
        self.speller = speller

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        for block in blocks(map(list, sentences), size=BLOCK):
            words = [mapped(each, None) for each in block]
            scores = self.model.score(words)
            expected = self._entropies(words) if entropy else None
            start = 0
            for tokens in block:
                own = slice(start, start + len(tokens) + 1)
                start = own.stop
                known = tuple((scores.word_ids[own] != NGRAM_UNK)[:-1].tolist())
                surprisals = 0.0 - scores.log10_probs[own] * LOG10
                surprisals += spelling_bits(tokens, known, speller=self.speller)
                yield SentenceBits(surprisals, known, None if expected is None else expected[own])

    def _entropies(self, sentences: Sequence[list[str]]) -> Bits:
        """The entropies before each token and end of the sentences, all in one row."""
        assert isinstance(self.model, BackoffModel)
        steps = NgramSteps(self.model)
        numbers = {word: number for number, word in enumerate(steps.words)}
        columns, first_row = [], np.zeros(1, np.int64)
        for words in sentences:
            place = steps.start(1)
            columns.append(place)
            for word in words:
                number = np.array([numbers.get(word, UNK)])
                place = steps.read(place, rows=first_row, tokens=[word], words=number)
                columns.append(place)
        distinct, where = np.unique(np.concatenate(columns, axis=1), axis=1, return_inverse=True)
        entropies = np.empty(distinct.shape[1])
        for first in range(0, len(entropies), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            entropies[part] = _entropy(steps.log10_distribution(distinct[:, part]))
        return entropies[where.reshape(-1)]


def _entropy(log10s: Log10s) -> Bits:
    """The entropy of each row in bits."""
    is_possible = np.isfinite(log10s)
    terms = np.where(is_possible, 10.0**log10s * np.where(is_possible, log10s, 0.0), 0.0)
    bits: Bits = 0.0 - terms.sum(axis=1) * LOG10
    return bits


def spelling_bits(
    tokens: Sequence[str], known: Sequence[bool], *, speller: "OpenVocabulary | None"
) -> Bits:
    """−log2 P(spelling | <unk>) of each unknown token, 0 of all other tokens and of the end."""
    bits = np.zeros(len(tokens) + 1)
    if speller is not None:
        bits[:-1] -= speller.spelled(tokens, known) * NATS
    return bits
