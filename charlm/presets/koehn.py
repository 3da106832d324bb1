"""The models of Koehn's chapter on neural language models, and those that are scored unnormalised.

The chapter gives equations and no settings: widths and the recipe are those of word-small, so that
the kinds of context can be compared. At its rate of 1 contexts without an LSTM's gates diverge.
"""

from charlm.presets.kim import WORD_SMALL
from charlm.settings import Settings, merged

# 4.1: four words, their vectors, one hidden layer; 4.5 has direct connections besides.
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
    # 4.6, reset before the product, as published; its bias is the candidate's, as Straka has it.
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
    # 4.3.1 and 4.3.2: training that makes normalising the scores unnecessary.
    "word-small-selfnorm": merged(
        WORD_SMALL, {"recipe": {"criterion": {"type": "self-normalised", "alpha": 0.1}}}
    ),
    "word-small-nce": merged(WORD_SMALL, {"recipe": {"criterion": {"type": "nce", "noise": 500}}}),
}
