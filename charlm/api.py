"""The object that Python users load: a trained model that scores sentences and looks at words.

Here a sentence is one string and stands on its own: it starts from the initial state, and its end
is predicted like every word. What `charlm eval` carries over from line to line is not carried here.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.arguments import checked_call
from charlm.errors import ConfigError, DataError
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.neighbours import Neighbourhood, neighbours_in, vectors_in
from charlm.insight.vectors.nn_options import NeighboursOptions
from charlm.nbest.scorers import NgramScorer
from charlm.ngram.arpa_reading import read_arpa
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.kenlm_model import is_kenlm_binary
from charlm.options import check_ranges, require_seed
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device
from charlm.scoring.decoding.ngram_steps import NgramSteps
from charlm.scoring.decoding.run_steps import RunSteps
from charlm.scoring.decoding.states import Flags, StatefulModel
from charlm.scoring.likelihood.draw import Shape
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.scoring.likelihood.sample_rows import SentencePlan
from charlm.scoring.likelihood.sampling import (
    SampledSentence,
    prefix_words,
    sampled_sentences,
)
from charlm.settings import Settings
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.tokens import UNK, without_marks
from charlm.text.io.lines import split_words
from charlm.text.vocabulary.encoding import FormIds, encode_sentences


@dataclass(frozen=True)
class SentenceScore:
    """What a model makes of one sentence."""

    words: tuple[str, ...]  # after normalisation
    known: tuple[bool, ...]  # whether a word is another than `<unk>` at the output
    log10_probs: tuple[float, ...]  # of each word, then of `</s>`

    @property
    def log10_prob(self) -> float:
        """Of the whole sentence, its end included."""
        return math.fsum(self.log10_probs)

    def to_dict(self) -> dict[str, object]:
        return {
            "words": list(self.words),
            "known": list(self.known),
            "log10_probs": list(self.log10_probs),
            "log10_prob": self.log10_prob,
        }


class LoadedModel(StatefulModel):
    """What runs and n-gram models share: sentences in, scores out, and states."""

    @property
    @abstractmethod
    def _normalisation(self) -> Normalisation | None:
        """The text rules of the sentences that come in."""

    @abstractmethod
    def score_many(self, sentences: str | Iterable[str]) -> list[SentenceScore]:
        """The log10 probabilities of sentences, each from the start of its own."""

    @checked_call
    def score(self, sentence: str) -> SentenceScore:
        """The log10 probabilities of a sentence, as `score_many` gives them."""
        return self.score_many([sentence])[0]

    @checked_call
    def tokens(self, sentence: str) -> list[str]:
        """The words of a sentence as the model reads them: what `step` takes.

        Raises:
            DataError: a line end, `<s>` or `</s>` within it.
        """
        if "\n" in sentence:
            raise DataError(
                f"sentence {sentence[:40]!r}: found a line end; expected one sentence; "
                "give several to score_many"
            )
        rules = self._normalisation
        words = split_words(sentence if rules is None else rules(sentence))
        return without_marks(words, where=f"sentence {sentence[:40]!r}")

    def _scores(
        self,
        sentences: Sequence[list[str]],
        *,
        known: Sequence[Flags],
        log_probs: Sequence[npt.NDArray[np.float64]],
    ) -> list[SentenceScore]:
        """The scores of sentences of tokens, from nats; a speller spells unknown words."""
        found = []
        for words, own_known, nats in zip(sentences, known, log_probs, strict=True):
            log10s = (nats + np.append(self.spelled(words, own_known), 0.0)) / math.log(10)
            found.append(
                SentenceScore(tuple(words), tuple(own_known.tolist()), tuple(log10s.tolist()))
            )
        return found


class Model(LoadedModel):
    """A trained model; `charlm.load` makes it."""

    def __init__(self, run: LoadedRun, *, speller: OpenVocabulary | None = None) -> None:
        steps = RunSteps(run.model, run.inventory, oov_input=run.oov_input, source=run.path)
        super().__init__(steps, speller=speller)
        self._run = run

    def __repr__(self) -> str:
        return f"<charlm model {str(self.path)!r}, {len(self.words)} words>"

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._run.path

    @property
    def settings(self) -> Settings:
        """Parts and recipe with all their options, as run.json holds them."""
        return self._run.settings

    @checked_call
    def score_many(self, sentences: str | Iterable[str]) -> list[SentenceScore]:
        """The log10 probabilities of sentences (a string is one), each from the initial state.

        Words stand between blanks; the run's text normalisation is applied.

        Raises:
            DataError: a line end, `<s>` or `</s>` within a sentence; a model that gives no numbers.
        """
        several = [sentences] if isinstance(sentences, str) else sentences
        split = [self.tokens(sentence) for sentence in several]
        form_ids = FormIds(self._run.inventory)
        ids = encode_sentences(split, form_ids)
        nlls = sentence_nlls(self._vectors, ids, spellings=form_ids.spellings)
        if not all(np.isfinite(nll).all() for nll in nlls):
            raise DataError(
                f"{self.path}: the model is broken: log probabilities are NaN or infinite; "
                "expected numbers; train it again"
            )
        n_words = self._run.inventory.n_words
        known = [(each[:-1] < n_words) & (each[:-1] != UNK) for each in ids]
        log_probs = [0.0 - nll.astype(np.float64) for nll in nlls]  # never -0
        return self._scores(split, known=known, log_probs=log_probs)

    @checked_call
    def neighbours(self, word: str, *, k: int = 10, at: str | None = None) -> Neighbourhood:
        """The `k` words of the vocabulary nearest to a word, known or not.

        Raises:
            ConfigError: as `charlm.neighbours`.
        """
        options = NeighboursOptions(word, k=k, at=at)
        check_ranges(options)
        return neighbours_in(open_vectors(options, run=self._run), word, k=k)[0]

    @checked_call
    def vectors(
        self, words: str | Sequence[str], *, at: str | None = None
    ) -> npt.NDArray[np.float32]:
        """The vectors of words at a tap of the encoder, the last if not given, shape (N, dim).

        Raises:
            ConfigError: as `charlm.neighbours`.
        """
        return vectors_in(self._run, [words] if isinstance(words, str) else words, at=at)

    @checked_call
    def sample(
        self,
        n: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        no_unk: bool = False,
        prefix: str = "",
        max_length: int = 200,
        seed: int = 1,
    ) -> list[SampledSentence]:
        """`n` sentences drawn from the model, as `charlm.sample` draws them.

        Raises:
            ConfigError: as `charlm.sample`.
        """
        if n < 1:
            raise ConfigError(f"n {n}: expected 1 or more")
        require_seed(seed)
        plan = SentencePlan(
            seed=seed,
            shape=Shape(temperature=temperature, top_k=top_k, top_p=top_p, no_unk=no_unk),
            prefix=prefix_words(prefix, run=self._run, max_length=max_length),
            max_length=max_length,
            spell=None,
        )
        drawn = sampled_sentences(self._vectors, plan, n=n, batch_size=n, source=self.path)
        return list(drawn)

    @cached_property
    def _vectors(self) -> FormVectors:
        run = self._run
        return FormVectors(run.model, run.inventory, oov_input=run.oov_input)

    @property
    def _normalisation(self) -> Normalisation:
        return self._run.inventory.normalisation


class NgramLanguageModel(LoadedModel):
    """An n-gram model in a file; `charlm.load` makes it. It has no text rules and no vectors."""

    def __init__(self, model: BackoffModel, *, speller: OpenVocabulary | None = None) -> None:
        super().__init__(NgramSteps(model), speller=speller)
        self._model = model

    def __repr__(self) -> str:
        return f"<charlm n-gram model {self._model.source!r}, {len(self.words)} words>"

    @property
    def order(self) -> int:
        """The length of its longest n-grams."""
        return self._model.order

    @checked_call
    def score_many(self, sentences: str | Iterable[str]) -> list[SentenceScore]:
        """The log10 probabilities of sentences (a string is one), each from `<s>`.

        Raises:
            DataError: a line end, `<s>` or `</s>` within a sentence.
        """
        several = [sentences] if isinstance(sentences, str) else sentences
        split = [self.tokens(sentence) for sentence in several]
        scores = NgramScorer(self._model).score(split)
        return self._scores(
            split,
            known=[each.known for each in scores],
            log_probs=[each.log_probs for each in scores],
        )

    @property
    def _normalisation(self) -> Normalisation | None:
        return None


def load(
    model: str | Path | None = None,
    *,
    device: str = "auto",
    open_vocabulary: bool | str | Path = False,
) -> Model | NgramLanguageModel:
    """The best model of a run: the one said, else $CHARLM_MODEL, else the newest finished one.

    A file is an n-gram model in ARPA, plain or packed. With `open_vocabulary` words outside the
    vocabulary get the probability of `<unk>` times that of their spelling, by the run's speller, or
    by that of the run that is named there: an n-gram model has none of its own.

    Raises:
        ConfigError: no run is found, or no such device; no speller; one of other words.
        DataError: a run or a file that is not what was expected.
    """
    path = which_run(model)
    named = None if isinstance(open_vocabulary, bool) else open_vocabulary
    speller = None if named is None else OpenVocabulary.at(named)
    if path.is_file():
        if open_vocabulary is True:
            raise ConfigError(
                f"open_vocabulary: {path} has no speller of its own; expected the run whose speller"
                " it is to take"
            )
        found: Model | NgramLanguageModel = NgramLanguageModel(_arpa(path), speller=speller)
    else:
        run = load_run(path, device=pick_device(device))
        if open_vocabulary is True:
            speller = OpenVocabulary.of_run(run)
        found = Model(run, speller=speller)
    if speller is not None and set(speller.inventory.words) != set(found.words):
        raise ConfigError(
            f"open_vocabulary: {path} has other words than {named}; expected the same, since "
            "<unk> must stand for the same; estimate it with --vocab RUN"
        )
    return found


def _arpa(path: Path) -> BackoffModel:
    if is_kenlm_binary(path):
        raise ConfigError(
            f"{path}: KenLM's binary, which does not list its words; expected the ARPA file that "
            "it was made from"
        )
    return read_arpa(path)
