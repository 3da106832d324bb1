"""A charlm model as a scorer: sentences in, log-probabilities out, through one tree of prefixes.

What is known of a sentence's start is the state behind the sentences remembered before it; without
any it is the initial one. A score depends on the sentence and that alone, never on its company.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from charlm.model.contract import State
from charlm.nbest.scorer import LogProbs, SentenceScore, Words
from charlm.runtime import autocast
from charlm.scoring.form_cache import FormCache
from charlm.scoring.paths import Paths, Walker
from charlm.scoring.prefix_tree import Level, Places, PrefixTree
from charlm.text.corpus import Ids
from charlm.text.inventory import END, UNK

HYPOTHESES_AT_ONCE = 4096
ROWS_AT_ONCE = 1024  # states that wait for their softmax: of small levels it is quicker together


class _Asked(NamedTuple):
    """A level whose nodes' softmax is still to be computed."""

    depth: int
    level: Level
    h_NH: Tensor


class NeuralScorer:
    """Scores by a run's model.

    `at_once` bounds memory: so many sentences share a tree, and each level of it has at most as
    many states.
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
        self.name = name
        self.at_once = at_once
        self.precision = precision
        self.n_tokens = 0  # scored so far, and the distinct prefixes that they came down to
        self.n_prefixes = 0

    @property
    def forms(self) -> FormCache:
        """Where the vectors come from."""
        return self.walker.forms

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[SentenceScore]:
        """The scores of each sentence, from the initial state, or as what follows `memory`."""
        ids = [self.forms.ids(words) for words in sentences]
        log_probs = self.score_ids(ids, memory=memory)
        known = [(each < self.forms.inventory.n_words) & (each != UNK) for each in ids]
        return [SentenceScore(*pair) for pair in zip(log_probs, known, strict=True)]

    def score_ids(self, sentences: Sequence[Ids], *, memory: object = None) -> list[LogProbs]:
        """log-probabilities in nats of each word of each sentence of form ids, and of its end."""
        log_probs: list[LogProbs] = []
        with autocast(self.forms.device, self.precision):
            for first in range(0, len(sentences), self.at_once):
                log_probs += self._of(sentences[first : first + self.at_once], memory=memory)
        return log_probs

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """The state behind a sentence that followed `memory`, its end not yet read."""
        with autocast(self.forms.device, self.precision):
            paths = self._begin(memory)
            for number in self.forms.ids(sentence):
                paths = self.walker.advance(
                    paths, rows=np.zeros(1, np.int64), form_ids=np.array([number], np.int32)
                )
        return paths.state

    def _begin(self, memory: object) -> Paths:
        state: State | None = memory  # type: ignore[assignment]  # ours, from `remember`
        return self.walker.begin(state)

    def _of(self, sentences: Sequence[Ids], *, memory: object) -> list[LogProbs]:
        tree = PrefixTree(sentences)
        self.n_tokens += tree.n_tokens
        self.n_prefixes += tree.n_prefixes
        paths = self._begin(memory)
        scores_SL = np.zeros((len(sentences), int(tree.lengths.max(initial=0)) + 1))
        asked: list[_Asked] = []
        for depth, level in enumerate(tree.levels()):
            asked.append(_Asked(depth, level, paths.h_NH))
            if sum(len(each.h_NH) for each in asked) >= ROWS_AT_ONCE:
                self._answer(asked, tree, scores_SL=scores_SL)
                asked = []
            if len(level.form_ids):
                paths = self.walker.advance(paths, rows=level.parents, form_ids=level.form_ids)
        if asked:
            self._answer(asked, tree, scores_SL=scores_SL)
        results: list[LogProbs] = [np.empty(0)] * len(sentences)
        for row, i in enumerate(tree.order.tolist()):
            results[i] = scores_SL[row, : tree.lengths[row] + 1].copy()
        return results

    def _answer(self, asked: Sequence[_Asked], tree: PrefixTree, *, scores_SL: LogProbs) -> None:
        """Fill in what follows these levels' nodes: the next one's, and sentences' ends."""
        firsts = np.cumsum([0, *(len(each.h_NH) for each in asked)])[:-1]
        rows, words = [], []
        for first, each in zip(firsts.tolist(), asked, strict=True):
            level = each.level
            rows += [level.parents + first, level.ends + first]
            words += [self.forms.words(level.form_ids), np.full(len(level.ends), END, np.int32)]
        found = self._log_probs(asked, rows=np.concatenate(rows), words=np.concatenate(words))
        for each, *parts in zip(asked, found[0::2], found[1::2], strict=True):
            words_N, ends_K = parts
            here = tree.nodes(each.depth)
            ends_N = np.full(len(each.h_NH), np.nan)
            ends_N[each.level.ends] = ends_K
            goes_on, stops = tree.lengths > each.depth, tree.lengths == each.depth
            scores_SL[goes_on, each.depth] = words_N[tree.nodes(each.depth + 1)[goes_on]]
            scores_SL[stops, each.depth] = ends_N[here[stops]]

    def _log_probs(self, asked: Sequence[_Asked], *, rows: Places, words: Ids) -> list[LogProbs]:
        """Of each level's next nodes, and of its ends, in turns."""
        order = np.argsort(rows, kind="stable")
        paths = Paths(torch.cat([each.h_NH for each in asked]), ())
        answers = self.walker.log_probs(paths, rows=rows[order], words=words[order])
        log_probs = np.empty(len(rows))
        log_probs[order] = answers.double().cpu().numpy()
        sizes = [n for each in asked for n in (len(each.level.parents), len(each.level.ends))]
        return np.split(log_probs, np.cumsum(sizes)[:-1])
