"""What was best in a lattice before, so that a report can say what rescoring changed.

The search hands paths on in the order of the new scores. HTK's lattices name the scales that they
were decoded with. Kaldi's do not: there it is what the graph score puts first when it has the
weight of all language models together, beside the same acoustic weight.
"""

from collections.abc import Mapping
from dataclasses import replace

from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import END_WORD, Histories, History, Request
from charlm.nbest.lattices.options import GRAPH, OLD, REST, LatticeOptions
from charlm.nbest.lattices.rescoring import rescore_with

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
    return {"am": am, GRAPH: weighing.language}


def _asked(
    hypothesis: Hypothesis, models: Mapping[str, Histories], *, options: LatticeOptions
) -> Hypothesis:
    """The hypothesis with what the models make of it."""
    read = [word for word in hypothesis.words if options.is_read(word)]
    requests: list[Request] = []
    history = History()
    for token in (token for word in read for token in options.tokens(word)):
        requests.append((history, token))
        history = history.then(token)
    requests.append((history, END_WORD))
    features = dict(hypothesis.features)
    for name, model in models.items():
        features[name] = float(model.log_probs(requests).sum())
    if OLD in models:
        features[REST] = features.pop(GRAPH) - features[OLD]
    return replace(hypothesis, features=features)
