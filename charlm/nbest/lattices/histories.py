"""Histories (the words before a word) as a tree, and models that score many of them at once.

A model gets histories of whole lattices, many per call, and is told which of them may be asked for
again; the search knows nothing of the model's states. The word `</s>` stands for the end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from charlm.errors import DataError
from charlm.nbest.scorer import Scorer
from charlm.nbest.scorers import LogProbs, NgramScorer, SameWords
from charlm.text.corpus.tokens import END_WORD


class History:
    """Words from the start of a sentence; the same words in one tree are the same object."""

    __slots__ = ("_longer", "depth", "parent", "word")

    def __init__(self, parent: "History | None" = None, word: str = "") -> None:
        self.parent = parent
        self.word = word
        self.depth: int = 0 if parent is None else parent.depth + 1
        self._longer: dict[str, History] = {}

    def then(self, word: str) -> "History":
        """This history and one word more."""
        longer = self._longer.get(word)
        if longer is None:
            longer = self._longer[word] = History(self, word)
        return longer

    def tail(self, n_words: int) -> tuple[str, ...]:
        """The last words, fewer at the start of a sentence; the last one first."""
        words: list[str] = []
        node = self
        while node.parent is not None and len(words) < n_words:
            words.append(node.word)
            node = node.parent
        return tuple(words)

    @property
    def words(self) -> list[str]:
        """All words in order."""
        return list(self.tail(self.depth))[::-1]


Request = tuple[History, str]  # a word, or `</s>`, after a history


class Histories(Protocol):
    """A model that can be asked for words after histories."""

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        """The log-probability of each request in nats, (N,)."""

    def keep(self, histories: Iterable[History]) -> None:
        """Only these histories, their continuations and roots will be asked for from now on."""


def n_context(scorer: Scorer) -> int | None:
    """How many words an n-gram model reads before a word; None: another model, which reads all."""
    inner = scorer.scorer if isinstance(scorer, SameWords) else scorer
    return inner.model.order - 1 if isinstance(inner, NgramScorer) else None


@dataclass
class ScorerHistories:
    """Any scorer of sentences, asked for one whole sentence per history and word.

    For an n-gram model, the words before its context are left out; otherwise time would grow with
    the square of a lattice's length.
    """

    scorer: Scorer
    memory: object = None

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        distinct = list(dict.fromkeys(requests))
        contexts = [self._context(history) for history, _ in distinct]
        sentences = [
            context if word == END_WORD else [*context, word]
            for context, (_, word) in zip(contexts, distinct, strict=True)
        ]
        scores = self.scorer.score(sentences, memory=self.memory)
        found = {
            request: score.log_probs[len(context)]
            for request, context, score in zip(distinct, contexts, scores, strict=True)
        }
        return np.array([found[request] for request in requests], np.float64)

    def _context(self, history: History) -> list[str]:
        most = n_context(self.scorer)
        return list(history.tail(history.depth if most is None else most))[::-1]

    def keep(self, histories: Iterable[History]) -> None:
        """No state is kept."""


@dataclass
class MixedHistories:
    """A mixture of models, word by word."""

    parts: Sequence[Histories]
    weights: Sequence[float]

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        answers = [part.log_probs(requests) for part in self.parts]
        weighted = [
            answer + np.log(weight)
            for answer, weight in zip(answers, self.weights, strict=True)
            if weight
        ]
        return np.asarray(np.logaddexp.reduce(weighted, axis=0), np.float64)

    def keep(self, histories: Iterable[History]) -> None:
        kept = list(histories)
        for part in self.parts:
            part.keep(kept)


class ReadHistories:
    """A model for histories of labels, each of which it reads as words of its own or as nothing."""

    def __init__(self, model: Histories, read: Callable[[str], Sequence[str]]) -> None:
        self.model = model
        self.read = read
        self._own: dict[History, History] = {}

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        """The log-probability of a label is the sum over its words."""
        wanted: list[Request] = []
        of: list[int] = []  # which request each is a part of
        for number, (history, label) in enumerate(requests):
            own = self._read_along(history)
            for word in (END_WORD,) if label == END_WORD else self.read(label):
                wanted.append((own, word))
                of.append(number)
                own = own.then(word)
        sums = np.zeros(len(requests))
        if wanted:
            np.add.at(sums, of, self.model.log_probs(wanted))
        return sums

    def keep(self, histories: Iterable[History]) -> None:
        live: list[History] = []
        kept: dict[History, History] = {}
        for history in histories:
            live.append(self._read_along(history))
            node: History | None = history
            while node is not None and node not in kept:  # to the root: words stay one object
                kept[node] = self._own[node]
                node = node.parent
        self._own = kept
        self.model.keep(live)

    def _read_along(self, history: History) -> History:
        """The words that the model has read at a history of labels, as its own history."""
        unread: list[History] = []
        node = history
        while node not in self._own and node.parent is not None:
            unread.append(node)
            node = node.parent
        own = self._own.setdefault(node, History())
        for node in reversed(unread):
            for word in self.read(node.word):
                own = own.then(word)
            self._own[node] = own
        return own


def log_probs_of(models: Mapping[str, Histories], requests: Sequence[Request]) -> LogProbs:
    """The answers of all models, (N, number of models).

    Raises:
        DataError: a model gives a word no finite log-probability.
    """
    answers = np.empty((len(requests), len(models)))
    for column, (name, model) in enumerate(models.items()):
        answers[:, column] = model.log_probs(requests)
        lost = np.flatnonzero(~np.isfinite(answers[:, column]))
        if len(lost):
            word = requests[int(lost[0])][1]
            raise DataError(
                f"model {name!r}: gives {word!r:.60} the log-probability "
                f"{answers[lost[0], column]}; expected a number; if the model lists no <unk>, "
                "make one that does"
            )
    return answers
