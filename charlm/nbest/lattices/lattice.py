"""A lattice of any format: nodes, arcs with words, and features in nats.

Nodes are numbered as they occur in the file, in no particular order; `order` is topological. Nodes
and arcs on no path from the start to an end are in the lattice but in no hypothesis.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from charlm.errors import DataError


class Arc(NamedTuple):
    """A word, or nothing, between two nodes."""

    source: int
    target: int
    word: str  # as in the file, after applying a symbol table
    values: tuple[float, ...]  # of the lattice's features, in nats, larger is better


@dataclass(frozen=True)
class Lattice:
    """The lattice of one utterance."""

    id: str
    place: str  # FILE:LINE of its beginning, for messages
    names: tuple[str, ...]  # of the features
    nodes: tuple[str, ...]  # what the file calls each node
    start: int
    arcs: tuple[Arc, ...]
    finals: Mapping[int, tuple[float, ...]]  # features of ending there
    scales: Mapping[str, float] = field(default_factory=dict)  # weights it was decoded with
    original: object = None  # what the format's own writer needs to restore it

    def __post_init__(self) -> None:
        """Raises DataError for a lattice without a path, or with a cycle."""
        _ = self.order

    @cached_property
    def arcs_of(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the arcs that leave each node, in the file's order."""
        return _grouped((arc.source for arc in self.arcs), len(self.nodes))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes on paths from the start to an end, in topological order."""
        onward = [[self.arcs[a].target for a in arcs] for arcs in self.arcs_of]
        into = _grouped((arc.target for arc in self.arcs), len(self.nodes))
        back = [[self.arcs[a].source for a in arcs] for arcs in into]
        useful = _reached(onward, [self.start]) & _reached(back, self.finals)
        if not useful:
            raise DataError(
                f"{self.place}: utterance {self.id!r:.80}: no final state can be reached from the "
                "start; expected at least one whole path; decode it again or take it out"
            )
        before = {node: useful.intersection(back[node]) for node in sorted(useful)}
        try:
            return tuple(TopologicalSorter(before).static_order())
        except CycleError as error:
            culprit = self.nodes[error.args[1][0]]
            raise DataError(
                f"{self.place}: utterance {self.id!r:.80}: a cycle through node {culprit}; "
                "expected a lattice without cycles"
            ) from None

    @property
    def n_useless(self) -> int:
        """Nodes on no path from the start to an end."""
        return len(self.nodes) - len(self.order)


def _grouped(nodes: Iterable[int], n_nodes: int) -> tuple[tuple[int, ...], ...]:
    groups: list[list[int]] = [[] for _ in range(n_nodes)]
    for number, node in enumerate(nodes):
        groups[node].append(number)
    return tuple(map(tuple, groups))


def _reached(onward: Sequence[Sequence[int]], begins: Iterable[int]) -> set[int]:
    seen = set(begins)
    stack = list(seen)
    while stack:
        fresh = [node for node in onward[stack.pop()] if node not in seen]
        seen.update(fresh)
        stack.extend(fresh)
    return seen
