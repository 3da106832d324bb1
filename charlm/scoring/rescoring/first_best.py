"""What was best in a lattice before, so that a report can say what rescoring changed.

The search hands paths on in the order of the new scores. HTK's lattices name the scales that they
were decoded with. Kaldi's do not: there it is what the graph score puts first at the scales that
the lattice is written for, with the weight of all language models that speak for a path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import END_WORD, Histories, History, Request
from charlm.nbest.lattices.lattice_options import GRAPH, OLD, REST, LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with

# Without models no history matters: one word of it is the least that the search can do with.
OWN = LatticeOptions(beam=0.0, recombine=1, n_best=1)


def with_first(found: RescoredLattice, models: Mapping[str, Histories]) -> NbestList:
    """The paths of a rescored lattice, what its own scales put first before the others."""
    options = replace(OWN, labels=found.expanded.options.labels, weights=_own_weights(found))
    (own,) = rescore_with([found.lattice], {}, options=options)
    others = found.nbest.hypotheses
    if not own.nbest.hypotheses:
        return found.nbest
    first = own.nbest.hypotheses[0]
    same = [each for each in others if each.words == first.words]
    if not same:
        same = [_asked(first, models, options=found.expanded.options)]
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
    requests: list[Request] = []
    history = History()
    for word in words:
        requests.append((history, word))
        history = history.then(word)
    return [*requests, (history, END_WORD)]
