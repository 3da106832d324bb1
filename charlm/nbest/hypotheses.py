"""Hypotheses with named features, lists of them, and what rescoring made of a list.

A feature that is a log-probability is in nats, and larger is better: a reader converts its format's
unit and sign, the writer converts them back. A hypothesis keeps its words as they stand in the
list; models read a normalised copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from charlm.nbest.scorer import WordLogProbs

Dedup = Literal["none", "sum", "max"]  # what hypotheses with the same words count together
LARGEST = 1e30  # of a feature and of a weight: sums of squares of more would overflow


class StrippedWords(tuple[str, ...]):
    """The words of a hypothesis whose `<s>` or `</s>` at the ends have been taken off."""


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
    recording: str = ""  # of which it is a part; empty where the format does not say
    reference: tuple[str, ...] | None = None  # where the format holds it
    original: object = None  # what stands around the hypotheses, for the format's own writer

    def without_layout(self) -> "NbestList":
        """Without what its writer needs, a word that comes again kept once: to hold many lists."""
        words = {word: word for each in self.hypotheses for word in each.words}
        hypotheses = tuple(
            Hypothesis(tuple(map(words.__getitem__, each.words)), each.features, each.place)
            for each in self.hypotheses
        )
        return replace(self, hypotheses=hypotheses, original=None)


@dataclass(frozen=True)
class Rescored:
    """A list with what was found out about its hypotheses, in the order of the list."""

    nbest: NbestList
    scores: tuple[float, ...] = ()  # the feature `charlm` of each, in nats; empty: none to write
    totals: tuple[float, ...] = ()  # Σ weight·feature of each; empty: not weighed
    # Indices of the hypotheses, best first; ties as `tie_order` has them. Empty: the list's order.
    order: tuple[int, ...] = field(default=())
    # Those that one of the same words, before them in the order, stands for; their totals are its.
    merged: frozenset[int] = frozenset()
    # Of several models, what each gives to each hypothesis, by its name; `scores` is the first's.
    models: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    # What the first model gives to each word of each hypothesis; empty: lattices, or no model.
    words: tuple[WordLogProbs, ...] = ()

    @property
    def ranking(self) -> tuple[int, ...]:
        """Indices of the hypotheses, best first."""
        return self.order or tuple(range(len(self.nbest.hypotheses)))

    @property
    def best(self) -> Hypothesis:
        """The winner."""
        return self.nbest.hypotheses[self.ranking[0]]
