"""The spelling of words outside the vocabulary, the second factor of their probability.

P(w | h) = P(<unk> | h) · P(w | <unk>), and the second factor depends on neither context nor model:
it is summed beside a text's perplexities, once for all of them. A word that is written `<unk>` has
no known spelling, so a text that holds one gets no such figure.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from charlm.text.corpus.tokens import UNK_WORD, form_of
from charlm.text.vocabulary.vocabulary import Inventory

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@runtime_checkable
class Spells(Protocol):
    """Gives the probability of a spelling, given that the word is `<unk>`."""

    @property
    def inventory(self) -> Inventory:
        """The vocabulary outside which it spells."""

    @property
    def sha256(self) -> str:
        """The hash of the speller, for signatures."""

    def log_probs(self, spellings: Sequence[str]) -> "npt.NDArray[np.float64]":
        """log P(w | <unk>) of words outside the vocabulary, in nats."""


class Additive:
    """Base of dataclasses of counts and sums, which add field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(**{name: own + vars(other)[name] for name, own in vars(self).items()})


@dataclass(frozen=True)
class Spelling(Additive):
    """The log10 probabilities of the spellings of a text's `<unk>` words, summed."""

    log10_prob: float = 0.0
    n_words: int = 0
    n_characters: int = 0  # of these words, the blank or newline behind each included
    n_unspelled: int = 0  # words written `<unk>`
    n_known: int = 0  # words that are `<unk>` though the vocabulary has them

    @property
    def obstacle(self) -> str | None:
        """Why there is no open-vocabulary figure; None if there is one."""
        if self.n_unspelled:
            return f"unspelled words, {UNK_WORD} in the text itself: {self.n_unspelled}"
        if self.n_known:
            return (
                f"words that are {UNK_WORD} for the model or in the text, though the speller's "
                f"vocabulary has them: {self.n_known}"
            )
        return None

    @property
    def bits_per_character(self) -> float | None:
        """The bits of the spellings alone."""
        return -self.log10_prob * math.log2(10) / self.n_characters if self.n_characters else None

    def to_dict(self) -> dict[str, object]:
        return {
            "log10_prob": self.log10_prob,
            "n_words": self.n_words,
            "n_characters": self.n_characters,
            "bits_per_character": self.bits_per_character,
        }


def spelling_of(tokens: Iterable[str], speller: Spells) -> Spelling:
    """The spellings of a text's tokens that are `<unk>` at the output."""
    known = speller.inventory.word_ids
    forms: list[str] = []
    n_unspelled = n_known = 0
    for token in tokens:
        form = form_of(token)
        if form == UNK_WORD:
            n_unspelled += 1
        elif form in known:
            n_known += 1
        else:
            forms.append(form)
    return Spelling(
        log10_prob=math.fsum(speller.log_probs(forms).tolist()) / math.log(10),
        n_words=len(forms),
        n_characters=sum(len(form) + 1 for form in forms),
        n_unspelled=n_unspelled,
        n_known=n_known,
    )
