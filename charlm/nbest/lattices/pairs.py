"""Nodes after histories, while a lattice is searched, and which of a level go on.

Whatever is left out, one whole path stays: a level's best pair, what led to it, and a way on.
"""

from collections.abc import Callable, Mapping, Sequence

from charlm.nbest.lattices.expanded import Answers, ExpandedArc
from charlm.nbest.lattices.histories import History


class Pair:
    """A node after a history."""

    __slots__ = ("arrivals", "came_from", "history", "node", "number", "score")

    def __init__(self, node: int, history: History, score: float) -> None:
        self.node = node
        self.history = history  # of the best arrival
        self.score = score  # of the best arrival, from the start
        self.came_from: Pair | None = None
        self.arrivals: list[tuple[Pair, int, Answers]] = []
        self.number = -1  # −1: left out


def chosen(
    pairs: Sequence[Pair],
    hopes: Sequence[float],
    *,
    beam: float,
    at_most: int,
    is_open: Callable[[Pair], bool],
) -> tuple[int, int, list[Pair]]:
    """How many are within the beam (0: all), how many of those are refused, and who goes on.

    `is_open`: whether paths end at a pair or leave its level.
    """
    if not pairs:
        return 0, 0, []
    # Of equal hopes the later one first: what led to it comes along.
    order = sorted(range(len(pairs)), key=lambda i: (-hopes[i], -i))
    within = [i for i in order if not beam or hopes[i] >= hopes[order[0]] - beam]
    going = {id(pairs[i]) for i in within[:at_most]}
    going.update(map(id, _way_out(pairs[order[0]], pairs, is_open)))
    for pair in reversed(pairs):
        if id(pair) in going and pair.came_from is not None:
            going.add(id(pair.came_from))
    kept = [pair for pair in pairs if id(pair) in going]
    return len(within), max(0, len(within) - at_most), kept


def _way_out(pair: Pair, pairs: Sequence[Pair], is_open: Callable[[Pair], bool]) -> list[Pair]:
    """The pairs of its level that a pair needs to go on."""
    way = []
    while not is_open(pair):
        pair = next(p for p in pairs if any(source is pair for source, _, _ in p.arrivals))
        way.append(pair)
    return way


def useful_nodes(arcs: list[ExpandedArc], ends: Mapping[int, Answers]) -> set[int]:
    """Nodes between the first and an end; arcs lead to higher numbers alone."""
    reached = {0}
    for arc in sorted(arcs, key=lambda arc: arc.target):
        if arc.source in reached:
            reached.add(arc.target)
    ending = set(ends)
    for arc in sorted(arcs, key=lambda arc: -arc.source):
        if arc.target in ending:
            ending.add(arc.source)
    return reached & ending
