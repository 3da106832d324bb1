"""Nearest words: how the words of a question are read, and the form of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from charlm.errors import ConfigError
from charlm.interface.json_results import JsonResult
from charlm.interface.short_repr import ShortRepr
from charlm.notebook import table_html
from charlm.text.corpus.normalisation.normalisation import NO_RULES, Normalisation
from charlm.text.io.lines import split_words

DECIMALS = 6  # of a similarity: beyond them a form's vector depends on the batch it was encoded in


class Neighbour(NamedTuple):
    """A word of the vocabulary, and the cosine of its vector and that of the word asked about."""

    word: str
    similarity: float


def asked_words(words: str | Sequence[str]) -> list[str]:
    """One or more words.

    Raises:
        ConfigError: none.
    """
    asked = [words] if isinstance(words, str) else list(words)
    if not asked:
        raise ConfigError("words: found none; expected at least one")
    return asked


def token_of(word: str, normalisation: Normalisation, *, raw: bool, lower: bool) -> str:
    """The one token that a word is read as; `raw` skips the normalisation.

    `lower` is the run's own lower case: of Turkish I it makes ı where the run does.

    Raises:
        ConfigError: several, or none.
    """
    rules = NO_RULES if raw else normalisation
    if lower:
        rules = replace(rules, lower=True, dotless_i=normalisation.dotless_i)
    line = word.replace("\n", " ")
    tokens = split_words(line if rules is NO_RULES else rules(line))  # a lone BOM may be a word
    if len(tokens) != 1:
        found = f"{len(tokens)} words ({', '.join(tokens)})" if tokens else "nothing"
        raise ConfigError(f"word {word!r}: is read as {found}; expected one word")
    return tokens[0]


@dataclass(frozen=True)
class Neighbourhood(JsonResult, ShortRepr):
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
