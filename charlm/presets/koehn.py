"""The models of Koehn's chapter on neural language models, and two for unnormalised scores.

The chapter gives equations but no settings. The recipe and, but for the n-gram networks, the widths
are those of word-small, so that the kinds of context can be compared. Recurrent contexts without an
LSTM's gates diverge at its learning rate of 1, so theirs is lower; those without any gate have half
of its dropout.
"""

from charlm.presets.kim import WORD_SMALL
from charlm.settings import Settings, merged

# 4.1: the vectors of four words and one hidden layer; 4.5 adds direct connections.
NNLM: Settings = merged(
    WORD_SMALL,
    {
        "encoder": {"dim": 100},
        "context": {"type": "ffnn", "order": 5, "dim": 300, "dropout": 0.5},
    },
)
# 4.4: one layer of sigmoids.
RNN: Settings = merged(
    WORD_SMALL,
    {
        "context": {
            "type": "rnn",
            "dim": 200,
            "layers": 1,
            "activation": "sigmoid",
            "dropout": 0.25,
        },
        "recipe": {"optimiser": {"lr": 0.5}},
    },
)

KOEHN: dict[str, Settings] = {
    "nnlm-5gram": NNLM,
    "nnlm-5gram-direct": merged(NNLM, {"context": {"direct": True}}),
    "rnn": RNN,
    # 4.6, with the reset before the product, as published; the bias is in the candidate, as in
    # Straka's version.
    "gru": merged(
        WORD_SMALL,
        {
            "context": {"type": "gru", "dim": 200, "layers": 2, "reset": "before", "dropout": 0.5},
            "recipe": {"optimiser": {"lr": 0.5}},
        },
    ),
    # 4.17: stacked layers; 4.18: layers between input and state.
    "deep-rnn": merged(
        RNN,
        {"context": {"layers": 3, "activation": "tanh"}, "recipe": {"optimiser": {"lr": 0.3}}},
    ),
    "deep-transition": merged(
        WORD_SMALL,
        {
            "context": {
                "type": "deep-transition",
                "dim": 200,
                "depth": 3,
                "layers": 1,
                "activation": "tanh",
                "dropout": 0.25,
            },
            "recipe": {"optimiser": {"lr": 0.3}},
        },
    ),
    # 4.3.2: training criteria that make it unnecessary to normalise the scores.
    "word-small-selfnorm": merged(
        WORD_SMALL, {"recipe": {"criterion": {"type": "self-normalised", "alpha": 0.1}}}
    ),
    "word-small-nce": merged(WORD_SMALL, {"recipe": {"criterion": {"type": "nce", "noise": 500}}}),
}
