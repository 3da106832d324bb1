"""A run's surprisals of sentences of tokens, computed with torch.

Sentences are read in the blocks and batches of `charlm eval`, so that the figures equal its figures
to the last bit. With entropies both come from whole distributions, in one pass: then they equal its
figures up to rounding.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from charlm.errors import broken_model
from charlm.model.contract import State
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
from charlm.scoring.likelihood.streams import as_words
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
        adaptation: Adaptation | None,
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
        self._reader = None if adaptation is None else AdaptiveReader.of_copy(run, adaptation)

    def bits(
        self, sentences: Sentences, *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        vectors = self._vectors.under(_WithEntropies) if entropy else self._vectors
        state = self.run.model.context.initial_state(1) if is_carried else None
        if self._reader is not None:
            self._reader.restart()
        for block in blocks(map(list, sentences), size=BLOCK):
            form_ids = FormIds(self.run.inventory)
            ids = encode_sentences(block, form_ids)
            with autocast(vectors.device, self._precision):
                found, state = self._nlls(vectors, ids, spellings=form_ids.spellings, state=state)
            if not all(np.isfinite(nlls).all() for nlls in found):
                raise broken_model(self.run.path)
            for words, numbers, nlls in zip(block, ids, found, strict=True):
                read_as = as_words(numbers[:-1], self.run.inventory.n_words)
                known = tuple((read_as != UNK).tolist())
                bits = nlls.astype(np.float64) * NATS
                surprisals, expected = bits.T if entropy else (bits, None)
                surprisals = surprisals + spelling_bits(words, known, speller=self.speller)
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


class _WithEntropies(LanguageModel):
    """The same model; beside each nll stands the entropy, the mean of −log P over all words."""

    def continue_from(
        self, x_TBE: Tensor, *, words_TB: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """Both for each position, shape (T, B, 2), and the state after the last position."""
        h_TBH, state = self.context(x_TBE, state)
        log_probs_NV = self.output.log_probs(h_TBH.flatten(0, 1))
        words_N1 = words_TB.reshape(-1, 1).clamp(min=0)  # what is found where none is, is not used
        nll_N = -log_probs_NV.gather(1, words_N1)[:, 0]
        entropy_N = -log_probs_NV.exp().mul_(log_probs_NV).sum(-1)
        return torch.stack([nll_N, entropy_N], dim=-1).view(*words_TB.shape, 2), state
