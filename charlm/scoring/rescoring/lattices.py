"""Lattices as a format of lists: reading one searches it, and its list holds the best paths.

The models are asked while a lattice is searched, so that its hypotheses come with their scores, and
nothing is left to do but to weigh them again. Each lattice has scales of its own, which are its
weights unless the user says others. With a memory each is searched after the path that was chosen
of the one before it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from charlm.errors import ConfigError
from charlm.nbest.format import Format, Piece, Sample, Source
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.lattices.best_paths import best_paths
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import (
    Histories,
    History,
    MixedHistories,
    Request,
    ScorerHistories,
)
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import GRAPH, OLD, REST, LatticeOptions
from charlm.nbest.lattices.lattice_reading import read_lattices
from charlm.nbest.lattices.lattice_writing import decoder_scales, rescored_text
from charlm.nbest.lattices.new_scores import require_acoustic
from charlm.nbest.lattices.rescore import LATTICES_AT_ONCE, rescore_with
from charlm.nbest.policies import only
from charlm.nbest.scorer import Scorer
from charlm.nbest.scorers import LogProbs
from charlm.scoring.rescoring.hypothesis_text import Known
from charlm.scoring.rescoring.pipeline import RecordingMemory
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, known_by
from charlm.text.corpus.tokens import END_WORD
from charlm.text.io.lines import split_words

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

# Without models no history matters: one word of it is the least that the search can do with.
OWN = LatticeOptions(beam=0.0, recombine=1, n_best=1)


@dataclass
class LatticeCounts:
    """What the search did to the lattices so far."""

    n_exact: int = 0  # in which every path kept its own history
    n_merged: int = 0  # arrivals that went on with another history than their own
    n_pruned: int = 0  # nodes with a history that were left out
    n_useless: int = 0  # nodes that no path to the end goes through
    n_misjudged: int = 0  # of those written: merged histories put another path first than its own
    # At what a decoder finds the best paths in what was written; empty where nothing was.
    scales: dict[str, float] = field(default_factory=dict)

    def count(self, found: RescoredLattice) -> None:
        """One lattice more."""
        expanded = found.expanded
        self.n_exact += expanded.is_exact
        self.n_merged += expanded.n_merged
        self.n_pruned += expanded.n_pruned + expanded.n_refused
        self.n_useless += found.lattice.n_useless

    def add(self, other: "LatticeCounts") -> None:
        """What the search did to others."""
        for name, count in vars(other).items():
            if name.startswith("n_"):
                setattr(self, name, getattr(self, name) + count)

    def to_dict(self) -> dict[str, object]:
        return dict(vars(self))


@dataclass
class LatticeLists(Format):
    """Lattices that are searched when they are read."""

    name: ClassVar[str] = "lattice"

    form: str  # of lattices
    scorers: Scorers
    options: LatticeOptions
    at_once: int = LATTICES_AT_ONCE
    words_txt: str | Path | None = None
    memory: RecordingMemory | None = None  # of the parts of the scorers; None: each on its own
    counts: LatticeCounts = field(default_factory=LatticeCounts)

    def claims(self, sample: Sample) -> bool:
        """Nothing: lattices are told apart before lists are looked at."""
        return False

    def read(self, source: Source) -> Iterator[NbestList]:
        """What was best in each lattice as it came, and the best paths now, the best first.

        Raises:
            ConfigError: columns, further files or a length penalty.
        """
        only(source, self.form)
        lattices = read_lattices(source, form=self.form, words_txt=self.words_txt)
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

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """The expanded lattices with their new scores.

        Raises:
            ConfigError: weights that no scales of a decoder say.
            DataError: a lattice that cannot hold the scores.
        """
        said = {**self.options.weights, **self.options.overrides}
        if self.options.weights or "am" in said:  # else each lattice says it, when it was searched
            require_acoustic(said, place=self.form)
        for item in lists:
            found = lattice_of(item.nbest)
            self.counts.scales = decoder_scales(found)
            self.counts.n_misjudged += _is_misjudged(found, item)
            yield rescored_text(found)


def lattice_lists(
    form: str,
    scorers: Scorers,
    *,
    options: LatticeOptions,
    at_once: int = LATTICES_AT_ONCE,
    words_txt: str | Path | None = None,
    memory: RecordingMemory | None = None,
) -> LatticeLists:
    """Lattices of a format as lists, searched with `options`; words are read as the scorers do.

    Raises:
        ConfigError: models that are not to be asked in fp32.
    """
    if scorers.adaptation:
        raise ConfigError(
            "--adapt: lattices are searched by models that stay as they are; expected lists, which "
            "--write nbest makes of lattices; drop --adapt"
        )
    for scorer in scorers.neural:
        if scorer.precision != "fp32":
            raise ConfigError(
                f"--precision {scorer.precision}: lattices are searched in fp32; expected that"
            )
    options = replace(options, tokens=_tokens_of(scorers), is_known=scorers.is_known)
    return LatticeLists(form, scorers, options, at_once, words_txt, memory)


def lattice_of(nbest: NbestList) -> RescoredLattice:
    """The lattice whose best paths a list holds."""
    assert isinstance(nbest.original, RescoredLattice)
    return nbest.original


def _is_misjudged(found: RescoredLattice, item: Rescored) -> bool:
    """Whether a lattice's merged histories put another path first than the one that was chosen."""
    if not found.expanded.n_merged:
        return False
    (first,) = best_paths(found.expanded, 1)
    return first.words != item.best.words


def _with_first(
    found: RescoredLattice, models: Mapping[str, Histories], *, options: LatticeOptions
) -> NbestList:
    """The paths of a rescored lattice, what was best before it in front of them, for reports.

    The search hands paths on in the order of the new scores. HTK's lattices name the scales that
    they were decoded with. Kaldi's do not: there it is what the graph score puts first at the
    scales that the lattice is written for, with the weight of all language models that speak for a
    path.
    """
    own_options = replace(OWN, weights=_own_weights(found))
    (own,) = rescore_with([found.lattice], {}, options=own_options)
    others = found.nbest.hypotheses
    if not own.nbest.hypotheses:
        return found.nbest
    first = own.nbest.hypotheses[0]
    same = [each for each in others if each.words == first.words]
    if not same:
        same = [_asked(first, models, options=options)]
    rest = [each for each in others if each.words != first.words]
    return replace(found.nbest, hypotheses=(*same, *rest))


def _own_weights(found: RescoredLattice) -> dict[str, float]:
    """None where the lattice has scales of its own."""
    weighing = found.expanded.weighing
    am = weighing.weights.get("am", 0.0)
    if GRAPH not in found.lattice.names or not am:
        return {}
    return {"am": am, GRAPH: weighing.scale}


def _asked(
    hypothesis: Hypothesis, models: Mapping[str, Histories], *, options: LatticeOptions
) -> Hypothesis:
    """The hypothesis with what the models make of it."""
    read = [token for word in hypothesis.words for token in options.read(word)]
    features = dict(hypothesis.features)
    for name, model in models.items():
        requests = _requests(hypothesis.words if name == OLD else read)
        features[name] = float(model.log_probs(requests).sum())
    if OLD in models:
        features[REST] = features.pop(GRAPH) - features[OLD]
    return replace(hypothesis, features=features)


def _requests(words: Sequence[str]) -> list[Request]:
    """Each word after those before it, and the end."""
    histories = accumulate(words, History.then, initial=History())
    return list(zip(histories, [*words, END_WORD], strict=True))


class SpelledHistories:
    """A model whose unknown words have a probability of their own, as `OpenScorer` gives it."""

    def __init__(
        self, histories: Histories, vocabulary: "OpenVocabulary", *, is_known: Known, name: str
    ) -> None:
        """`is_known`: whether the model `name`, whose histories these are, has a word."""
        self.histories = histories
        self.vocabulary = vocabulary
        self.is_known = is_known
        self.name = name

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        """As the protocol of histories says.

        Raises:
            ConfigError: as `OpenScorer.score`.
        """
        words = [word for _, word in requests]
        known = [word == END_WORD or self.is_known(word) for word in words]
        return self.histories.log_probs(requests) + self.vocabulary.spelled(
            words, known, name=self.name
        )

    def keep(self, histories: Iterable[History]) -> None:
        """As the protocol of histories says."""
        self.histories.keep(histories)


def _histories(scorers: Scorers, states: Sequence[object]) -> dict[str, Histories]:
    """The models after what each part of the scorers remembers; no states: after nothing."""
    named = {
        part.name: _history_of(part, state)
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


def _history_of(part: Scorer, state: object) -> Histories:
    after = getattr(part, "histories", None)  # of a run's: it keeps states at histories
    return ScorerHistories(part, memory=state) if after is None else after(state)


def _tokens_of(scorers: Scorers) -> Callable[[str], Sequence[str]]:
    rules = scorers.normalisation
    if rules is not None and rules.reads_phrases:
        raise ConfigError(
            "--map: found a rule of several words; expected rules of one, as lattices are read "
            "word by word; write lists of their paths (--write nbest) and score these"
        )

    @cache
    def tokens(word: str) -> tuple[str, ...]:
        return (word,) if rules is None else tuple(split_words(rules(word)))

    return tokens
