"""The floating-point operations that a model needs, counted from shapes; a product and sum are two.

Only matrix products count, and each form of a chunk once: what a path computes beyond that, for
padding or for a form again, makes it no better. A training step takes three times its forward pass.
"""

from itertools import pairwise

import torch

from charlm.errors import ConfigError
from charlm.model.contexts.lstm import LSTM
from charlm.model.contract import Encoder
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.encoders.word import WordLookup
from charlm.model.forms import Forms
from charlm.model.language_model import LanguageModel
from charlm.model.outputs.softmax import Softmax
from charlm.text.vocabulary.vocabulary import PAD

TRAINING = 3  # forward, and one product of that size for each of its two operands


def forward_flops(model: LanguageModel, forms: Forms, *, n_positions: int) -> int:
    """Of one forward pass over a chunk of so many positions that holds these distinct forms.

    Raises:
        ConfigError: a part whose operations are not counted here.
    """
    context, output = model.context, model.output
    if not isinstance(context, LSTM) or not isinstance(output, Softmax):
        part = output if isinstance(context, LSTM) else context
        raise _uncounted(type(part).__name__)
    flops = encoder_flops(model.encoder, forms)
    for input_dim, dim in pairwise(context.widths):
        flops += 2 * n_positions * (input_dim + dim) * 4 * dim
    flops += 2 * n_positions * output.words.in_features * output.words.out_features
    if output.projection is not None:
        flops += 2 * n_positions * output.projection.weight.numel()
    return flops


def encoder_flops(encoder: Encoder, forms: Forms) -> int:
    """Of the vectors of some forms."""
    if isinstance(encoder, WordLookup):
        return 0
    if isinstance(encoder, HighwayEncoder):
        own = len(encoder.layers) * 2 * 2 * encoder.dim**2 * len(forms.words_N)
        return own + encoder_flops(encoder.encoder, forms)
    if isinstance(encoder, CharCNN):
        n_windows = int((forms.letters_NL != PAD).sum()) + len(forms.words_N)
        weights = [p.weight for p in encoder.filters if isinstance(p, torch.nn.Linear)]
        return 2 * n_windows * sum(weight.numel() for weight in weights)
    raise _uncounted(type(encoder).__name__)


def _uncounted(part: str) -> ConfigError:
    return ConfigError(
        f"bench: the operations of {part} are not counted, nor is there a naive path; expected a "
        "model of char-cnn or word, highway, lstm and softmax; take --arch char-small"
    )
