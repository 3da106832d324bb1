"""A lattice whose nodes have one history each, with the models' scores on each arc.

Nodes are split, never joined: an arc of the lattice may occur here several times, with different
answers after different histories. Nodes are in topological order; the first is the start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from charlm.nbest.hypotheses import NbestList
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import OLD, REST, Weighing, feature_names

Answers = tuple[float, ...]  # log-probabilities in nats, one per model


class ExpandedArc(NamedTuple):
    """An arc between nodes with histories."""

    source: int
    target: int
    arc: int  # which one of the lattice
    answers: Answers


@dataclass(frozen=True)
class ExpandedLattice:
    """The result of a search."""

    lattice: Lattice
    models: tuple[str, ...]
    weighing: Weighing
    statics: tuple[float, ...]  # the score of each arc of the lattice without the models' part
    beam: float  # of the search, as its options have it
    recombine: int
    nodes: tuple[int, ...]  # for each node, the lattice's node that it was split from
    arcs: tuple[ExpandedArc, ...]
    ends: Mapping[int, Answers]  # the final nodes, with the scores of the end of the sentence
    n_merged: int = 0  # arrivals that continue with a history other than their own
    n_pruned: int = 0  # nodes with a history that were left out: far below the best, or too many

    @property
    def is_exact(self) -> bool:
        """Whether every path of the lattice is here with its own score."""
        return not (self.n_merged or self.n_pruned)

    @property
    def is_split(self) -> bool:
        """Whether nodes or arcs are not those of the lattice, one to one."""
        return sorted(self.nodes) != list(range(len(self.lattice.nodes))) or len(self.arcs) != len(
            self.lattice.arcs
        )

    def arc_total(self, arc: ExpandedArc) -> float:
        return self.statics[arc.arc] + dot(self.weighing.models, arc.answers)

    def end_total(self, node: int) -> float:
        own = dot(self.weighing.own, self.lattice.finals[self.nodes[node]])
        return own + dot(self.weighing.models, self.ends[node])

    def features(self, own: tuple[float, ...], answers: Answers) -> dict[str, float]:
        """The features of a path by name: the sums of the lattice's own and of the models'."""
        names = feature_names(self.lattice, self.models)
        found = dict(zip(names, (*own, *answers), strict=True))
        if REST in found:
            found[REST] -= answers[self.models.index(OLD)]
        return found


@dataclass(frozen=True)
class RescoredLattice:
    """A rescored lattice and its best hypotheses, each with the score of its own history."""

    expanded: ExpandedLattice
    nbest: NbestList
    totals: tuple[float, ...]  # Σ weight·feature of each hypothesis, falling

    @property
    def lattice(self) -> Lattice:
        return self.expanded.lattice


def dot(weights: tuple[float, ...], values: tuple[float, ...]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
