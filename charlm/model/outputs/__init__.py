"""Outputs: a context vector and the next word to probabilities. To add one, list its class here."""

from charlm.model.contract import Output
from charlm.model.outputs.hierarchical import HierarchicalSoftmax
from charlm.model.outputs.softmax import Softmax

OUTPUTS: dict[str, type[Output]] = {"softmax": Softmax, "hierarchical": HierarchicalSoftmax}
