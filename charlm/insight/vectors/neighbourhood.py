"""The answer to a question for near words, whoever finds it."""

from dataclasses import dataclass
from typing import NamedTuple

from charlm.notebook import table_html
from charlm.short_repr import ShortRepr

DECIMALS = 6  # of a similarity: beyond them a form's vector depends on the batch it was encoded in


class Neighbour(NamedTuple):
    """A word of the vocabulary, and the cosine of the angle between its vector and the asked."""

    word: str
    similarity: float


@dataclass(frozen=True)
class Neighbourhood(ShortRepr):
    """The words nearest to one form at one tap, the most similar first."""

    word: str  # as asked
    form: str  # as read: normalised
    is_known: bool  # whether the form is a word of the vocabulary
    tap: str
    nearest: tuple[Neighbour, ...]  # none where the tap cannot read the form

    def _repr_html_(self) -> str:
        known = "" if self.is_known else ", outside the vocabulary"
        rows = [(near.word, f"{near.similarity:.3f}") for near in self.nearest]
        return table_html(("nearest", "cosine"), rows, told=[f"{self.form}{known}, at {self.tap}"])

    def to_dict(self) -> dict[str, object]:
        return {
            "word": self.word,
            "form": self.form,
            "known": self.is_known,
            "at": self.tap,
            "nearest": [near._asdict() for near in self.nearest],
        }
