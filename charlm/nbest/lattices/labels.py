"""Which labels of a lattice are words, which are noise, and which are nothing.

Noise stands in the hypotheses, as it does in n-best lists, but no model reads it that does not know
it: it does not move a history. `<unk>` is a word.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from charlm.errors import ConfigError

SILENT = frozenset(("<eps>", "!NULL", "<s>", "</s>", "!SENT_START", "!SENT_END", ""))
# [laugh]  <noise>, but not <unk> nor <unk>:form  {breath}  -pau- of SRILM  !SIL of Kaldi
NOISE = r"\[.*\]|<(?!(?i:unk)\b).*>|\{.*\}|-pau-|!SIL"


@dataclass(frozen=True)
class Labels:
    """What is no word."""

    silent: frozenset[str] = SILENT  # not even in a hypothesis
    noise: str = NOISE  # a regular expression that the whole label matches; empty: there is none

    def __post_init__(self) -> None:
        """Raises ConfigError for what is no regular expression."""
        try:
            _ = self._pattern
        except re.error as error:
            raise ConfigError(
                f"noise {self.noise!r:.60}: {error}; expected a regular expression, such as "
                r"'\[.*\]|sil'"
            ) from None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.noise)

    def is_silent(self, label: str) -> bool:
        """Whether a label stands for nothing."""
        return label in self.silent

    def is_read(self, label: str) -> bool:
        """Whether a model reads it."""
        return label not in self.silent and not (self.noise and self._pattern.fullmatch(label))
