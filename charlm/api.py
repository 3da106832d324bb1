"""The object that Python users load: a trained model that scores sentences and looks at words.

Here a sentence is one string and stands on its own: it starts from the initial state, and its end
is predicted like every word. What `charlm eval` carries over from line to line is not carried here.
"""

import math
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
from charlm.options import check_ranges, require_seed
from charlm.run.store import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device
from charlm.scoring.likelihood.draw import Shape
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.scoring.likelihood.sample_rows import SentencePlan
from charlm.scoring.likelihood.sampling import (
    SampledSentence,
    prefix_words,
    sampled_sentences,
)
from charlm.settings import Settings
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
        """As JSON."""
        return {
            "words": list(self.words),
            "known": list(self.known),
            "log10_probs": list(self.log10_probs),
            "log10_prob": self.log10_prob,
        }


class Model:
    """A trained model; `charlm.load` makes it."""

    def __init__(self, run: LoadedRun) -> None:
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

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary by id: `</s>`, `<unk>`, then by falling count."""
        return self._run.inventory.words

    @checked_call
    def score(self, sentence: str) -> SentenceScore:
        """The log10 probabilities of a sentence, as `score_many` gives them."""
        return self.score_many([sentence])[0]

    @checked_call
    def score_many(self, sentences: str | Iterable[str]) -> list[SentenceScore]:
        """The log10 probabilities of sentences (a string is one), each from the initial state.

        Words stand between blanks; the run's text normalisation is applied.

        Raises:
            DataError: a line end, `<s>` or `</s>` within a sentence; a model that gives no numbers.
        """
        several = [sentences] if isinstance(sentences, str) else sentences
        split = [self._words_of(sentence) for sentence in several]
        form_ids = FormIds(self._run.inventory)
        ids = encode_sentences(split, form_ids)
        nlls = sentence_nlls(self._vectors, ids, spellings=form_ids.spellings)
        if not all(np.isfinite(nll).all() for nll in nlls):
            raise DataError(
                f"{self.path}: the model is broken: log probabilities are NaN or infinite; "
                "expected numbers; train it again"
            )
        n_words = self._run.inventory.n_words
        return [
            SentenceScore(
                words=tuple(words),
                known=tuple(n < n_words and n != UNK for n in numbers[:-1].tolist()),
                log10_probs=_log10(nll),
            )
            for words, numbers, nll in zip(split, ids, nlls, strict=True)
        ]

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

    def _words_of(self, sentence: str) -> list[str]:
        if "\n" in sentence:
            raise DataError(
                f"sentence {sentence[:40]!r}: found a line end; expected one sentence; "
                "give several to score_many"
            )
        normalised = self._run.inventory.normalisation(sentence)
        return without_marks(split_words(normalised), where=f"sentence {sentence[:40]!r}")


def load(model: str | Path | None = None, *, device: str = "auto") -> Model:
    """The best model of a run: the one said, else $CHARLM_MODEL, else the newest finished one.

    Raises:
        ConfigError: no run is found, or no such device.
        DataError: a run that is not what was expected.
    """
    return Model(load_run(which_run(model), device=pick_device(device)))


def _log10(nll: npt.NDArray[np.float32]) -> tuple[float, ...]:
    log10s: list[float] = (0.0 - nll.astype(np.float64) / math.log(10)).tolist()  # never -0
    return tuple(log10s)
