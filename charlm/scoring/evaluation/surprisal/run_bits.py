"""A run's surprisals of sentences of tokens, computed with torch.

Sentences are read in the blocks and batches of `charlm eval`, so that the figures equal its figures
to the last bit.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from charlm.errors import broken_model
from charlm.model.contract import Output, State
from charlm.model.language_model import LanguageModel
from charlm.run.stored_weights import LoadedRun
from charlm.runtime import autocast
from charlm.scoring.adaptation.adaptive_reader import Adaptation, AdaptiveReader
from charlm.scoring.evaluation.surprisal.token_bits import (
    NATS,
    SentenceBits,
    Sentences,
    TokenModel,
    spelling_bits,
)
from charlm.scoring.likelihood.nll import FormVectors, Nlls, continued_nll, sentence_nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.text.corpus.sentences import BLOCK, blocks
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.encoding import FormIds, Ids, encode_sentences


class RunBits(TokenModel):
    """A run's model."""

    def __init__(
        self,
        run: LoadedRun,
        *,
        name: str,
        precision: str,
        spells: bool,
        adaptation: Adaptation | None = None,
    ) -> None:
        self.name = name
        self.run = run
        self.inventory = run.inventory
        self.vocabulary = frozenset(run.inventory.words)
        self.learned_single_sentences = run.learned_single_sentences
        self.speller = OpenVocabulary.of_run(run) if spells else None
        self._precision = precision
        with autocast(next(run.model.parameters()).device, precision):
            self._vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
        self.adaptation = "" if adaptation is None else adaptation.shown
        self._reader: AdaptiveReader | None = None
        if adaptation is not None:
            self._reader = AdaptiveReader(
                copy.deepcopy(run.model),
                run.inventory,
                adaptation=adaptation,
                oov_input=run.oov_input,
            )

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        models = [self._vectors, *([_expecting(self._vectors)] if entropy else [])]
        initial = self.run.model.context.initial_state(1)
        states: list[State | None] = [initial if is_carried else None for _ in models]
        if self._reader is not None:
            self._reader.restart()
        for block in blocks(map(list, sentences), size=BLOCK):
            form_ids = FormIds(self.run.inventory)
            ids = encode_sentences(block, form_ids)
            found = []
            for k, vectors in enumerate(models):
                with autocast(vectors.device, self._precision):
                    nlls, states[k] = self._nlls(
                        vectors, ids, spellings=form_ids.spellings, state=states[k]
                    )
                    found.append(nlls)
            if not all(np.isfinite(nll).all() for nll in found[0]):
                raise broken_model(self.run.path)
            for k, (words, numbers) in enumerate(zip(block, ids, strict=True)):
                n_words = self.run.inventory.n_words
                known = tuple(n < n_words and n != UNK for n in numbers[:-1].tolist())
                surprisals = found[0][k].astype(np.float64) * NATS
                surprisals += spelling_bits(words, known, speller=self.speller)
                expected = found[1][k].astype(np.float64) * NATS if entropy else None
                yield SentenceBits(surprisals, known, expected)

    def _nlls(
        self,
        vectors: FormVectors,
        ids: Sequence[Ids],
        *,
        spellings: Sequence[str],
        state: State | None,
    ) -> tuple[Sequence[Nlls], State | None]:
        """The nll of each sentence, all in sequence after `state`, or each on its own (None)."""
        if state is None and self._reader is None:
            return sentence_nlls(vectors, ids, spellings=spellings), None
        reader = self._reader
        read = partial(continued_nll, vectors) if reader is None else reader.continued_nll
        if state is None:
            initial = vectors.model.context.initial_state(1)
            return [read(each, spellings=spellings, state=initial)[0] for each in ids], None
        nll, state = read(np.concatenate(ids), spellings=spellings, state=state)
        return np.split(nll, np.cumsum([len(each) for each in ids])[:-1]), state


class _ExpectingOutput(Output):
    """Returns the entropy, the mean of −log P over all words, in place of a word's nll."""

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
    """The same vectors, with a model that returns entropies."""
    model, expecting = vectors.model, copy.copy(vectors)
    expecting.model = LanguageModel(model.encoder, model.context, _ExpectingOutput(model.output))
    return expecting
