"""The floating-point operations that a model needs, counted from shapes; a multiply-add is two.

Only matrix products count, and each form of a chunk once: what a path computes beyond that, for
padding or repeated forms, earns it nothing. A training step takes three times its forward pass.
"""

from itertools import pairwise

import torch

from charlm.model.contexts.lstm import LSTM
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.forms import Forms
from charlm.model.language_model import LanguageModel
from charlm.model.outputs.softmax import Softmax
from charlm.text.vocabulary.vocabulary import PAD

TRAINING = 3  # forward, and one product of that size for each of its two operands


def forward_flops(model: LanguageModel, forms: Forms, *, n_positions: int) -> int:
    """The operations of a forward pass over a chunk of some positions with these distinct forms.

    The model must be one that has a naive path.
    """
    encoder, context, output = model.encoder, model.context, model.output
    flops = 0
    if isinstance(encoder, HighwayEncoder):
        flops += len(encoder.layers) * 2 * 2 * encoder.dim**2 * len(forms.words_N)
        encoder = encoder.encoder
    assert isinstance(encoder, CharCNN)
    assert isinstance(context, LSTM)
    assert isinstance(output, Softmax)
    n_windows = int((forms.letters_NL != PAD).sum()) + len(forms.words_N)
    weights = [part.weight for part in encoder.filters if isinstance(part, torch.nn.Linear)]
    flops += 2 * n_windows * sum(weight.numel() for weight in weights)
    for input_dim, dim in pairwise(context.widths):
        flops += 2 * n_positions * (input_dim + dim) * 4 * dim
    return flops + 2 * n_positions * output.words.in_features * output.words.out_features
