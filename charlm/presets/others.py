"""Zaremba et al. (2014), Botha & Blunsom (2014), and modern models with what was learnt since.

The modern models have a single layer as tuned by Melis et al. (2018), with the penalties and
averages of AWD-LSTM (Merity et al., 2018). Those for a CPU have one softmax, or learn a mixture of
softmaxes by a sample of the words; those for a GPU have a mixture over all.
"""

from charlm.presets.kim import CHAR_SMALL, WORD_LARGE, WORD_SMALL
from charlm.settings import Settings, merged

# Zaremba et al.: dropout on all non-recurrent connections, including the word vectors. Kim et al.'s
# word-large differs from their medium model only in that and in the schedule.
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
    # Morphs at the input and at the output. Differs from the paper, which has three preceding
    # words, full matrices, Brown classes, and AdaGrad with L2.
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
# parameters. Dropout, which is much higher at the input than at the output, and the learning rate
# are near the values that they tuned for it. Other values, and models of letters only: recipes/ptb.
WORD_CHAR_MODERN: Settings = {
    # A word's input is the sum of its word vector and the vector of its letters. Only the word
    # vector is tied to the output: with the letters, the whole vocabulary would have to be encoded
    # at every step.
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
        # With few steps the later half counts most, so that four epochs on little text still work.
        "averaging": {"type": "ema", "decay": 0.998, "degree": 1},
        "batching": {"type": "streams", "shuffle": "partial", "reset": 0.01},
    },
}
# Character n-grams instead of the CNN are cheap enough to encode the whole vocabulary at each step,
# so that rare words are also predicted by their spelling. Divided by the root of their number, they
# learn in half as many epochs. The warm-up lasts half an epoch, as above.
WORD_NGRAM_MODERN = merged(
    WORD_CHAR_MODERN,
    {
        "encoder": {
            "char": {"type": "char-ngram", "dim": 268, "buckets": 20_000, "divisor": "root"}
        },
        "output": {"side": "both"},
        "recipe": {"epochs": 18, "input_noise": -1.0, "schedule": {"warm_up": 0.0278}},
    },
)
# Only letters at the input; the output is a mixture of six softmaxes over a table of words (Yang et
# al., 2018). This model can memorise more, so dropout is higher. With the longer average the
# perplexity does not rise again at the end.
CHAR_MODERN = merged(
    WORD_CHAR_MODERN,
    {
        "encoder": {"type": "project", "dim": 268, "encoder": CHAR_SMALL["encoder"]},
        "context": {"input_dropout": 0.6, "output_dropout": 0.42, "weight_drop": 0.33},
        "output": {"type": "mixture", "components": 6, "dim": 268, "dropout": 0.2},
        "recipe": {"epochs": 49, "averaging": {"decay": 0.999}},
    },
)
# Six softmaxes over the same vectors, for a GPU: on a CPU a step takes five times as long. The
# model can memorise far more, so dropout is much higher and training runs for twelve times the
# epochs, in steps that are twice as large. The warm-up lasts one epoch.
MIXTURE_MODERN = merged(
    WORD_NGRAM_MODERN,
    {
        "encoder": {"word": {"p": 0.15}},
        "context": {"input_dropout": 0.65, "output_dropout": 0.5, "weight_drop": 0.4},
        "output": {"type": "mixture", "components": 6, "dropout": 0.25, "tied": True},
        "recipe": {
            "epochs": 224,
            "batch_size": 128,
            "input_noise": 0.0,
            "schedule": {"warm_up": 0.00446},
            "averaging": {"decay": 0.9995},
        },
    },
)
# The same for a CPU: training sums over a sample of the words, and the Mogrifier LSTM (Melis et
# al., 2020) learns more in an epoch, so that a tenth of the epochs and less dropout are enough.
# The text decides on the streams and on the noise, as for word-ngram-modern.
MOGRIFIER_MODERN = merged(
    MIXTURE_MODERN,
    {
        "context": {
            **MIXTURE_MODERN["context"],
            "type": "mogrifier",
            "dim": 1312,
            "input_dropout": 0.3,
            "weight_drop": 0.2,
        },
        "recipe": {
            "epochs": 22,
            "batch_size": 0,
            "input_noise": -1.0,
            "criterion": {"type": "sampled-softmax", "noise": 3000},
            "optimiser": {"weight_decay": 6e-6},
            "schedule": {"warm_up": 0.0228},
            "averaging": {"decay": 0.999},
        },
    },
)
MODERN: dict[str, Settings] = {
    "char-modern": CHAR_MODERN,
    "word-char-modern": WORD_CHAR_MODERN,
    "word-ngram-modern": WORD_NGRAM_MODERN,
    "mixture-modern": MIXTURE_MODERN,
    "mogrifier-modern": MOGRIFIER_MODERN,
}
