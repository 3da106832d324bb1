"""Kim et al. (2016), "Character-aware neural language models", and the models they compare with.

The numbers are those of tables 2, 3, 5 and 7 and of the authors' code. One of their large models
with both word and character vectors reached 81 on PTB ("Further observations").
"""

from charlm.settings import Settings, merged

# Section 3.1 and their code: plain SGD at rate 1, the gradient summed over the 35 steps and
# averaged over the 20 streams; the rate is halved when an epoch gains less than 1.0.
KIM_RECIPE: Settings = {
    "epochs": 25,
    "batch_size": 20,
    "bptt": 35,
    "divisor": "streams",
    "clip": 5.0,
    "oov_input": "unk",
    "initialisation": {"type": "uniform", "range": 0.05},
    "optimiser": {"type": "sgd", "lr": 1.0},
    "schedule": {"type": "halving", "factor": 0.5, "least_gain": 1.0, "first_epoch": 3},
}

# Table 2: h = 25·w filters of width w (small), min(200, 50·w) (large).
CHAR_SMALL: Settings = {
    "encoder": {
        "type": "highway",
        "layers": 1,
        "encoder": {
            "type": "char-cnn",
            "dim": 15,
            "widths": [1, 2, 3, 4, 5, 6],
            "filters": [25, 50, 75, 100, 125, 150],
        },
    },
    "context": {"type": "lstm", "dim": 300, "layers": 2, "dropout": 0.5},
    "output": {"type": "softmax"},
    "recipe": KIM_RECIPE,
}
CHAR_LARGE = merged(
    CHAR_SMALL,
    {
        "encoder": {
            "layers": 2,
            "encoder": {
                "widths": [1, 2, 3, 4, 5, 6, 7],
                "filters": [50, 100, 150, 200, 200, 200, 200],
            },
        },
        "context": {"dim": 650},
    },
)
# Table 3: word vectors as wide as the LSTM.
WORD_SMALL = merged(CHAR_SMALL, {"encoder": {"type": "word", "dim": 200}, "context": {"dim": 200}})
WORD_LARGE = merged(WORD_SMALL, {"encoder": {"dim": 650}, "context": {"dim": 650}})


def without_highway(parent: Settings) -> Settings:
    """Table 7: the filters' output goes directly into the LSTM."""
    return {**parent, "encoder": parent["encoder"]["encoder"]}


def with_mlp(parent: Settings) -> Settings:
    """Table 7: one plain layer instead of the highway layer."""
    return {**parent, "encoder": {"type": "mlp", "encoder": parent["encoder"]["encoder"]}}


def with_words(mixture: Settings) -> Settings:
    """A combination of word-large's and char-large's vectors in front of char-large's LSTM."""
    return merged(CHAR_LARGE, {"encoder": mixture})


_WORDS = WORD_LARGE["encoder"]
_LETTERS = CHAR_LARGE["encoder"]
_SIDES = {"word": _WORDS, "char": {"type": "project", "dim": 650, "encoder": _LETTERS}}

KIM: dict[str, Settings] = {
    "char-small": CHAR_SMALL,
    "char-large": CHAR_LARGE,
    "word-small": WORD_SMALL,
    "word-large": WORD_LARGE,
    # Tables 4 and 5: morphs added to the word vectors, eq. 11.
    "morph-small": merged(WORD_SMALL, {"encoder": {"type": "morph", "dim": 200}}),
    "morph-large": merged(WORD_LARGE, {"encoder": {"type": "morph", "dim": 650}}),
    "char-small-highway0": without_highway(CHAR_SMALL),
    "char-small-highway2": merged(CHAR_SMALL, {"encoder": {"layers": 2}}),
    "char-small-mlp": with_mlp(CHAR_SMALL),
    "char-large-highway0": without_highway(CHAR_LARGE),
    "char-large-highway1": merged(CHAR_LARGE, {"encoder": {"layers": 1}}),
    "char-large-mlp": with_mlp(CHAR_LARGE),
    # "Further observations": the highway layers follow the concatenation of 1,100 and 650 numbers.
    "word-char-concat": with_words(
        {
            "type": "highway",
            "layers": 2,
            "encoder": {"type": "concat", "word": _WORDS, "char": _LETTERS["encoder"]},
        }
    ),
    # Footnote 14 names the other combinations without equations; here a linear map makes the
    # widths equal.
    "word-char-add": with_words({"type": "add", **_SIDES}),
    "word-char-average": with_words({"type": "average", **_SIDES}),
    "word-char-convex": with_words({"type": "convex", **_SIDES}),
    # Products of three random numbers: from ±0.05 they hardly learn, from ±0.2 at rate 1 they
    # diverge.
    "word-char-tensor": merged(
        with_words({"type": "tensor", "dim": 650, "rank": 650, "word": _WORDS, "char": _LETTERS}),
        {"recipe": {"initialisation": {"range": 0.1}, "optimiser": {"lr": 0.5}}},
    ),
}
