"""What people are told at the end about lists that were read, and about their references.

Nothing is filled in or skipped without a count here; one object accompanies a source from its
opening to the summary, and the comparison with references adds what makes error rates tell little.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from charlm.nbest.hypotheses import NbestList, StrippedWords

WORST = "the worst of the list"
WITHOUT_HYPOTHESIS = "lists without a hypothesis"
ZERO = "0, since no hypothesis of the list has it"


class Filling(NamedTuple):
    """A feature whose value was filled in."""

    feature: str
    cause: str  # what was wrong with the value in the list
    value: str  # what replaced it


@dataclass
class Notices:
    """What has been noticed so far; 0, empty or false: nothing of the kind."""

    n_marked: int = 0  # hypotheses that lost <s> or </s> at their ends
    filled: Counter[Filling] = field(default_factory=Counter)  # hypotheses
    passed_over: Counter[str] = field(default_factory=Counter)  # by the kind of thing skipped
    headings: list[str] = field(default_factory=list)  # lines read as hypotheses, maybe headings
    # The first or last words of the first sentences, if most of them look like ids.
    ids_read_as_words: list[str] = field(default_factory=list)
    share_astray: float = 0.0  # of references that are nearer to the list before than to their own
    # Among the words that first hypotheses and references share, the share that differ in case.
    share_in_case: float = 0.0
    # Words of first hypotheses that look like those of the references: in another Unicode form.
    n_in_other_characters: int = 0
    n_in_pieces: int = 0  # words of either that are marked as pieces, where the other has none
    n_punctuated: int = 0  # words of either that end with punctuation, where the other has few
    share_uncut: float = 0.0  # of the references' words, which are phrases, as in Chinese
    noise_without_reference: list[str] = field(default_factory=list)  # labels that no reference has
    n_optional: int = 0  # words in parentheses in NIST's references, which sclite lets be left out
    # Options for the lists on the command line that contradict the file of weights.
    said_otherwise: list[str] = field(default_factory=list)
    # Lines written without ids, of lists whose number is below that of the list before.
    n_out_of_order: int = 0
    may_be_means: bool = False  # scores that the decoder divides by length unless told otherwise

    def look(self, nbest: NbestList) -> None:
        """Count what was repaired in a list that has been read."""
        self.n_marked += sum(isinstance(each.words, StrippedWords) for each in nbest.hypotheses)

    def pass_over(self, what: str, n: int) -> None:
        """Count further skipped things of a kind; 0 leaves no notice."""
        if n:
            self.passed_over[what] += n

    def to_dict(self) -> dict[str, object]:
        return {
            **vars(self),
            "filled": [{**key._asdict(), "n_hypotheses": n} for key, n in self.filled.items()],
            "passed_over": dict(self.passed_over),
        }


def filled(nbest: NbestList, names: Iterable[str] = (), *, notices: Notices) -> NbestList:
    """The list with these features, and those of any of its hypotheses, in every hypothesis.

    A missing feature gets the worst value of the list; if all hypotheses lack it, it gets 0, which
    changes no ranking.
    """
    features = [dict(each.features) for each in nbest.hypotheses]
    for name in dict.fromkeys(chain(names, *features)):
        there = [each[name] for each in features if name in each]
        if len(there) < len(features):
            filling = Filling(name, "missing", WORST if there else ZERO)
            notices.filled[filling] += len(features) - len(there)
            worst = min(there, default=0.0)
            for found in features:
                found.setdefault(name, worst)
    pairs = zip(nbest.hypotheses, features, strict=True)
    return replace(nbest, hypotheses=tuple(replace(each, features=own) for each, own in pairs))
