"""Lists on their way through: scored, weighed, counted.

Weights are known before the first list goes on: a ranking must not depend on what comes later.
Without a memory many lists are scored in one go; with one they are taken in turn, since what
follows a list hangs on which of its hypotheses was chosen.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.weights import Weights, rescored
from charlm.scoring.rescoring import Rescorer, ScoredList, in_batches

SAMPLE = 256  # texts that are kept to measure on
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


@dataclass
class ListCounts:
    """Lists that have come through."""

    n_lists: int = 0
    n_choices: int = 0  # lists of several hypotheses
    n_recordings: int = 0  # that they followed each other in; 0: each list is on its own
    n_empty: int = 0  # hypotheses without a word
    n_duplicates: int = 0  # texts that their list had before
    n_moved: int = 0  # lists whose first hypothesis is another one now
    features: tuple[str, ...] = ()  # of the last list
    # The first texts, as models read them.
    texts: list[tuple[str, ...]] = field(default_factory=list)

    def count(self, scored: ScoredList, result: Rescored) -> None:
        """One list more."""
        texts = [hypothesis.words for hypothesis in scored.nbest.hypotheses]
        self.n_lists += 1
        self.n_choices += len(texts) > 1
        self.n_empty += texts.count(())
        self.n_duplicates += len(texts) - len(set(texts))
        self.n_moved += texts[result.ranking[0]] != texts[0]
        self.features = scored.table.names
        self.texts += scored.texts[: SAMPLE - len(self.texts)]


@dataclass
class Pass:
    """Lists on their way through: scored, weighed, counted."""

    rescorer: Rescorer
    choose_weights: Callable[[ScoredList], Weights]  # asked of the first list
    on_list: Callable[[ScoredList, Rescored], None]
    feature: str  # the score that a writer adds to a list
    own_weights: bool = False  # each list has its own: they are asked of every one
    recording_of: Callable[[NbestList], str] | None = None  # None: every list on its own
    at_once: int = 4096
    weights: Weights | None = None  # those chosen
    counts: ListCounts = field(default_factory=ListCounts)
    _recording: str | None = None  # the one that goes on

    def run(self, lists: Iterable[NbestList]) -> Iterator[Rescored]:
        """Each list, rescored, in their order."""
        if self.recording_of is not None:
            for nbest in lists:
                yield self.one(nbest)
            return
        for batch in in_batches(lists, at_once=self.at_once):
            for scored in self.rescorer.score(batch):
                yield self._finished(scored)

    def one(self, nbest: NbestList) -> Rescored:
        """The next list. With a memory it follows those of its recording before it, by the
        hypotheses chosen there; a recording ends where another begins.
        """
        if self.recording_of is not None:
            recording = self.recording_of(nbest)
            if recording != self._recording:
                self.rescorer.forget()
                self._recording = recording
                self.counts.n_recordings += 1
        (scored,) = self.rescorer.score([nbest])
        result = self._finished(scored)
        if self.recording_of is not None:
            self.rescorer.remember(scored.texts[result.ranking[0]])
        return result

    def _finished(self, scored: ScoredList) -> Rescored:
        if self.weights is None or self.own_weights:
            self.weights = self.choose_weights(scored)
        scores = scored.table.take([self.feature]).values_HF[:, 0].tolist()
        result = rescored(scored.nbest, scored.table, weights=self.weights, scores=scores)
        self.counts.count(scored, result)
        self.on_list(scored, result)
        return result
