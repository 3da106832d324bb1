"""Which trainings a CUDA graph can hold: those whose kernels do not depend on any number.

A part is listed here once its code has been read through. What is not listed reads numbers back
(lengths of forms, clusters of words, places without a word), and its steps are made as on the CPU.
"""

from typing import TYPE_CHECKING

from torch import optim

from charlm.model.contexts.deep_transition import DeepTransition
from charlm.model.contexts.ffnn import FeedForward
from charlm.model.contexts.gru import GRU
from charlm.model.contexts.log_bilinear import LogBilinear
from charlm.model.contexts.lstm import LSTM
from charlm.model.contexts.mut import MUT1, MUT2, MUT3
from charlm.model.contexts.rnn import RNN
from charlm.model.contract import Context, Encoder, Output, state_leaves
from charlm.model.encoders.add import AddEncoder
from charlm.model.encoders.average import AverageEncoder
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.concat import ConcatEncoder
from charlm.model.encoders.convex import ConvexEncoder
from charlm.model.encoders.gate import GateEncoder
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.encoders.mlp import MLPEncoder
from charlm.model.encoders.project import ProjectEncoder
from charlm.model.encoders.tensor import TensorEncoder
from charlm.model.encoders.type_dropout import TypeDropout
from charlm.model.encoders.word import WordLookup
from charlm.model.outputs.composed import ComposedSoftmax
from charlm.model.outputs.mixture import MixtureOfSoftmaxes
from charlm.model.outputs.softmax import Softmax
from charlm.training.recipe.batching import StreamBatching
from charlm.training.recipe.criteria import CrossEntropy, SelfNormalised

if TYPE_CHECKING:
    from charlm.training.loop.trainer import Trainer

PARTS: set[type] = {
    *(WordLookup, CharCNN, HighwayEncoder, MLPEncoder, ProjectEncoder, TypeDropout),
    *(AddEncoder, AverageEncoder, ConcatEncoder, ConvexEncoder, GateEncoder, TensorEncoder),
    *(LSTM, GRU, RNN, DeepTransition, MUT1, MUT2, MUT3, FeedForward, LogBilinear),
    *(Softmax, ComposedSoftmax, MixtureOfSoftmaxes),
}
CRITERIA: set[type] = {CrossEntropy, SelfNormalised}  # the others draw words on the host
OPTIMISERS = (optim.SGD, optim.Adam)  # fused, with a rate that is a tensor; AdamW is an Adam


def is_capturable(trainer: "Trainer") -> bool:
    """Whether all steps but those of rare shapes may be recorded."""
    recipe, batching = trainer.recipe, trainer.recipe.batching
    parts = (p for p in trainer.model.modules() if isinstance(p, Encoder | Context | Output))
    # A learned start has a gradient, which no carried state has.
    starts = state_leaves(trainer.model.context.initial_state(1))
    return (
        trainer.ranks.size == 1
        and isinstance(batching, StreamBatching)
        and not batching.reset
        and type(recipe.criterion) in CRITERIA
        and isinstance(trainer.optimiser, OPTIMISERS)
        and all(type(part) in PARTS for part in parts)
        and not any(leaf.requires_grad for leaf in starts)
    )


def prepare_optimiser(optimiser: optim.Optimizer) -> None:
    """Let it take a rate that is a tensor, and keep all it knows on the device."""
    for group in optimiser.param_groups:
        group.update(foreach=False, fused=True, capturable=True)
