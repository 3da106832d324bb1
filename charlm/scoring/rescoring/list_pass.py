"""Lists on their way through: scored, weighed, counted.

Weights are known before the first list goes on: a ranking must not depend on what comes later.
Without a memory many lists are scored in one go; with one they are taken in turn, since what
follows a list hangs on which of its hypotheses was chosen.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from charlm.nbest.duplicates import Dedup
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.repairs import Notices, filled
from charlm.nbest.weights import Weights, rescored
from charlm.scoring.rescoring.pipeline import Rescorer, ScoredList, in_batches

SAMPLE = 256  # texts that are kept to measure on


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
    dedup: Dedup = "none"  # what hypotheses with the same words count together
    allow_missing: bool = False  # what a hypothesis lacks and others of its list have
    at_once: int = 4096
    weights: Weights | None = None  # those chosen
    counts: ListCounts = field(default_factory=ListCounts)
    notices: Notices = field(default_factory=Notices)

    def run(self, lists: Iterable[NbestList]) -> Iterator[Rescored]:
        """Each list, rescored, in their order."""
        if self.rescorer.memory is not None:
            for nbest in lists:
                yield self.one(nbest)
            return
        for batch in in_batches(map(self._whole, lists), at_once=self.at_once):
            for scored in self.rescorer.score(batch):
                yield self._finished(scored)

    def one(self, nbest: NbestList) -> Rescored:
        """The next list. With a memory it follows those of its recording before it, by the
        hypotheses chosen there; a recording ends where another begins.
        """
        memory = self.rescorer.memory
        if memory is not None:
            memory.enter(nbest)
            self.counts.n_recordings = memory.n_recordings
        (scored,) = self.rescorer.score([self._whole(nbest)])
        result = self._finished(scored)
        if memory is not None:
            memory.remember(scored.texts[result.ranking[0]])
        return result

    def _whole(self, nbest: NbestList) -> NbestList:
        return filled(nbest, notices=self.notices) if self.allow_missing else nbest

    def _finished(self, scored: ScoredList) -> Rescored:
        if self.weights is None or self.own_weights:
            self.weights = self.choose_weights(scored)
        names = [scorer.name for scorer in self.rescorer.scorers] or [self.feature]
        columns = scored.table.take([self.feature, *names]).values_HF.T.tolist()
        result = rescored(
            scored.nbest, scored.table, weights=self.weights, scores=columns[0], dedup=self.dedup
        )
        if len(names) > 1:
            models = dict(zip(names, map(tuple, columns[1:]), strict=True))
            result = replace(result, models=models)
        self.counts.count(scored, result)
        self.notices.look(scored.nbest)
        self.on_list(scored, result)
        return result
