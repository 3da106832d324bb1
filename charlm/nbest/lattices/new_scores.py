"""What becomes of the language model's score of an arc when a rescored lattice is written.

The old and the new models' scores are averaged by their weights, or the new ones take the old one's
place. Kaldi keeps transitions and lexicon in the same number: unless an old model was taken out of
it, nothing can take its place.
"""

from typing import Literal

from charlm.errors import ConfigError
from charlm.nbest.lattices.expanded import Answers, ExpandedLattice
from charlm.nbest.lattices.options import GRAPH, OLD

Keeping = Literal["auto", "field", "replace", "mix"]
KEEPINGS = ("auto", "field", "replace", "mix")


class NewScores:
    """The scores of a rescored lattice's arcs and ends, in nats."""

    def __init__(self, expanded: ExpandedLattice, keeping: Keeping) -> None:
        """
        Raises:
            ConfigError: a way to keep them that the lattice has no place for.
        """
        self.expanded = expanded
        self.keeping = _chosen(expanded, keeping)
        models, weights = expanded.models, expanded.weighing.weights
        self._new = [i for i, name in enumerate(models) if name != OLD]
        self._weights = [weights.get(models[i], 0.0) for i in self._new]
        if not any(self._weights):
            self._weights = [1.0] * len(self._new)
        self._old = models.index(OLD) if OLD in models else -1
        names = expanded.lattice.names
        self._own = names.index(GRAPH if GRAPH in names else OLD)
        old = OLD if self._old >= 0 or OLD in names else GRAPH
        self._old_weight = weights.get(old, 0.0)

    def new(self, answers: Answers) -> float:
        """The mean of the new models alone."""
        total = sum(self._weights)
        pairs = zip(self._weights, self._new, strict=True)
        return sum(weight * answers[i] for weight, i in pairs) / total if total else 0.0

    def score(self, values: Answers, answers: Answers) -> float:
        """What stands where the old score stood."""
        value = values[self._own]
        if not self._new or self.keeping == "field":
            return value
        rest = value - answers[self._old] if self._old >= 0 else 0.0
        new = self.new(answers)
        if self.keeping == "replace":
            return rest + new
        old = answers[self._old] if self._old >= 0 else value
        n_new, n_old = sum(self._weights), self._old_weight
        return rest + (n_old * old + n_new * new) / (n_old + n_new)


def _chosen(expanded: ExpandedLattice, keeping: Keeping) -> Keeping:
    is_kaldi = GRAPH in expanded.lattice.names
    if keeping not in KEEPINGS:
        raise ConfigError(f"lattice score {keeping!r:.40}: expected one of {', '.join(KEEPINGS)}")
    if not is_kaldi:
        return "field" if keeping == "auto" else keeping
    if keeping == "field":
        raise ConfigError(
            f"{expanded.lattice.place}: Kaldi's lattices have no place for one more score; "
            "expected mix or replace"
        )
    if keeping == "replace" and OLD not in expanded.models:
        raise ConfigError(
            f"{expanded.lattice.place}: Kaldi's graph score is language model, transitions and "
            "lexicon together; expected --old-lm ARPA to take the old model out of it, or mix"
        )
    return "mix" if keeping == "auto" else keeping
