"""The objects of `charlm.load` except those of runs: sentences in, scores out, without torch.

Here a sentence is one string and stands on its own: it starts from the initial state, and its end
is predicted like every word. No state is carried from line to line as in `charlm eval`.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from charlm.api.next_options import NextOptions
from charlm.errors import ConfigError, DataError
from charlm.insight.vectors.exported_neighbours import exported_neighbours
from charlm.insight.vectors.neighbourhood import Neighbourhood
from charlm.insight.vectors.nn_options import NeighboursOptions
from charlm.interface.arguments import checked_call
from charlm.interface.json_results import JsonResult
from charlm.interface.options import check_ranges
from charlm.interface.short_repr import ShortRepr
from charlm.nbest.scorer import WordLogProbs
from charlm.nbest.scorers import NgramScorer
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.ngram_states import NgramSteps
from charlm.notebook import ColouredWords, table_html
from charlm.run.onnx_model import OnnxModel
from charlm.scoring.decoding.states import StatefulModel
from charlm.scoring.likelihood.onnx_steps import OnnxSteps
from charlm.scoring.rescoring.scorers.exported import ExportedScorer
from charlm.settings import Settings
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import UNK, without_marks
from charlm.text.io.lines import split_words

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary


@dataclass(frozen=True)
class SentenceScore(JsonResult, ShortRepr, ColouredWords):
    """A model's score of one sentence.

    >>> score = charlm.load("exp/first").score("the cat sat")
    >>> score.words
    ('the', 'cat', 'sat')
    >>> len(score.bits)  # one of each word, and one of the sentence's end
    4
    """

    words: tuple[str, ...]  # after normalisation
    known: tuple[bool, ...]  # whether a word is another than `<unk>` at the output
    log10_probs: tuple[float, ...]  # of each word, then of `</s>`
    derived = ("log10_prob",)


class NextWord(NamedTuple):
    """A word, and its log10 probability as the next one."""

    word: str
    log10_prob: float

    @property
    def probability(self) -> float:
        return float(10**self.log10_prob)


@dataclass(frozen=True)
class NextWords(JsonResult, ShortRepr):
    """What a model expects after the beginning of a sentence."""

    model: str  # the run, the folder or the file
    words: tuple[str, ...]  # that the sentence begins with, as they are read
    known: tuple[bool, ...]  # whether each of them is in the vocabulary
    likeliest: tuple[NextWord, ...]  # the first is the likeliest; </s> is the sentence's end

    def _repr_html_(self) -> str:
        rows = [(each.word, f"{each.probability:.4f}") for each in self.likeliest]
        told = [" ".join(("after:", "<s>", *self.words))]
        return table_html(("next word", "probability"), rows, told=told)


class LoadedModel(StatefulModel):
    """The base of all objects of `charlm.load`: sentences in, scores out, and states."""

    _normalisation: Normalisation | None = None  # the text rules of the sentences that come in

    @property
    @abstractmethod
    def path(self) -> Path:
        """The run directory, the exported folder or the file."""

    @abstractmethod
    def _word_scores(self, sentences: Sequence[list[str]]) -> list[WordLogProbs]:
        """The log-probabilities of sentences of tokens, each from the start of its own.

        Raises:
            DataError: a model that gives no numbers.
        """

    @abstractmethod
    def _neighbourhood(self, options: NeighboursOptions) -> Neighbourhood:
        """The words nearest to one word.

        Raises:
            ConfigError: a tap that is not there, or no vectors at all.
        """

    @checked_call
    def neighbours(self, word: str, *, k: int = 10, at: str | None = None) -> Neighbourhood:
        """The `k` words of the vocabulary nearest to a word, known or not, at one tap.

        >>> hood = charlm.load("exp/first").neighbours("catz", k=3)
        >>> hood.is_known, len(hood.nearest)
        (False, 3)

        Raises:
            ConfigError: as `charlm.neighbours`; any tap of an exported model, which has the
                encoder's last one alone; of an n-gram model, which has no vectors.
        """
        options = NeighboursOptions(word, k=k, at=at)
        check_ranges(options)
        return self._neighbourhood(options)

    def neighbors(self, word: str, *, k: int = 10, at: str | None = None) -> Neighbourhood:
        """`neighbours` in American spelling."""
        return self.neighbours(word, k=k, at=at)

    @checked_call
    def score_many(self, sentences: str | Iterable[str]) -> list[SentenceScore]:
        """The log10 probabilities of sentences, each from the initial state; one string is one.

        Blanks separate words; a run's text normalisation is applied. With a speller, unknown words
        are spelled. An open file has one sentence on each line.

        >>> scores = charlm.load("exp/first").score_many(["the cat sat", "a dog looked"])
        >>> [len(score.words) for score in scores]
        [3, 3]

        Raises:
            DataError: a line end, `<s>` or `</s>` within a sentence; a model that gives no numbers.
        """
        several = [sentences] if isinstance(sentences, str) else sentences
        split = [self.tokens(sentence) for sentence in several]
        found = []
        for words, (nats, known) in zip(split, self._word_scores(split), strict=True):
            log10s = (nats + np.append(self.spelled(words, known), 0.0)) / math.log(10)
            found.append(SentenceScore(tuple(words), tuple(known.tolist()), tuple(log10s.tolist())))
        return found

    @checked_call
    def score(self, sentence: str) -> SentenceScore:
        """The log10 probabilities of a sentence, as `score_many` gives them.

        >>> model = charlm.load("exp/first")
        >>> score = model.score("the cat sat")
        >>> math.isclose(score.log10_prob, sum(score.log10_probs))
        True
        """
        return self.score_many([sentence])[0]

    @checked_call
    def next_words(self, beginning: str = "", *, k: int = 10) -> NextWords:
        """The `k` likeliest words after the beginning of a sentence.

        Among them may be `</s>`, the sentence's end, and `<unk>`, all words outside the vocabulary.
        `step` and `distribution` do the same for many beginnings at once.

        >>> found = charlm.load("exp/first").next_words("the cat", k=3)
        >>> [each.probability for each in found.likeliest]
        [0..., 0..., 0...]

        Raises:
            ConfigError: `k` below 1.
            DataError: a line end, `<s>` or `</s>` among the words; a model that gives no numbers.
        """
        check_ranges(NextOptions(k=k))
        words, state = self.tokens(beginning), self.start()
        for word in words:
            state = self.step(state, [word]).state
        log10s = self.distribution(state)[0] / math.log(10)
        best = np.argsort(-log10s, kind="stable")[:k]
        likeliest = tuple(NextWord(self.words[i], float(log10s[i])) for i in best)
        known = tuple((self.ids_of(words) != UNK).tolist())
        return NextWords(str(self.path), tuple(words), known, likeliest)

    @checked_call
    def tokens(self, sentence: str) -> list[str]:
        """The words of a sentence as the model reads them: what `step` takes.

        >>> charlm.load("exp/first").tokens("the  cat")
        ['the', 'cat']

        Raises:
            DataError: a line end, `<s>` or `</s>` within it.
        """
        sentence = sentence.removesuffix("\n").removesuffix("\r")  # as files give their lines
        if "\n" in sentence:
            raise DataError(
                f"sentence {sentence[:40]!r}: found a line end; expected one sentence "
                "without it; several go to score_many, a string each"
            )
        rules = self._normalisation
        words = split_words(sentence if rules is None else rules(sentence))
        return without_marks(words, where=f"sentence {sentence[:40]!r}")


class NgramLanguageModel(LoadedModel):
    """An n-gram model in a file; `charlm.load` makes it. It has no text rules and no vectors."""

    def __init__(self, model: BackoffModel, *, speller: "OpenVocabulary | None" = None) -> None:
        super().__init__(NgramSteps(model), speller=speller)
        self._model = model

    def __repr__(self) -> str:
        return f"<charlm n-gram model {self._model.source!r}, {len(self.words)} words>"

    def _repr_html_(self) -> str:
        rows = {"file": str(self._model.source), "order": str(self.order)}
        return table_html((), {**rows, "words": f"{len(self.words):,}"}.items())

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self._model.source)

    @property
    def order(self) -> int:
        """The length of its longest n-grams."""
        return self._model.order

    def _word_scores(self, sentences: Sequence[list[str]]) -> list[WordLogProbs]:
        return NgramScorer(self._model).score(sentences)

    def _neighbourhood(self, options: NeighboursOptions) -> Neighbourhood:
        raise ConfigError(
            f"{self._model.source}: is an n-gram model, which has no vectors of words; expected a "
            "run, or a folder that `charlm export --onnx` wrote"
        )


class ExportedModel(LoadedModel):
    """A model that `charlm export --onnx` wrote; `charlm.load` makes it, without torch."""

    def __init__(self, model: OnnxModel, *, speller: "OpenVocabulary | None" = None) -> None:
        super().__init__(OnnxSteps(model), speller=speller)
        self._exported = model
        self._normalisation = model.inventory.normalisation

    def __repr__(self) -> str:
        return f"<charlm exported model {str(self.path)!r}, {len(self.words)} words>"

    def _repr_html_(self) -> str:
        rows = {"exported model": str(self.path), "words": f"{len(self.words):,}"}
        return table_html((), rows.items())

    @property
    def path(self) -> Path:
        """The folder."""
        return self._exported.path

    @property
    def settings(self) -> Settings:
        """Parts and recipe with all their options, as the run had them."""
        return self._exported.info.settings

    def _word_scores(self, sentences: Sequence[list[str]]) -> list[WordLogProbs]:
        return ExportedScorer(self._exported).score(sentences)

    def _neighbourhood(self, options: NeighboursOptions) -> Neighbourhood:
        return exported_neighbours(self._exported, options)[0]
