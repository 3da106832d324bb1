"""Expanding a lattice over nodes and histories, level by level, with a beam and recombination.

A node's level is the largest number of words before it, so the models are asked for a level at
once. The search is a generator of its requests, so that its caller can combine those of several
lattices. Pruning always leaves one whole path: a level's best pair, what led to it, and a way on
from it.
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from charlm.nbest.lattices.expanded import Answers, ExpandedArc, ExpandedLattice, dot
from charlm.nbest.lattices.histories import History, Request
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import GRAPH, OLD, LatticeOptions, weighing
from charlm.nbest.scorers import LogProbs
from charlm.text.corpus.normalisation.labels import is_silent
from charlm.text.corpus.tokens import END_WORD

TYPICAL_LOG_PROB = -6.0  # nats of a future word, if the lattice has no language scores


class RequestBatch(NamedTuple):
    """The requests of a search, and the histories that it may go on from later."""

    requests: list[Request]  # each once
    live: list[History]


@dataclass(slots=True, eq=False)
class Pair:
    """A node after a history."""

    node: int
    history: History  # of the best arrival
    score: float  # of the best arrival, from the start
    came_from: "Pair | None" = None
    arrivals: "list[tuple[Pair, int, Answers]]" = field(default_factory=list)
    number: int = -1  # −1: left out


@dataclass(slots=True)
class _Move:
    """An arc with words after a history, which is scored token by token."""

    pair: Pair
    arc: int
    history: History
    answers: Answers


def expand(
    lattice: Lattice, models: Sequence[str], *, options: LatticeOptions, root: History
) -> Generator[RequestBatch, LogProbs, ExpandedLattice]:
    """The expanded lattice; answers to a batch have a row per request and a column per model.

    Raises:
        ConfigError: weights that do not fit the lattice.
    """
    search = _Search(lattice, tuple(models), options, root=root)
    for level, nodes in enumerate(search.levels):
        pairs = search.prune(search.gather(nodes, level))
        yield from search.extend(pairs, level)
    return search.result()


class _Search:
    """The pairs of one lattice, and the steps of its search."""

    def __init__(
        self, lattice: Lattice, models: tuple[str, ...], options: LatticeOptions, *, root: History
    ) -> None:
        self.lattice = lattice
        self.models = models
        self.options = options
        self.weighing = weighing(lattice, models, options=options)
        self.statics = self._statics()
        self.tokens = self._tokens()
        self.level_of, self.levels = self._levels()
        self.ahead = self._ahead()
        # What no model tells apart is merged without a loss.
        self.loses = not 0 < options.context <= options.recombine
        self.n_words = options.recombine if self.loses else options.context
        self.nothing: Answers = (0.0,) * len(models)
        start = Pair(lattice.start, root, 0.0)
        self.pending: dict[int, dict[object, Pair]] = {lattice.start: {None: start}}
        self.kept: list[Pair] = []
        self.ends: dict[int, Answers] = {}
        self.n_merged = self.n_pruned = 0

    def _statics(self) -> tuple[float, ...]:
        """The score of each arc without the models' part: its own features, and counts of words."""
        for_words, for_unknown = self.weighing.counts
        counts = {}
        for label in {arc.word for arc in self.lattice.arcs}:
            n_words, n_unknown = not is_silent(label), self.options.n_unknown(label)
            counts[label] = for_words * n_words + for_unknown * n_unknown
        return tuple(dot(self.weighing.own, a.values) + counts[a.word] for a in self.lattice.arcs)

    def _tokens(self) -> list[tuple[str, ...]]:
        """What each arc adds to histories; nothing where there is no model."""
        words = [arc.word for arc in self.lattice.arcs]
        read = {word: self.options.steps(word) if self.models else () for word in set(words)}
        return [read[word] for word in words]

    def _levels(self) -> tuple[dict[int, int], list[list[int]]]:
        lattice = self.lattice
        level_of = dict.fromkeys(lattice.order, 0)
        for node in lattice.order:
            for number in lattice.arcs_of[node]:
                target = lattice.arcs[number].target
                if target in level_of:
                    step = 1 if self.tokens[number] else 0
                    level_of[target] = max(level_of[target], level_of[node] + step)
        levels: list[list[int]] = [[] for _ in range(max(level_of.values()) + 1)]
        for node in lattice.order:
            levels[level_of[node]].append(node)
        return level_of, levels

    def _ahead(self) -> dict[int, float]:
        """The best score from each node to an end, the old model standing in for the new ones."""
        lattice, weight = self.lattice, sum(self.weighing.models)
        old = lattice.names.index(GRAPH if GRAPH in lattice.names else OLD)
        knows = any(arc.values[old] for arc in lattice.arcs)

        def stand_in(values: tuple[float, ...], n_tokens: int) -> float:
            return weight * (values[old] if knows else n_tokens * TYPICAL_LOG_PROB)

        ahead: dict[int, float] = {}
        for node in reversed(lattice.order):
            best = []
            if node in lattice.finals:
                values = lattice.finals[node]
                best.append(dot(self.weighing.own, values) + stand_in(values, 1))
            for number in lattice.arcs_of[node]:
                arc = lattice.arcs[number]
                if arc.target in ahead:
                    n_tokens = len(self.tokens[number])
                    future = stand_in(arc.values, n_tokens) if n_tokens else 0.0
                    best.append(self.statics[number] + future + ahead[arc.target])
            ahead[node] = max(best)
        return ahead

    def gather(self, nodes: list[int], level: int) -> list[Pair]:
        """The pairs of a level, including those after arcs without words."""
        pairs = []
        for node in nodes:
            own = list(self.pending.pop(node, {}).values())
            pairs += own
            for number in self._silent_arcs(node):
                if self.level_of[self.lattice.arcs[number].target] == level:
                    for pair in own:
                        self._arrive(pair, number, pair.history, self.nothing)
        return pairs

    def _silent_arcs(self, node: int) -> list[int]:
        arcs = self.lattice.arcs
        return [
            number
            for number in self.lattice.arcs_of[node]
            if not self.tokens[number] and arcs[number].target in self.level_of
        ]

    def _arrive(self, pair: Pair, number: int, history: History, answers: Answers) -> None:
        node = self.lattice.arcs[number].target
        score = pair.score + self.statics[number] + dot(self.weighing.models, answers)
        key: object = history.tail(self.n_words) if self.n_words else history
        known = self.pending.setdefault(node, {})
        target = known.get(key)
        if target is None:
            target = known[key] = Pair(node, history, score, pair)
        else:
            self.n_merged += self.loses and target.history is not history
            if score > target.score:
                target.history, target.score, target.came_from = history, score, pair
        target.arrivals.append((pair, number, answers))

    def prune(self, pairs: list[Pair]) -> list[Pair]:
        """The best pairs of a level within the beam, and those that whole paths through them need.

        They stay in their order.
        """
        if not pairs:
            return []
        hopes = [pair.score + self.ahead[pair.node] for pair in pairs]
        # Of equal hopes the later one comes first, since what led to it is kept with it.
        order = sorted(range(len(pairs)), key=lambda i: (-hopes[i], -i))
        beam = self.options.beam * self.weighing.language
        least = hopes[order[0]] - beam if beam else -math.inf
        going = {pairs[i] for i in order[: self.options.max_pairs] if hopes[i] >= least}
        going.update(self._path_out(pairs[order[0]], pairs))
        for pair in reversed(pairs):
            if pair in going and pair.came_from is not None:
                going.add(pair.came_from)
        kept = [pair for pair in pairs if pair in going]
        self.n_pruned += len(pairs) - len(kept)
        for number, pair in enumerate(kept, len(self.kept)):
            pair.number = number
        self.kept += kept
        return kept

    def _path_out(self, pair: Pair, pairs: list[Pair]) -> Iterator[Pair]:
        """The pairs from a pair on to one of its level where paths end or leave the level."""
        while not self._is_open(pair):
            pair = next(p for p in pairs if any(source is pair for source, _, _ in p.arrivals))
            yield pair

    def _is_open(self, pair: Pair) -> bool:
        """Whether paths end here or go on to a later level."""
        if pair.node in self.lattice.finals:
            return True
        level, arcs = self.level_of[pair.node], self.lattice.arcs_of[pair.node]
        return any(self.level_of.get(self.lattice.arcs[a].target, -1) > level for a in arcs)

    def extend(self, pairs: list[Pair], level: int) -> Generator[RequestBatch, LogProbs, None]:
        """Score the words after a level's pairs, and add the pairs of later levels they lead to."""
        moves = [
            _Move(pair, number, pair.history, self.nothing)
            for pair in pairs
            for number in self.lattice.arcs_of[pair.node]
            if self.tokens[number] and self.lattice.arcs[number].target in self.level_of
        ]
        final = [pair for pair in pairs if pair.node in self.lattice.finals]
        live = [pair.history for pair in pairs]
        live += [pair.history for known in self.pending.values() for pair in known.values()]
        ending = [(pair.history, END_WORD) for pair in final] if self.models else []
        asking = moves
        for step in range(max((len(self.tokens[move.arc]) for move in moves), default=1)):
            asking = [move for move in asking if len(self.tokens[move.arc]) > step]
            wanted = [(move.history, self.tokens[move.arc][step]) for move in asking]
            found = yield from answers_to([*wanted, *ending], live)
            for move, (history, token), answers in zip(asking, wanted, found, strict=False):
                move.answers = tuple(map(sum, zip(move.answers, answers, strict=True)))
                move.history = history.then(token)
            if not step:
                own = found[len(wanted) :] if ending else [()] * len(final)
                self.ends.update((pair.number, end) for pair, end in zip(final, own, strict=True))
                ending = []
        for move in moves:
            self._arrive(move.pair, move.arc, move.history, move.answers)
        for pair in pairs:
            for number in self._silent_arcs(pair.node):
                if self.level_of[self.lattice.arcs[number].target] > level:
                    self._arrive(pair, number, pair.history, self.nothing)

    def result(self) -> ExpandedLattice:
        """The expanded lattice: what lies on whole paths."""
        arcs = [
            ExpandedArc(source.number, pair.number, number, answers)
            for pair in self.kept
            for source, number, answers in pair.arrivals
        ]
        useful = useful_nodes(arcs, self.ends)
        renamed = {number: new for new, number in enumerate(sorted(useful))}
        arcs.sort(key=lambda arc: arc[:3])
        return ExpandedLattice(
            lattice=self.lattice,
            models=self.models,
            weighing=self.weighing,
            statics=self.statics,
            beam=self.options.beam,
            recombine=self.options.recombine,
            nodes=tuple(self.kept[number].node for number in renamed),
            arcs=tuple(
                ExpandedArc(renamed[arc.source], renamed[arc.target], arc.arc, arc.answers)
                for arc in arcs
                if arc.source in useful and arc.target in useful
            ),
            ends={renamed[node]: end for node, end in self.ends.items() if node in useful},
            n_merged=self.n_merged,
            n_pruned=self.n_pruned,
        )


def answers_to(
    requests: list[Request], live: list[History]
) -> Generator[RequestBatch, LogProbs, list[Answers]]:
    """The answers to requests, each asked once."""
    if not requests:
        return []
    rows = {request: row for row, request in enumerate(dict.fromkeys(requests))}
    answers = yield RequestBatch(list(rows), live)
    found: list[Answers] = [tuple(row) for row in answers.tolist()]
    return [found[rows[request]] for request in requests]


def useful_nodes(arcs: list[ExpandedArc], ends: Mapping[int, Answers]) -> set[int]:
    """Nodes on paths from the first to an end; arcs lead only to higher numbers."""
    reached = {0}
    for arc in sorted(arcs, key=lambda arc: arc.target):
        if arc.source in reached:
            reached.add(arc.target)
    ending = set(ends)
    for arc in sorted(arcs, key=lambda arc: -arc.source):
        if arc.target in ending:
            ending.add(arc.source)
    return reached & ending
