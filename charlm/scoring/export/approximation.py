"""The n-gram model that approximates a neural one best: which n-grams, and their probabilities.

Three models over the same n-grams are mixed: Kneser–Ney of the training text, Kneser–Ney of text
sampled from the neural model (Deoras et al., 2011), and the neural model's own probabilities of
these n-grams, averaged over full histories. The weights are those that suit valid.txt best.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from charlm.interface.progress_messages import now_and_then
from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.estimation import estimate
from charlm.ngram.ngram_counts import Keys, Rows
from charlm.ngram.reshaping.combination import mixed, pruned
from charlm.ngram.reshaping.ngram_set import Closure, context_rows, extended, log10_probs_of, union
from charlm.ngram.reshaping.renormalising import renormalised
from charlm.ngram.word_ids import words_of
from charlm.scoring.evaluation.em_weights import em_weights
from charlm.scoring.export.averages_over_text import (
    StreamModel,
    distributions,
    drawn_followers,
    ngram_ids,
    ngram_numbers,
    sampled_text,
)
from charlm.scoring.export.export_options import ExportOptions
from charlm.scoring.export.history_averages import HistoryAverages
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids

PARTS = ("train", "sample", "average")  # the models that are mixed, in this order
# The model is asked about at most so many tokens of each text. On PTB, a million tokens of drawn
# text beside the training text lower the perplexity by 0.2 %.
MOST_READ = 1_000_000


@dataclass(frozen=True)
class Approximation:
    """The n-gram model, and what it was made from."""

    model: BackoffModel
    n_sampled: int  # tokens
    weights: dict[str, float]  # of the parts
    valid_ppls: dict[str, float]  # of the parts, and of the result under the name `file`


class Approximator:
    """Makes an n-gram approximation of a model, step by step, and reports each step."""

    def __init__(
        self, model: StreamModel, options: ExportOptions, *, prune: tuple[int, ...]
    ) -> None:
        self._model, self._options, self._prune = model, options, prune
        self._words = words_of(model.vectors.inventory)
        self._tell = options.on_stage or (lambda text: None)

    def approximation(self, train: Ids, valid: Ids) -> Approximation:
        """The approximation; `train` and `valid` are word ids, every sentence closed by `</s>`."""
        drawn = sampled_text(
            self._model,
            self._options.tokens,
            seed=self._options.seed,
            on_tokens=self._progress("drawn", self._options.tokens),
        )
        models = [self._estimated(train, prune=(0,)), self._estimated(drawn, prune=self._prune)]
        closure = union(models)
        self._tell(f"{sum(map(len, closure.levels)):,} n-grams of the training and the drawn text")
        texts = {
            "the training text": first_sentences(train),
            "the drawn text": first_sentences(drawn),
        }
        if self._options.followers:
            closure = self._with_followers(closure, texts)
        by_model = [log10_probs_of(closure, each) for each in models]
        asked = ngram_ids(valid)
        scores = [each.score_ids(asked).log10_probs for each in models]
        prior = mixed(by_model, em_weights(np.stack(scores)).weights.tolist())
        average = self._averaged(closure, texts, prior=prior)
        by_model.append([grams.log10_probs for grams in average.orders])
        scores.append(average.score_ids(asked).log10_probs)
        weights = em_weights(np.stack(scores)).weights.tolist()
        result = pruned(
            closure,
            mixed(by_model, weights),
            threshold=self._options.entropy_prune,
            source=str(self._model.source),
        )
        scores.append(result.score_ids(asked).log10_probs)
        ppls = [float(10.0 ** -each.mean()) for each in scores]
        return Approximation(
            model=result,
            n_sampled=len(drawn),
            weights=dict(zip(PARTS, weights, strict=True)),
            valid_ppls=dict(zip((*PARTS, "file"), ppls, strict=True)),
        )

    def _progress(self, done: str, n_all: int) -> Callable[[int], None]:
        """A callback that reports, now and then, how many tokens are done."""
        began, is_due = time.perf_counter(), now_and_then()

        def progress(n_tokens: int) -> None:
            if is_due():
                speed = n_tokens / (time.perf_counter() - began)
                self._tell(f"{done}: {n_tokens:,} of {n_all:,} tokens, {speed:,.0f} a second")

        return progress

    def _estimated(self, word_ids: Ids, *, prune: tuple[int, ...]) -> BackoffModel:
        ids = ngram_ids(word_ids)
        return estimate(ids, words=self._words, order=self._options.order, prune=prune).model

    def _with_followers(self, closure: Closure, texts: dict[str, Ids]) -> Closure:
        """Add n-grams: words that the model draws after the contexts of the texts.

        A word that is drawn only once after a context is left out.
        """
        drawn = [self._followers(name, text) for name, text in texts.items()]
        rows = [context_rows(closure, ngram_ids(text)) for text in texts.values()]
        additions: list[Keys] = [np.empty(0, np.int64)]
        for of_order in zip(*rows, strict=True):  # all orders at once would not fit in memory
            keys = np.concatenate(
                [
                    _keys(contexts, words, n_words=len(self._words))
                    for contexts, words in zip(of_order, drawn, strict=True)
                ]
            )
            distinct, counts = np.unique(keys, return_counts=True)
            additions.append(distinct[counts > 1])
        larger = extended(closure, additions)
        n_new = sum(map(len, larger.levels)) - sum(map(len, closure.levels))
        self._tell(f"{n_new:,} n-grams more, of words that the model draws behind their contexts")
        return larger

    def _followers(self, name: str, text: Ids) -> Ids:
        """Words that the model draws at each position, with the ids of n-gram models."""
        words = drawn_followers(
            self._model,
            text,
            n_drawn=self._options.followers,
            seed=self._options.seed,
            on_tokens=self._progress(f"words drawn along {name}", len(text)),
        )
        return ngram_numbers(len(self._words) - 1).astype(np.int32)[words]

    def _averaged(
        self, closure: Closure, texts: dict[str, Ids], *, prior: Sequence[Log10s]
    ) -> BackoffModel:
        averages = HistoryAverages(closure)
        for name, text in texts.items():
            averages.add_text(
                distributions(self._model, text),
                on_tokens=self._progress(f"averages over {name}", len(text)),
            )
        return renormalised(closure, averages.log10_probs(prior), source="average")


def first_sentences(text: Ids) -> Ids:
    """The first sentences of a text, up to `MOST_READ` tokens, but at least one sentence."""
    ends = 1 + np.flatnonzero(text == END)
    return text[: max(ends[0], ends[ends <= MOST_READ].max(initial=0))]


def _keys(contexts_N: Rows, words_NK: Ids, *, n_words: int) -> Keys:
    """The keys of the n-grams made of each listed context and each word drawn after it."""
    listed = np.flatnonzero(contexts_N >= 0)
    keys: Keys = contexts_N[listed, None].astype(np.int64) * n_words + words_NK[listed]
    return keys.ravel()
