"""Zaremba et al. (2014), Botha & Blunsom (2014), and what the field has learnt since.

The modern ones are a single layer as tuned by Melis et al. (2018), with the penalties and averages
of AWD-LSTM (Merity et al., 2018); they have one softmax for a CPU, mixtures for a GPU.
"""

from charlm.presets.kim import CHAR_SMALL, WORD_LARGE, WORD_SMALL
from charlm.settings import Settings, merged

# Zaremba et al.: dropout on every vector that is not recurrent, those of the words included.
# Kim et al.'s word-large is their medium model but for that, and another schedule.
ZAREMBA_MEDIUM = merged(
    WORD_LARGE,
    {
        "context": {"input_dropout": 0.5},
        "recipe": {
            "epochs": 39,
            "schedule": {"type": "divide", "divisor": 1.2, "first_epoch": 7},
        },
    },
)
ZAREMBA: dict[str, Settings] = {
    "zaremba-medium": ZAREMBA_MEDIUM,
    "zaremba-large": merged(
        ZAREMBA_MEDIUM,
        {
            "encoder": {"dim": 1500},
            "context": {"dim": 1500, "dropout": 0.65, "input_dropout": 0.65},
            "recipe": {
                "epochs": 55,
                "clip": 10.0,
                "initialisation": {"range": 0.04},
                "schedule": {"divisor": 1.15, "first_epoch": 15},
            },
        },
    ),
}

BOTHA: dict[str, Settings] = {
    # Four words before, a matrix each; morphs at the input and at the output.
    "mlbl": merged(
        WORD_SMALL,
        {
            "encoder": {"type": "morph", "dim": 200},
            "context": {"type": "log-bilinear", "order": 5, "matrices": "diagonal"},
            "output": {"type": "composed", "encoder": {"type": "morph", "dim": 200}},
        },
    ),
}

# One wide layer between tied vectors, the shape that Melis et al. (2018) found best for 10 million
# parameters; dropout, far more of it on what goes in than on what comes out, and learning rate are
# near those that they tuned for it. Others, and letters alone: recipes/ptb.
WORD_CHAR_MODERN: Settings = {
    # A word goes in as the sum of its own vector and that of its letters. Its own is tied to the
    # output, where the letters of the whole vocabulary would be read at every step.
    "encoder": {
        "type": "add",
        "word": {"type": "type-dropout", "p": 0.1, "encoder": {"type": "word", "dim": 268}},
        "char": {"type": "project", "dim": 268, "encoder": CHAR_SMALL["encoder"]},
    },
    "context": {
        "type": "lstm",
        "dim": 1152,
        "layers": 1,
        "forget_bias": 1.0,
        "input_dropout": 0.55,
        "output_dropout": 0.35,
        "variational": True,
        "weight_drop": 0.25,
    },
    "output": {"type": "composed", "project": True, "side": "word"},
    "recipe": {
        "epochs": 50,
        "patience": 5,
        "batch_size": 0,
        "bptt": 35,
        "divisor": "tokens",
        "clip": 0.14,
        "oov_input": "spelling",
        "activation_penalty": 2.0,
        "temporal_penalty": 1.0,
        "initialisation": {"type": "xavier"},
        "optimiser": {
            "type": "adam",
            "lr": 4.2e-3,
            "betas": [0.0, 0.999],
            "weight_decay": 3.5e-6,
        },
        "schedule": {"type": "linear", "warm_up": 0.01, "hold": 0.3},
        # Of few steps the later half counts most: four epochs of little text are a model, too.
        "averaging": {"type": "ema", "decay": 0.998, "degree": 1},
        "batching": {"type": "streams", "shuffle": "partial", "reset": 0.01},
    },
}
# N-grams in the place of the CNN cost little enough to be read for the whole vocabulary at each
# step: a rare word is predicted by its spelling, too. Divided by the root of their number they
# learn in half as many epochs. The warm-up is of half an epoch, as above.
WORD_NGRAM_MODERN = merged(
    WORD_CHAR_MODERN,
    {
        "encoder": {
            "char": {"type": "char-ngram", "dim": 268, "buckets": 20_000, "divisor": "root"}
        },
        "output": {"side": "both"},
        "recipe": {"epochs": 18, "schedule": {"warm_up": 0.0278}},
    },
)
# Letters alone go in; words come out of a table by six softmaxes (Yang et al., 2018). More can be
# learnt by heart so, and more is dropped; the longer average does not rise again at the end.
CHAR_MODERN = merged(
    WORD_CHAR_MODERN,
    {
        "encoder": {"type": "project", "dim": 268, "encoder": CHAR_SMALL["encoder"]},
        "context": {"input_dropout": 0.6, "output_dropout": 0.42, "weight_drop": 0.33},
        "output": {"type": "mixture", "components": 6, "dim": 268, "dropout": 0.2},
        "recipe": {"epochs": 49, "averaging": {"decay": 0.999}},
    },
)
MODERN: dict[str, Settings] = {
    "char-modern": CHAR_MODERN,
    "word-char-modern": WORD_CHAR_MODERN,
    "word-ngram-modern": WORD_NGRAM_MODERN,
    # Six softmaxes over the same vectors, for a GPU: on a CPU a step takes five times as long. Far
    # more can be learnt by heart, so that far more is dropped, and eight times the epochs are made
    # of steps that are twice as large. The warm-up is of an epoch.
    "mixture-modern": merged(
        WORD_NGRAM_MODERN,
        {
            "encoder": {"word": {"p": 0.15}},
            "context": {"input_dropout": 0.65, "output_dropout": 0.5, "weight_drop": 0.4},
            "output": {"type": "mixture", "components": 6, "dropout": 0.25, "tied": True},
            "recipe": {
                "epochs": 224,
                "batch_size": 128,
                "schedule": {"warm_up": 0.00446},
                "averaging": {"decay": 0.9995},
            },
        },
    ),
}
