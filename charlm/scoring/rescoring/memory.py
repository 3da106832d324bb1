"""What was said before a list: the recording that goes on, and what each scorer remembers of it.

A recording is known from the id of a list before anything of it is scored: lattices are searched
with the memory already there.
"""

import re
from collections.abc import Callable, Sequence

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.scorer import Scorer, Words

RECORDING = r"^(.*)[-_][^-_]*$"  # of an utterance's id: all but its last part


def recording_by(pattern: str) -> Callable[[NbestList], str]:
    """The recording of a list: what its format says, else the pattern's first group in its id.

    Raises:
        ConfigError: no regular expression, or one without a group.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"--recordings {pattern!r}: {error}; expected a pattern") from None
    if not compiled.groups:
        raise ConfigError(f"--recordings {pattern!r}: no group; expected one, as ^(.*)-")

    def recording_of(nbest: NbestList) -> str:
        found = compiled.search(nbest.id)
        return nbest.recording or (found and found.group(1)) or nbest.id

    return recording_of


class Memory:
    """The memories of scorers, from list to list of a recording."""

    def __init__(
        self, scorers: Sequence[Scorer], *, recording_of: Callable[[NbestList], str]
    ) -> None:
        self.states: list[object] = [None] * len(scorers)
        self.n_recordings = 0
        self._scorers, self._recording_of = scorers, recording_of
        self._recording: str | None = None  # the one that goes on

    def enter(self, nbest: NbestList) -> None:
        """A list comes: if it is of another recording than the last, nothing was said before."""
        recording = self._recording_of(nbest)
        if recording != self._recording:
            self._recording = recording
            self.n_recordings += 1
            self.states = [None] * len(self._scorers)

    def remember(self, text: Words) -> None:
        """This is what was said: the next list of the recording follows it."""
        self.states = [
            scorer.remember(text, memory=state)
            for scorer, state in zip(self._scorers, self.states, strict=True)
        ]
