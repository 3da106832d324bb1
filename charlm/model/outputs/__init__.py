"""Outputs: context vectors to probabilities of the next word. To add one, list its class here."""

from charlm.model.contract import Output
from charlm.model.outputs.adaptive import AdaptiveSoftmax
from charlm.model.outputs.class_based import ClassSoftmax
from charlm.model.outputs.composed import ComposedSoftmax
from charlm.model.outputs.hierarchical import HierarchicalSoftmax
from charlm.model.outputs.mixture import MixtureOfSoftmaxes
from charlm.model.outputs.softmax import Softmax

OUTPUTS: dict[str, type[Output]] = {
    "softmax": Softmax,
    "composed": ComposedSoftmax,
    "hierarchical": HierarchicalSoftmax,
    "class": ClassSoftmax,
    "adaptive": AdaptiveSoftmax,
    "mixture": MixtureOfSoftmaxes,
}
