"""The best paths through an expanded lattice, each sequence of words once.

A* search with the exact best future: paths come out in the order of their totals. Two paths that
reach a node with the same words are one from there on, so that pauses and pronunciations cost no
time.
"""

import heapq
from itertools import count
from typing import NamedTuple

from charlm.nbest.lattices.expanded import Answers, ExpandedArc, ExpandedLattice
from charlm.nbest.lattices.histories import History
from charlm.text.corpus.normalisation.labels import is_silent

THE_END = -1


class BestPath(NamedTuple):
    """A path, its words and its scores."""

    words: tuple[str, ...]  # noise included
    arcs: tuple[int, ...]  # of the lattice
    total: float
    own: tuple[float, ...]  # the lattice's features, its end included
    answers: Answers  # of the models, the end of the sentence included


class _Step(NamedTuple):
    before: "_Step | None"
    arc: int


def best_paths(expanded: ExpandedLattice, n_paths: int) -> list[BestPath]:
    """The `n_paths` best, or as many as there are, the best first."""
    future, leaving = _futures(expanded)
    totals = [expanded.arc_total(arc) for arc in expanded.arcs]
    arcs = expanded.lattice.arcs
    number = count()  # of paths with equal totals, the one found first comes first
    # Negated best total of the whole path, number, total so far, node, words, last step.
    heap: list[tuple[float, int, float, int, History, _Step | None]] = [
        (-future[0], next(number), 0.0, 0, History(), None)
    ]
    seen: set[tuple[int, History]] = set()
    found: list[BestPath] = []
    while heap and len(found) < n_paths:
        _, _, total, node, text, step = heapq.heappop(heap)
        if (node, text) in seen:
            continue
        seen.add((node, text))
        if node == THE_END:
            found.append(_path(expanded, text, step, total))
            continue
        if node in expanded.ends:
            ended = total + expanded.end_total(node)
            heapq.heappush(heap, (-ended, next(number), ended, THE_END, text, step))
        for which in leaving[node]:
            arc = expanded.arcs[which]
            word = arcs[arc.arc].word
            longer = text if is_silent(word) else text.then(word)
            onward = total + totals[which]
            hope = -(onward + future[arc.target])
            following = _Step(step, which)
            heapq.heappush(heap, (hope, next(number), onward, arc.target, longer, following))
    return found


def _futures(expanded: ExpandedLattice) -> tuple[list[float], list[list[int]]]:
    """The best total from each node to the end, and the arcs that leave it."""
    future = [float("-inf")] * len(expanded.nodes)
    for node in expanded.ends:
        future[node] = expanded.end_total(node)
    leaving: list[list[int]] = [[] for _ in expanded.nodes]
    for number, arc in enumerate(expanded.arcs):
        leaving[arc.source].append(number)
    for node in reversed(range(len(expanded.nodes))):
        for number in leaving[node]:
            arc = expanded.arcs[number]
            future[node] = max(future[node], expanded.arc_total(arc) + future[arc.target])
    return future, leaving


def _path(expanded: ExpandedLattice, text: History, step: _Step | None, total: float) -> BestPath:
    lattice = expanded.lattice
    arcs: list[ExpandedArc] = []
    while step is not None:
        arcs.append(expanded.arcs[step.arc])
        step = step.before
    arcs.reverse()
    last = arcs[-1].target if arcs else 0
    own = [lattice.arcs[arc.arc].values for arc in arcs]
    own.append(lattice.finals[expanded.nodes[last]])
    answers = [*(arc.answers for arc in arcs), expanded.ends[last]]
    return BestPath(
        words=tuple(text.words),
        arcs=tuple(arc.arc for arc in arcs),
        total=total,
        own=tuple(map(sum, zip(*own, strict=True))),
        answers=tuple(map(sum, zip(*answers, strict=True))),
    )
