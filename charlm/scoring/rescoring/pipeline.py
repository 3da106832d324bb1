"""The pipeline of rescoring: lists are normalised, scored, weighted and counted.

Many lists are scored together, since they share prefixes and fill batches. With a memory they are
taken one by one, since each list's scores depend on the hypotheses chosen before it. Lattices come
already scored, and only their words are counted here. Weights are fixed before the first list is
ranked, since a ranking must not depend on later lists.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Dedup, NbestList, Rescored, in_pieces
from charlm.nbest.lattices.lattice_options import GRAPH, REST
from charlm.nbest.lattices.lattice_options import OLD as OLD_LM
from charlm.nbest.metrics.bayes_risk import by_risk
from charlm.nbest.metrics.error_rates import Metric
from charlm.nbest.ranking.features import FeatureTable, feature_table
from charlm.nbest.ranking.weights import Weights, rescored
from charlm.nbest.reading.policies import refuse_twice
from charlm.nbest.reading.repairs import Notices, filled
from charlm.nbest.scorer import Scorer, WordLogProbs, Words
from charlm.scoring.rescoring.hypothesis_text import HypothesisText, Known
from charlm.text.corpus.sentences import in_batches

SAMPLE = 256  # texts that are kept to measure a number format's deviation


class RecordingMemory:
    """The memories of scorers, from list to list of a recording.

    The recording is known from a list's id before anything is scored, since lattices are searched
    with the memory already set.
    """

    def __init__(
        self, scorers: Sequence[Scorer], *, recording_of: Callable[[NbestList], str]
    ) -> None:
        self.states: list[object] = [None] * len(scorers)
        self.n_recordings = 0
        self._scorers, self._recording_of = scorers, recording_of
        self._recording: str | None = None  # the current one

    def enter(self, nbest: NbestList) -> None:
        """Begin a list; if its recording differs from the last one's, the memories are cleared."""
        recording = self._recording_of(nbest)
        if recording != self._recording:
            self._recording = recording
            self.n_recordings += 1
            self.states = [None] * len(self._scorers)

    def remember(self, text: Words) -> None:
        """Make this text the sentence that the recording's next list follows."""
        self.states = [
            scorer.remember(text, memory=state)
            for scorer, state in zip(self._scorers, self.states, strict=True)
        ]


@dataclass(frozen=True)
class ScoredList:
    """A list with all features of its hypotheses."""

    nbest: NbestList
    table: FeatureTable
    texts: tuple[tuple[str, ...], ...]  # each hypothesis as the scorers read it
    scores: tuple[tuple[WordLogProbs, ...], ...]  # by scorer, by hypothesis
    unknown: tuple[Sequence[str], ...]  # the words of each text that the first scorer does not know


@dataclass
class Rescorer:
    """Adds the features of scorers to lists; the first scorer says which words are known."""

    scorers: Sequence[Scorer]
    _: KW_ONLY
    text: HypothesisText
    # With which a list was made: its score is taken out of Kaldi's graph score, and becomes a
    # feature of its own.
    old_lm: Scorer | None = None
    is_known: Known | None = None  # says which words are known where there is no scorer
    memory: RecordingMemory | None = None  # of earlier lists; None: each list is on its own

    def score(self, lists: Sequence[NbestList]) -> list[ScoredList]:
        """The lists with their features.

        Raises:
            ConfigError: `old_lm` for a list without a graph score; a feature that exists already.
            DataError: a list whose hypotheses have different features, or that already has a
                feature that `old_lm` adds.
        """
        texts = [tuple(self.text.read(h.words)) for nbest in lists for h in nbest.hypotheses]
        states: Sequence[object] = [None] * len(self.scorers)
        if self.memory is not None and self.scorers:  # lattices are scored already
            states = self.memory.states
        by_scorer = [
            scorer.score(texts, memory=state)
            for scorer, state in zip(self.scorers, states, strict=True)
        ]
        unknown = [
            self.text.count_unknown(text, known)
            for text, known in zip(texts, self._known(texts, by_scorer), strict=True)
        ]
        results, first = [], 0
        for nbest in lists:
            part = slice(first, first + len(nbest.hypotheses))
            first = part.stop
            scores = tuple(tuple(each[part]) for each in by_scorer)
            lacking = tuple(unknown[part])
            own = nbest if self.old_lm is None else _without_old(nbest, self.old_lm)
            added = {
                scorer.name: [each.log_prob for each in one]
                for scorer, one in zip(self.scorers, scores, strict=True)
            }
            table = feature_table(own, added=added, n_oov=[len(each) for each in lacking])
            results.append(ScoredList(own, table, tuple(texts[part]), scores, lacking))
        return results

    def _known(
        self, texts: Sequence[tuple[str, ...]], by_scorer: Sequence[Sequence[WordLogProbs]]
    ) -> list[list[bool]]:
        if by_scorer:
            return [score.known.tolist() for score in by_scorer[0]]
        is_known = self.is_known
        return [[is_known is None or is_known(word) for word in text] for text in texts]


def _without_old(nbest: NbestList, old_lm: Scorer) -> NbestList:
    scores = old_lm.score([in_pieces(hypothesis.words) for hypothesis in nbest.hypotheses])
    hypotheses = []
    for hypothesis, score in zip(nbest.hypotheses, scores, strict=True):
        if GRAPH not in hypothesis.features:
            raise ConfigError(
                f"{hypothesis.place}: no feature {GRAPH!r} to take --old-lm out of; expected "
                "Kaldi's graph score; drop --old-lm, or name the column so"
            )
        features = {k: v for k, v in hypothesis.features.items() if k != GRAPH}
        parts = {REST: hypothesis.features[GRAPH] - score.log_prob, OLD_LM: score.log_prob}
        for name in parts:
            refuse_twice(hypothesis, name)
        hypotheses.append(replace(hypothesis, features=features | parts))
    return replace(nbest, hypotheses=tuple(hypotheses))


@dataclass
class ListCounts:
    """Counts of the lists that were processed."""

    n_lists: int = 0
    n_choices: int = 0  # lists with several hypotheses
    n_recordings: int = 0  # in which lists follow each other; 0: each list is on its own
    n_empty: int = 0  # hypotheses without a word
    n_duplicates: int = 0  # texts that occurred earlier in their list
    n_moved: int = 0  # lists whose best hypothesis is not the first
    n_empty_wins: int = 0  # lists whose best hypothesis is empty
    n_unknown_wins: int = 0  # lists whose best has unknown words not in the first
    features: tuple[str, ...] = ()  # of all lists
    # The first texts, as models read them.
    texts: list[tuple[str, ...]] = field(default_factory=list, repr=False)

    def count(self, scored: ScoredList, result: Rescored) -> None:
        texts = [hypothesis.words for hypothesis in scored.nbest.hypotheses]
        self.n_lists += 1
        self.n_choices += len(texts) > 1
        self.n_empty += texts.count(())
        # Of pieces that make the same words, models may read the pieces.
        self.n_duplicates += len(texts) - len(set(zip(texts, scored.texts, strict=True)))
        best = result.ranking[0]
        self.n_moved += texts[best] != texts[0]
        self.n_empty_wins += not texts[best]
        self.n_unknown_wins += not set(scored.unknown[best]) <= set(scored.texts[0])
        if scored.table.names != self.features:
            self.features = tuple(dict.fromkeys((*self.features, *scored.table.names)))
        self.texts += scored.texts[: SAMPLE - len(self.texts)]


@dataclass
class Pipeline:
    """Scores, weights and counts lists as they come."""

    rescorer: Rescorer
    choose_weights: Callable[[ScoredList], Weights]  # called with the first list
    names: tuple[str, ...]  # of the scores that writers add; the first is `charlm`
    own_weights: bool = False  # each list has its own weights
    dedup: Dedup = "none"  # how hypotheses with the same words count together
    mbr: Metric | None = None  # its expected error chooses; None: the totals do
    # Features that a hypothesis lacks, and others of its list or of the first list have.
    allow_missing: bool = False
    at_once: int = 4096  # hypotheses scored together, or more; 0: each list alone
    weights: Weights | None = None  # the chosen ones
    counts: ListCounts = field(default_factory=ListCounts)
    notices: Notices = field(default_factory=Notices)
    _own: tuple[str, ...] = ()  # features of the first list

    def run(self, lists: Iterable[NbestList]) -> Iterator[tuple[ScoredList, Rescored]]:
        """Each list, scored and rescored, in order.

        With a memory, a list follows the chosen hypotheses of the earlier lists of its recording,
        which are remembered when the next list is asked for. A recording ends where another begins.
        """
        memory = self.rescorer.memory
        if memory is not None:
            for nbest in lists:
                memory.enter(nbest)
                self.counts.n_recordings = memory.n_recordings
                (scored,) = self.rescorer.score([self._whole(nbest)])
                result = self._finished(scored)
                yield scored, result
                memory.remember(scored.texts[result.ranking[0]])
            return
        whole = map(self._whole, lists)
        for batch in in_batches(whole, size=self.at_once, size_of=lambda x: len(x.hypotheses)):
            for scored in self.rescorer.score(batch):
                yield scored, self._finished(scored)

    def as_it_is(self) -> "Pipeline":
        """A copy that later lists leave alone, but for which words are unknown and for repairs."""
        text = copy(self.rescorer.text)
        text.counts = replace(text.counts, by_rule=text.counts.by_rule.copy())
        rescorer = replace(self.rescorer, text=text, memory=copy(self.rescorer.memory))
        counts = replace(self.counts, texts=[*self.counts.texts])
        return replace(self, rescorer=rescorer, counts=counts)

    def _whole(self, nbest: NbestList) -> NbestList:
        if not self.allow_missing:
            return nbest
        whole = filled(nbest, self._own, notices=self.notices)
        self._own = self._own or tuple(whole.hypotheses[0].features)
        return whole

    def _finished(self, scored: ScoredList) -> Rescored:
        if self.weights is None or self.own_weights:
            self.weights = self.choose_weights(scored)
        columns = scored.table.take(self.names).values_HF.T.tolist()
        scores = columns[0] if columns else ()
        result = rescored(
            scored.nbest, scored.table, weights=self.weights, scores=scores, dedup=self.dedup
        )
        if self.mbr is not None:
            result = by_risk(result, self.mbr)
        if scored.scores:
            result = replace(result, words=scored.scores[0])
        if len(self.names) > 1:
            models = dict(zip(self.names, map(tuple, columns), strict=True))
            result = replace(result, models=models)
        self.counts.count(scored, result)
        for words in scored.unknown:  # which they are, of a list that was not refused
            self.rescorer.text.counts.unknown.add(words)
        self.notices.look(scored.nbest)
        return result
