"""Every named model, once: its three parts and the recipe that trains it.

A variant is its parent with fields changed. Numbers are those of the papers; what a preset leaves
out takes the part's default, and a run stores the result, so that nothing reads this file again.
"""

from charlm.errors import ConfigError
from charlm.settings import Settings, merged

# Kim et al. (2016), section 3.1, and their code: plain SGD at rate 1 with the gradient summed over
# the 35 steps and averaged over the 20 streams; halved when the epoch gained less than 1.0.
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

PRESETS: dict[str, Settings] = {
    "char-small": CHAR_SMALL,
    "char-large": CHAR_LARGE,
    "word-small": WORD_SMALL,
    "word-large": WORD_LARGE,
}


def preset(name: str) -> Settings:
    """The settings of a preset.

    Raises:
        ConfigError: no such preset.
    """
    if name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
