"""What models make of sentences of tokens: the bits of each token, and what was expected before it.

Sentences are read in blocks and batches as `charlm eval` reads them, so that the figures are its
own to the last bit. What expects is the distribution over the vocabulary, `<unk>` and `</s>` in it.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.errors import DataError
from charlm.model.contract import Output
from charlm.model.language_model import LanguageModel
from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.load import NgramModel
from charlm.ngram.ngram_states import BackoffSteps, Histories
from charlm.ngram.word_ids import UNK as NGRAM_UNK
from charlm.ngram.word_ids import mapped
from charlm.run.stored_weights import LoadedRun
from charlm.runtime import autocast
from charlm.scoring.likelihood.nll import FormVectors, Nlls, continued_nll, sentence_nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.text.corpus.sentences import blocks
from charlm.text.corpus.tokens import UNK, UNK_WORD, form_of
from charlm.text.vocabulary.encoding import FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import Inventory

BLOCK = 1 << 16  # tokens read together, as eval has it: another block, other last bits
ROWS_AT_ONCE = 256  # distributions of an n-gram model in memory
NATS, LOG10 = 1 / math.log(2), math.log2(10)  # in bits

Bits = npt.NDArray[np.float64]
Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SentenceBits:
    """A sentence under a model."""

    surprisals: Bits  # of each token and of the end; infinite where the model gives nothing
    known: tuple[bool, ...]  # whether each token is another word than `<unk>`
    entropies: Bits | None  # of what was expected before each token, and before the end


class TokenModel(Protocol):
    """A run or an n-gram model."""

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def inventory(self) -> Inventory | None:
        """The words with their counts, and the text rules; an n-gram model knows neither."""

    @property
    def vocabulary(self) -> frozenset[str]:
        """All words that it predicts; empty where nobody knows."""

    @property
    def is_carried(self) -> bool:
        """Whether a state goes on from one sentence to the next, if it is let."""

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        """Of sentences of tokens, each alone or all as one stream."""


class RunBits:
    """A run's model."""

    is_carried = True

    def __init__(self, run: LoadedRun, *, name: str, precision: str, spells: bool) -> None:
        self.name = name
        self.run = run
        self.inventory = run.inventory
        self.speller = OpenVocabulary.of_run(run) if spells else None
        self._precision = precision
        self._vectors = self._in_precision(
            lambda: FormVectors(run.model, run.inventory, oov_input=run.oov_input)
        )

    @property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.inventory.words)

    @property
    def learned_single_sentences(self) -> bool:
        """Whether single sentences are what it was trained on."""
        return self.run.learned_single_sentences

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        """As the protocol has it.

        Raises:
            DataError: a model that gives no numbers.
        """
        models = [self._vectors, *([_expecting(self._vectors)] if entropy else [])]
        states = [vectors.model.context.initial_state(1) for vectors in models]
        for block in blocks(map(list, sentences), size=BLOCK):
            form_ids = FormIds(self.inventory)
            ids = encode_sentences(block, form_ids)
            found = []
            for k, vectors in enumerate(models):
                with autocast(vectors.device, self._precision):
                    if is_carried:
                        nll, states[k] = continued_nll(
                            vectors,
                            np.concatenate(ids),
                            spellings=form_ids.spellings,
                            state=states[k],
                        )
                        found.append(np.split(nll, np.cumsum([len(each) for each in ids])[:-1]))
                    else:
                        found.append(sentence_nlls(vectors, ids, spellings=form_ids.spellings))
            self._require_numbers(found[0])
            for k, (words, numbers) in enumerate(zip(block, ids, strict=True)):
                n_words = self.inventory.n_words
                known = tuple(n < n_words and n != UNK for n in numbers[:-1].tolist())
                surprisals = found[0][k].astype(np.float64) * NATS
                surprisals += spelling_bits(words, known, speller=self.speller)
                expected = found[1][k].astype(np.float64) * NATS if entropy else None
                yield SentenceBits(surprisals, known, expected)

    def _require_numbers(self, nlls: Sequence[Nlls]) -> None:
        if not all(np.isfinite(nll).all() for nll in nlls):
            raise DataError(
                f"{self.run.path}: the model is broken: log probabilities are NaN or infinite; "
                "expected numbers; train it again"
            )

    def _in_precision(self, make: Callable[[], FormVectors]) -> FormVectors:
        with autocast(next(self.run.model.parameters()).device, self._precision):
            return make()


class _ExpectingOutput(Output):
    """In the place of a word's negative log-probability its mean over all words: the entropy."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        log_probs_NV = self.output.log_probs(h_NH)
        entropy_N = torch.special.entr(log_probs_NV.exp()).sum(-1)
        return torch.where(words_N >= 0, entropy_N, 0.0)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return self.output.log_probs(h_NH)


def _expecting(vectors: FormVectors) -> FormVectors:
    """The same vectors, of a model that is read for its entropies."""
    model, expecting = vectors.model, copy.copy(vectors)
    expecting.model = LanguageModel(model.encoder, model.context, _ExpectingOutput(model.output))
    return expecting


class NgramBits:
    """An n-gram model, which reads every sentence from `<s>`."""

    is_carried = False
    inventory: Inventory | None = None

    def __init__(
        self, model: NgramModel, *, name: str, words: Sequence[str], speller: OpenVocabulary | None
    ) -> None:
        self.name = name
        self.model = model
        self.vocabulary = frozenset(words)
        self.speller = speller

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        """As the protocol has it."""
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
        """Before each token and end of the sentences, all in a row."""
        assert isinstance(self.model, BackoffModel)
        steps = BackoffSteps(self.model)
        numbers = {word: number for number, word in enumerate(steps.words)}
        columns = []
        for words in sentences:
            place = steps.start(1)
            columns.append(place.rows_ON)
            for word in words:
                place = steps.read(place, np.array([numbers.get(word, UNK)]))
                columns.append(place.rows_ON)
        distinct, where = np.unique(np.concatenate(columns, axis=1), axis=1, return_inverse=True)
        entropies = np.empty(distinct.shape[1])
        for first in range(0, len(entropies), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            entropies[part] = _entropy(steps.distribution(Histories(distinct[:, part])))
        return entropies[where.reshape(-1)]


def _entropy(log10s: Log10s) -> Bits:
    """In bits, of each row."""
    is_possible = np.isfinite(log10s)
    terms = np.where(is_possible, 10.0**log10s * np.where(is_possible, log10s, 0.0), 0.0)
    bits: Bits = 0.0 - terms.sum(axis=1) * LOG10
    return bits


def spelling_bits(
    tokens: Sequence[str], known: Sequence[bool], *, speller: OpenVocabulary | None
) -> Bits:
    """−log2 P(spelling | <unk>) of each unknown token and 0 of all others, of the end, too.

    Raises:
        DataError: a token that the speller's vocabulary has.
    """
    added = np.zeros(len(tokens) + 1)
    if speller is None:
        return added
    places = [k for k, is_known in enumerate(known) if not is_known]
    places = [k for k in places if form_of(tokens[k]) != UNK_WORD]
    for form in (form_of(tokens[k]) for k in places):
        if form in speller.inventory.word_ids:
            raise DataError(
                f"--open-vocabulary: found {form!r:.60} as {UNK_WORD}, a word of the speller's "
                "vocabulary; expected only other words to be spelled; write the word itself"
            )
    if places:
        added[places] = -speller.log_probs([form_of(tokens[k]) for k in places]) * NATS
    return added
