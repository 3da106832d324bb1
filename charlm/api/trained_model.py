"""The object that `charlm.load` makes from a run: scores, samples and vectors."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.api.loaded_models import LoadedModel
from charlm.errors import broken_model
from charlm.insight.encoded_pieces import part_of
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.neighbourhood import Neighbourhood
from charlm.insight.vectors.nn_options import NeighboursOptions
from charlm.insight.vectors.run_neighbours import neighbours_in, vectors_in
from charlm.insight.vectors.taps import Reader, Vectors
from charlm.interface.arguments import checked_call
from charlm.interface.options import check_ranges
from charlm.model.encoders.morph import MorphEncoder
from charlm.nbest.scorer import WordLogProbs
from charlm.notebook import table_html
from charlm.run.stored_weights import LoadedRun
from charlm.scoring.decoding.run_steps import RunSteps
from charlm.scoring.likelihood.nll import FormVectors, sentence_contexts, sentence_nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.scoring.likelihood.sampling.draw import Warper
from charlm.scoring.likelihood.sampling.sample_options import SampleOptions
from charlm.scoring.likelihood.sampling.sample_rows import SentencePlan
from charlm.scoring.likelihood.sampling.sampling import (
    SampledSentence,
    prefix_words,
    sampled_sentences,
)
from charlm.scoring.likelihood.streams import as_words
from charlm.settings import Settings
from charlm.text.corpus.tokens import UNK, UNK_WORD
from charlm.text.vocabulary.encoding import FormIds, encode_sentences


class Model(LoadedModel):
    """A trained model; `charlm.load` makes it.

    >>> charlm.load("exp/first")
    <charlm model 'exp/first', ... words>
    """

    def __init__(self, run: LoadedRun, *, speller: OpenVocabulary | None = None) -> None:
        steps = RunSteps(run.model, run.inventory, oov_input=run.oov_input, source=run.path)
        super().__init__(steps, speller=speller)
        self._run = run
        self._normalisation = run.inventory.normalisation

    def __repr__(self) -> str:
        return f"<charlm model {str(self.path)!r}, {len(self.words)} words>"

    def _repr_html_(self) -> str:
        run = self._run
        rows = {
            "run": str(self.path),
            "preset": run.info.arch,
            "corpus": str(run.info.corpus.get("name", "")),
            "words": f"{len(self.words):,}",
            "parameters": f"{sum(each.numel() for each in run.model.parameters()):,}",
            "unknown words": "read by spelling" if run.oov_input == "spelling" else UNK_WORD,
        }
        return table_html((), rows.items())

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._run.path

    @property
    def settings(self) -> Settings:
        """Parts and recipe with all their options, as run.json holds them."""
        return self._run.settings

    def _word_scores(self, sentences: Sequence[list[str]]) -> list[WordLogProbs]:
        form_ids = FormIds(self._run.inventory)
        ids = encode_sentences(sentences, form_ids)
        nlls = sentence_nlls(self._form_vectors, ids, spellings=form_ids.spellings)
        if not all(np.isfinite(nll).all() for nll in nlls):
            raise broken_model(self.path)
        n_words = self._run.inventory.n_words
        return [
            # Never -0.
            WordLogProbs(0.0 - nll.astype(np.float64), as_words(each[:-1], n_words) != UNK)
            for nll, each in zip(nlls, ids, strict=True)
        ]

    def _neighbourhood(self, options: NeighboursOptions) -> Neighbourhood:
        opened = open_vectors(options, vectors=self._tap_vectors).at_one_tap()
        return neighbours_in(opened, options.words, k=options.k)[0]

    @checked_call
    def vectors(
        self, words: str | Sequence[str], *, at: str | None = None
    ) -> npt.NDArray[np.float32]:
        """The vectors of words at a tap of the encoder, the last if not given, shape (N, dim).

        >>> charlm.load("exp/first").vectors(["cat", "dog"]).shape
        (2, 16)

        Raises:
            ConfigError: as `charlm.neighbours`.
        """
        return vectors_in(self._tap_vectors, [words] if isinstance(words, str) else words, at=at)

    @checked_call
    def morphs(self, word: str) -> tuple[str, ...]:
        """The morphs as which the model's encoder reads a word, known or not, in their order.

        They are the word's in the vocabulary, else those found among the morphs of all its words;
        a character that none of these covers stands alone. `unbelievably` may be `un`, `believ`
        and `ably`.

        Raises:
            ConfigError: a model that does not read morphs; as `charlm.neighbours`.
        """
        part_of(
            self._run,
            MorphEncoder,
            what="part that reads morphs",
            wanted="morph, such as morph-small's",
        )
        return self._run.inventory.segment(Reader(self._run).read(word).form)

    @checked_call
    def context_vectors(self, sentence: str) -> npt.NDArray[np.float32]:
        """What the output layer reads where it predicts each word and `</s>`, shape (n + 1, dim).

        Row i is the context's vector after the i words before, in the sentence of `tokens`, which
        is read as by `score`: row 0 knows nothing of it, the last row all words.

        >>> model = charlm.load("exp/first")
        >>> model.context_vectors("the cat sat").shape
        (4, 8)

        Raises:
            DataError: a line end, `<s>` or `</s>` within the sentence.
        """
        form_ids = FormIds(self._run.inventory)
        ids = encode_sentences([self.tokens(sentence)], form_ids)
        return sentence_contexts(self._form_vectors, ids, spellings=form_ids.spellings)[0]

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

        A model that was loaded with a speller spells each `<unk>`.

        >>> drawn = charlm.load("exp/first").sample(2, prefix="the cat", seed=3)
        >>> [sentence.words[:2] for sentence in drawn]
        [('the', 'cat'), ('the', 'cat')]

        Raises:
            ConfigError: as `charlm.sample`.
        """
        check_ranges(SampleOptions(n=n, top_k=top_k, max_length=max_length, seed=seed))
        plan = SentencePlan(
            seed=seed,
            warper=Warper(temperature=temperature, top_k=top_k, top_p=top_p, no_unk=no_unk),
            prefix=prefix_words(prefix, run=self._run, max_length=max_length),
            max_length=max_length,
            spell=None if self.speller is None else self.speller.spell,
        )
        drawn = sampled_sentences(
            self._form_vectors, plan, n=n, batch_size=SampleOptions.batch_size, source=self.path
        )
        return list(drawn)

    @cached_property
    def _tap_vectors(self) -> Vectors:
        return Vectors(self._run)

    @cached_property
    def _form_vectors(self) -> FormVectors:
        run = self._run
        return FormVectors(run.model, run.inventory, oov_input=run.oov_input)
