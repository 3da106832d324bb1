"""Hypotheses with named features, lists of them, and what rescoring made of a list.

A feature that is a log-probability is in nats, and larger is better: a reader converts its format's
unit and sign, the writer converts them back. A hypothesis keeps its words as they stand in the
list; models read a normalised copy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from charlm.nbest.scorer import WordLogProbs
from charlm.text.corpus.normalisation.pieces import joined

Dedup = Literal["none", "sum", "max"]  # the common total of hypotheses with the same words
LARGEST = 1e30  # limit of a feature and a weight; squares of their products are far from overflow


class StrippedWords(tuple[str, ...]):
    """The words of a hypothesis from whose ends `<s>` or `</s>` were removed."""


class JoinedWords(tuple[str, ...]):
    """The words of a hypothesis that were joined of pieces."""

    pieces: tuple[str, ...]
    mark: str  # of pieces


def in_pieces(words: tuple[str, ...]) -> tuple[str, ...]:
    """The pieces that words were joined of, if they were."""
    return words.pieces if isinstance(words, JoinedWords) else words


@dataclass(frozen=True)
class Hypothesis:
    """One candidate of an utterance."""

    words: tuple[str, ...]  # without <s> and </s> at the ends: StrippedWords if there were any
    features: Mapping[str, float]  # those that the list gives, in its order
    place: str  # FILE:LINE, for messages
    original: object = None  # what the format's own writer needs to restore it


@dataclass(frozen=True)
class NbestList:
    """The hypotheses of one utterance, in the order of the list: the first is rank 1."""

    id: str
    hypotheses: tuple[Hypothesis, ...]
    recording: str = ""  # that the utterance is part of; empty if the format does not say
    reference: tuple[str, ...] | None = None  # if the format holds one
    original: object = None  # what stands around the hypotheses, for the format's own writer

    def without_layout(self, *, features: Collection[str]) -> "NbestList":
        """A copy for holding many lists: equal words shared, these features, no writer's needs."""
        words = {word: word for each in self.hypotheses for word in each.words}
        hypotheses = tuple(
            Hypothesis(
                tuple(map(words.__getitem__, each.words)),
                {name: each.features[name] for name in features if name in each.features},
                each.place,
            )
            for each in self.hypotheses
        )
        return replace(self, hypotheses=hypotheses, original=None)


def joining(lists: Iterable[NbestList], mark: str) -> Iterator[NbestList]:
    """The lists with words for pieces that have this mark; "" joins none."""
    if not mark:
        yield from lists
        return
    for nbest in lists:
        hypotheses = (replace(h, words=_joined(h.words, mark)) for h in nbest.hypotheses)
        said = None if nbest.reference is None else _joined(nbest.reference, mark)
        yield replace(nbest, hypotheses=tuple(hypotheses), reference=said)


def _joined(pieces: tuple[str, ...], mark: str) -> tuple[str, ...]:
    words = joined(pieces, mark)
    if words == list(pieces):
        return pieces
    result = JoinedWords(words)
    result.pieces, result.mark = pieces, mark
    return result


class Sureness(NamedTuple):
    """How totals become posteriors, and these become the confidences of words."""

    scale: float = 1.0  # by which totals are multiplied; posteriors are their softmax
    ceiling: float = 1.0  # the confidence of a word that all hypotheses of a list have

    @property
    def positive_scale(self) -> float:
        """The scale, or next to 0 in its place: totals that add up are divided by it."""
        return max(self.scale, 1 / LARGEST)


@dataclass(frozen=True)
class Rescored:
    """A list with the results for its hypotheses, in the order of the list."""

    nbest: NbestList
    scores: tuple[float, ...] = ()  # the feature `charlm` of each, in nats; empty: none to write
    totals: tuple[float, ...] = ()  # Σ weight·feature of each; empty: not weighed
    # Indices of the hypotheses, best first; ties as `tie_order` has them. Empty: the list's order.
    order: tuple[int, ...] = ()
    # Hypotheses represented by an earlier one with the same words, whose total they share.
    duplicates: frozenset[int] = frozenset()
    # With several models: the scores of each, by its name; `scores` are those of the first.
    models: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    # The first model's log-probabilities, word by word; empty for lattices and without a model.
    words: tuple[WordLogProbs, ...] = ()
    sureness: Sureness = Sureness()
    risks: tuple[float, ...] = ()  # the expected error of each; empty: it does not decide

    @property
    def ranking(self) -> tuple[int, ...]:
        """Indices of the hypotheses, best first."""
        return self.order or tuple(range(len(self.nbest.hypotheses)))

    @property
    def best(self) -> Hypothesis:
        return self.nbest.hypotheses[self.ranking[0]]
