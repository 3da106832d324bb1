"""The language scores of a written lattice, with which a decoder finds the same best path.

A decoder adds up two scores: the acoustic score, which stays as it was, and the language score.
With T = Σ weight·feature of an arc or an end, the language score is T without its acoustic part:
every model and every count of words is in it once, including those with weights of 0 and below.
"""

from collections.abc import Mapping

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import LARGEST
from charlm.nbest.lattices.expanded import ExpandedArc, ExpandedLattice


def require_acoustic(weights: Mapping[str, float], *, place: str) -> float:
    """The weight of the acoustic scores.

    Raises:
        ConfigError: none above 0.
    """
    weight = weights.get("am", 0.0)
    if not weight > 0:
        raise ConfigError(
            f"{place}: the weight of am is {weight:g}; expected more than 0 for lattices that are "
            "written, since decoders divide by it; give --weight am=NUMBER, or --write nbest"
        )
    return weight


class NewScores:
    """The language scores of a rescored lattice's arcs and ends, in nats."""

    def __init__(self, expanded: ExpandedLattice) -> None:
        self.expanded = expanded
        self.place = expanded.lattice.place
        self.am = require_acoustic(expanded.weighing.weights, place=self.place)
        self._column = expanded.lattice.names.index("am")

    def of_arc(self, arc: ExpandedArc) -> float:
        values = self.expanded.lattice.arcs[arc.arc].values
        return self._beside(self.expanded.arc_total(arc), values)

    def of_end(self, node: int) -> float:
        values = self.expanded.lattice.finals[self.expanded.nodes[node]]
        return self._beside(self.expanded.end_total(node), values)

    def _beside(self, total: float, values: tuple[float, ...]) -> float:
        return total - self.am * values[self._column]

    def text(self, score: float) -> str:
        """A score as it is written: nine digits tell any two 32-bit numbers apart.

        Raises:
            ConfigError: a score that no reader would accept.
        """
        if not abs(score) < LARGEST:  # readers of lattices, including ours, accept no more
            raise ConfigError(
                f"{self.place}: a language score of {score:.3g} is to be written; expected less "
                "than 1e30; give weights that lie nearer to each other"
            )
        return f"{score + 0.0:.9g}"  # no minus before a zero
