"""Lattices as a format of lists: reading a lattice searches it, and its list holds the best paths.

The models are asked during the search, so that the hypotheses come with their scores and only need
to be weighted again. Each lattice has scales of its own, which are its weights unless the user
gives others. With a memory, each lattice is searched after the path that was chosen in the one
before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from charlm.errors import ConfigError
from charlm.interface.json_results import JsonResult
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.lattices.best_paths import best_paths
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import (
    Histories,
    History,
    MixedHistories,
    Request,
    ScorerHistories,
    n_context,
)
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import (
    KALDI,
    decoder_scales,
    read_lattices,
    rescored_text,
    word_spans,
)
from charlm.nbest.lattices.lattice_options import GRAPH, OLD, REST, LatticeOptions
from charlm.nbest.lattices.new_scores import require_acoustic
from charlm.nbest.lattices.rescore import LATTICES_AT_ONCE, rescore_with
from charlm.nbest.reading.format import Format, Piece, Sample, Source
from charlm.nbest.reading.policies import check_options
from charlm.nbest.reading.word_times import FRAME_SHIFT, Span
from charlm.nbest.scorer import Scorer
from charlm.nbest.scorers import LogProbs
from charlm.scoring.rescoring.hypothesis_text import Known
from charlm.scoring.rescoring.pipeline import RecordingMemory
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, known_by
from charlm.text.corpus.tokens import END_WORD

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

# Without models no history matters, and one word is the shortest that the search accepts.
OWN = LatticeOptions(beam=0.0, recombine=1, n_best=1)


@dataclass
class LatticeCounts(JsonResult):
    """Counts of what the search did to the lattices so far."""

    n_exact: int = 0  # lattices in which every path kept its own history
    n_merged: int = 0  # arrivals that continued with another history than their own
    n_pruned: int = 0  # nodes, each with a history, that were pruned
    n_useless: int = 0  # nodes that are on no path to the end
    n_misjudged: int = 0  # written lattices whose best path is not the chosen one, by merging
    # The scales at which a decoder finds the best paths in the output; empty without output.
    scales: dict[str, float] = field(default_factory=dict)

    def count(self, found: RescoredLattice) -> None:
        expanded = found.expanded
        self.n_exact += expanded.is_exact
        self.n_merged += expanded.n_merged
        self.n_pruned += expanded.n_pruned
        self.n_useless += found.lattice.n_useless

    def add(self, other: "LatticeCounts") -> None:
        for name, count in vars(other).items():
            if name.startswith("n_"):
                setattr(self, name, getattr(self, name) + count)


@dataclass
class LatticeLists(Format):
    """Lattices that are searched when they are read."""

    name: str  # of the format of the lattices
    scorers: Scorers
    options: LatticeOptions
    at_once: int = LATTICES_AT_ONCE
    words_txt: str | Path | None = None
    memory: RecordingMemory | None = None  # of the scorers' parts; None: each lattice on its own
    counts: LatticeCounts = field(default_factory=LatticeCounts)

    def __post_init__(self) -> None:
        """Words are read as the scorers read them.

        Raises:
            ConfigError: models that adapt or are not in fp32; a map with rules of several words.
        """
        scorers, rules = self.scorers, self.scorers.normalisation
        if scorers.adaptation:
            raise ConfigError(
                "--adapt: lattices are searched by models that stay as they are; expected lists, "
                "which --write nbest makes of lattices; drop --adapt"
            )
        for scorer in scorers.neural:
            if scorer.precision != "fp32":
                raise ConfigError(
                    f"--precision {scorer.precision}: lattices are searched in fp32; expected that"
                )
        if rules is not None and rules.reads_phrases:
            raise ConfigError(
                "--map: found a rule of several words; expected rules of one, as lattices are read "
                "word by word; write lists of their paths (--write nbest) and score these"
            )
        self.times_in = "frames" if self.name == KALDI else "seconds"
        self.options = replace(
            self.options, rules=rules, is_known=scorers.is_known, context=_context_of(scorers)
        )

    def claims(self, sample: Sample) -> bool:
        """False: lattices are recognised before lists are looked at."""
        return False

    def read(self, source: Source) -> Iterator[NbestList]:
        """For each lattice, its best path before rescoring, then the new paths, best first.

        Raises:
            ConfigError: columns, further files or a length penalty were given.
        """
        check_options(source, self.name)
        lattices = read_lattices(source, form=self.name, words_txt=self.words_txt)
        if self.memory is None:
            divided = self.scorers.search
            yield from divided(self, lattices) if divided else self.search(lattices)
            return
        for lattice in lattices:
            self.memory.enter(NbestList(lattice.id, ()))
            yield from self._searched([lattice], _histories(self.scorers, self.memory.states))

    def search(self, lattices: Iterable[Lattice]) -> Iterator[NbestList]:
        """The lists of lattices, each on its own, searched by this process."""
        return self._searched(lattices, _histories(self.scorers, ()))

    def _searched(
        self, lattices: Iterable[Lattice], models: Mapping[str, Histories]
    ) -> Iterator[NbestList]:
        for found in rescore_with(lattices, models, options=self.options, at_once=self.at_once):
            self.counts.count(found)
            yield replace(_with_first(found, models, options=self.options), original=found)

    def times(self, nbest: NbestList, which: int, *, frame_shift: float | None) -> list[Span]:
        """Those of the path that was best for these words; frames are of Kaldi's lattices."""
        path = nbest.hypotheses[which].original
        assert isinstance(path, tuple)
        shift = FRAME_SHIFT if frame_shift is None else frame_shift
        return word_spans(lattice_of(nbest).lattice, path, frame_shift=shift)

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """The expanded lattices with their new scores.

        Raises:
            ConfigError: weights that a decoder's scales cannot express.
            DataError: a lattice that cannot hold the scores.
        """
        said = {**self.options.weights, **self.options.overrides}
        if self.options.weights or "am" in said:  # else checked for each lattice in the search
            require_acoustic(said, place=self.name)
        for item in lists:
            found = lattice_of(item.nbest)
            self.counts.scales = decoder_scales(found)
            self.counts.n_misjudged += _is_misjudged(found, item)
            yield rescored_text(found)


def _context_of(scorers: Scorers) -> int:
    """The most words before a word that a model reads; 0: all of them."""
    if scorers.old_lm is not None:  # histories are of labels, some of which no model reads
        return 0
    contexts = [n_context(part) for part in scorers.parts]
    return 0 if None in contexts else max((1, *filter(None, contexts)))


def lattice_of(nbest: NbestList) -> RescoredLattice:
    """The lattice whose best paths the list holds."""
    assert isinstance(nbest.original, RescoredLattice)
    return nbest.original


def _is_misjudged(found: RescoredLattice, item: Rescored) -> bool:
    """Whether merged histories make another path than the chosen one the best of the lattice."""
    if not found.expanded.n_merged:
        return False
    (first,) = best_paths(found.expanded, 1)
    return first.words != item.best.words


def _with_first(
    found: RescoredLattice, models: Mapping[str, Histories], *, options: LatticeOptions
) -> NbestList:
    """The paths of a rescored lattice after its best path before rescoring, for reports.

    The search returns paths in the order of the new scores. HTK lattices name the scales with which
    they were decoded. Kaldi lattices do not. For them the old best path is the best by the graph
    score, at the scales for which the lattice is written, with the total weight of all language
    models.
    """
    own_options = replace(OWN, weights=_own_weights(found))
    (own,) = rescore_with([found.lattice], {}, options=own_options)
    first, others = own.nbest.hypotheses[0], found.nbest.hypotheses
    same = [each for each in others if each.words == first.words]
    if not same:
        same = [_with_scores(first, models, options=options)]
    rest = [each for each in others if each.words != first.words]
    return replace(found.nbest, hypotheses=(*same, *rest))


def _own_weights(found: RescoredLattice) -> dict[str, float]:
    """Weights for the best path before rescoring; empty where the lattice has scales of its own."""
    weighing = found.expanded.weighing
    am = weighing.weights.get("am", 0.0)
    if GRAPH not in found.lattice.names or not am:
        return {}
    return {"am": am, GRAPH: weighing.scale}


def _with_scores(
    hypothesis: Hypothesis, models: Mapping[str, Histories], *, options: LatticeOptions
) -> Hypothesis:
    """The hypothesis with the models' scores."""
    read = [token for word in hypothesis.words for token in options.read(word)]
    features = dict(hypothesis.features)
    for name, model in models.items():
        words = hypothesis.words if name == OLD else read
        histories = accumulate(words, History.then, initial=History())
        requests = list(zip(histories, [*words, END_WORD], strict=True))
        features[name] = float(model.log_probs(requests).sum())
    if OLD in models:
        features[REST] = features.pop(GRAPH) - features[OLD]
    return replace(hypothesis, features=features)


@dataclass
class SpelledHistories:
    """A model whose unknown words have probabilities of their own, as in `OpenScorer`."""

    histories: Histories
    vocabulary: "OpenVocabulary"
    _: KW_ONLY
    is_known: Known  # whether the model knows a word
    name: str  # of the model

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        words = [word for _, word in requests]
        known = [word == END_WORD or self.is_known(word) for word in words]
        return self.histories.log_probs(requests) + self.vocabulary.spelled(
            words, known, name=self.name
        )

    def keep(self, histories: Iterable[History]) -> None:
        self.histories.keep(histories)


def _histories(scorers: Scorers, states: Sequence[object]) -> dict[str, Histories]:
    """The models after what each scorer part remembers; without states, after nothing."""
    named = {
        part.name: _histories_after(part, state)
        for part, state in zip(scorers.parts, states or [None] * len(scorers.parts), strict=True)
    }
    if scorers.mixture:
        parts: Sequence[Histories] = list(named.values())
        named = {scorers.parts[0].name: MixedHistories(parts, list(scorers.mixture.values()))}
    if scorers.vocabulary is not None:
        knows = {part.name: known_by(part) for part in scorers.parts}
        named = {
            name: SpelledHistories(each, scorers.vocabulary, is_known=knows[name], name=name)
            if name in scorers.spelled
            else each
            for name, each in named.items()
        }
    if scorers.old_lm is not None:
        named[OLD] = ScorerHistories(scorers.old_lm)
    return named


def _histories_after(part: Scorer, state: object) -> Histories:
    after = getattr(part, "histories", None)  # a run's scorer keeps states at histories
    return ScorerHistories(part, memory=state) if after is None else after(state)
