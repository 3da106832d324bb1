"""A charlm model as a scorer: log-probabilities of sentences, through one tree of prefixes.

A sentence starts from the state after the sentences remembered before it, or else from the initial
state. Its scores depend on the sentence and this state alone, never on the other sentences of a
call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from charlm.interface.json_results import JsonResult
from charlm.model.contract import State
from charlm.model.forms import bounded_slices
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.nbest.scorers import LogProbs
from charlm.runtime import autocast
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.prefix_tree import Places, PrefixTree
from charlm.scoring.likelihood.streams import as_words
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers.neural_histories import NeuralHistories
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import Ids

HYPOTHESES_AT_ONCE = 4096
PLACES_AT_ONCE = 1 << 22  # of a tree, with padding: one very long line stretches all beside it
ROWS_AT_ONCE = 1024  # states of small levels that share a call of a layer and the softmax


@dataclass(frozen=True)
class Deviation(JsonResult):
    """How far sentences' scores in a coarser number format are from those in fp32, in nats."""

    n_sentences: int
    mean: float
    largest: float


class NeuralScorer:
    """Scores by a run's model.

    `at_once` bounds memory: at most so many sentences share a tree, fewer beside a very long one,
    and no level of the tree has more states.
    """

    def __init__(
        self,
        walker: Walker,
        *,
        name: str = "nn",
        at_once: int = HYPOTHESES_AT_ONCE,
        precision: str = "fp32",
    ) -> None:
        self.walker = walker
        self.forms = walker.forms
        self.inventory = walker.forms.inventory  # the model's words and text rules
        self.name = name
        self.at_once = at_once
        self.precision = precision
        self.learned_single_sentences = False  # whether it was trained on single sentences
        self.learned_unnormalised = True  # whether it was trained to do without its scores' sum
        self.n_tokens = 0  # scored so far, and their distinct prefixes below
        self.n_prefixes = 0
        self.adaptation = ""  # how the model adapts to what was chosen; empty: not at all

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        self.forms.forget()
        ids = [self.forms.ids(words) for words in sentences]
        log_probs = self.score_ids(ids, memory=memory)
        known = [as_words(each, self.inventory.n_words) != UNK for each in ids]
        return [WordLogProbs(*pair) for pair in zip(log_probs, known, strict=True)]

    def score_ids(self, sentences: Sequence[Ids], *, memory: object = None) -> list[LogProbs]:
        """Log-probabilities in nats of each word of each sentence of form ids, and of its end."""
        log_probs: list[LogProbs] = []
        lengths = np.array([1 + len(ids) for ids in sentences], np.int64)
        trees = bounded_slices(lengths, most_rows=self.at_once, most_places=PLACES_AT_ONCE)
        with autocast(self.forms.device, self.precision):
            for part in trees:
                log_probs += self._of(sentences[part], memory=memory)
        return log_probs

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """The state after a sentence that followed `memory`, its end not yet read."""
        with autocast(self.forms.device, self.precision):
            form_ids = np.append(np.int32(END), self.forms.ids(sentence))
            parents = [np.zeros(1, np.int64)] * len(form_ids)
            _, state = self.walker.descend(self._start(memory), parents=parents, form_ids=form_ids)
        return state

    def deviation(self, texts: Sequence[Words]) -> Deviation | None:
        """The deviation from fp32's scores of these texts; None in fp32, or without a text."""
        if self.precision == "fp32" or not texts:
            return None
        # A separate cache: this scorer's holds vectors made in the coarse format.
        oov_input = "spelling" if self.forms.by_spelling else "unk"
        forms = FormCache(self.forms.model, self.inventory, oov_input=oov_input)
        exact = NeuralScorer(Walker(forms, unnormalised=self.walker.unnormalised))
        ours, theirs = (
            np.array([each.log_prob for each in one.score(texts)]) for one in (self, exact)
        )
        apart = np.abs(ours - theirs)
        return Deviation(len(texts), float(apart.mean()), float(apart.max()))

    def histories(self, memory: object = None) -> NeuralHistories:
        """States at the histories of lattices, after `memory`."""
        return NeuralHistories(self.walker, start=self.walker.begin(self._start(memory)))

    def _start(self, memory: object) -> State:
        if memory is None:
            return self.walker.model.context.initial_state(1)
        state: State = memory  # type: ignore[assignment]  # ours, from `remember`
        return state

    def _of(self, sentences: Sequence[Ids], *, memory: object) -> list[LogProbs]:
        tree = PrefixTree(sentences)
        self.n_tokens += tree.n_tokens
        self.n_prefixes += tree.n_prefixes
        state = self._start(memory)
        words_N, ends_N = np.zeros((2, tree.n_prefixes))
        for levels in tree.bands(ROWS_AT_ONCE):
            nodes = tree.nodes(levels)
            parents = [tree.rows_before(level) for level in levels]
            form_ids = tree.form_ids_N[nodes]
            h_NH, state = self.walker.descend(state, parents=parents, form_ids=form_ids)
            next_nodes = tree.nodes(range(levels.start + 1, levels.stop + 1))
            ends = tree.ends[slice(*np.searchsorted(tree.ends, [nodes.start, nodes.stop]))]
            rows = np.concatenate([tree.parents_N[next_nodes], ends]) - nodes.start
            words = as_words(tree.form_ids_N[next_nodes], self.inventory.n_words)
            words = np.concatenate([words, np.full(len(ends), END)])
            found = self._log_probs(h_NH, rows=rows, words=words)
            words_N[next_nodes], ends_N[ends] = np.split(found, [len(found) - len(ends)])
        return tree.along(words_N, ends_N)

    def _log_probs(self, h_NH: Tensor, *, rows: Places, words: Places) -> LogProbs:
        return self.walker.log_probs(h_NH, rows=rows, words=words)
