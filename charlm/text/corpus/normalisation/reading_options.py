"""Options for the rules that texts are read by, in addition to those of a run's own text.

A run on text that was lower-case and tokenised before `charlm prep` saw it has no such rules, nor
has an ARPA file: raw text reaches them by these options.
"""

from dataclasses import dataclass
from functools import cached_property

from charlm.interface.options import Lower, Numbers, Punctuation, SplitHyphens, TextMap, Tokenise
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.phrase_map import rules_of


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How the models' copy of a text is prepared."""

    lower: Lower = False
    tokenise: Tokenise = "none"
    split_hyphens: SplitHyphens = False
    punctuation: Punctuation = "keep"
    map: TextMap = None
    numbers: Numbers = False

    @cached_property
    def text_rules(self) -> Normalisation:
        """The rules of these options alone; a map is read once, as it may be standard input."""
        return Normalisation(
            lower=self.lower,
            unicode="none",
            tokenise=self.tokenise,
            numbers=self.numbers,
            punctuation=self.punctuation,
            split_hyphens=self.split_hyphens,
            map=rules_of(self.map, plain=Normalisation(self.lower, "none")),
        )
