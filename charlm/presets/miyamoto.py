"""Miyamoto & Cho (2016), "Gated word-character recurrent language model": all rows of table 1.

They train and score sentence by sentence, so their figures cannot be compared with Kim et al.'s.
Their code validates every 1,000 steps and stops after four to six validations without a gain
("patience" 3); here training stops after three epochs without a gain.
"""

from charlm.settings import Settings, merged

# Sections 3 and 3.2: 32 sentences at a time, each of less than 50 words. From their code: the loss
# is summed over a sentence and averaged over the sentences, which are drawn whatever their lengths,
# and the gradient's norm is clipped at 5.
MIYAMOTO_RECIPE: Settings = {
    "epochs": 15,
    "patience": 3,
    "batch_size": 32,
    "divisor": "streams",
    "clip": 5.0,
    "oov_input": "unk",
    "initialisation": {"type": "uniform", "range": 0.1, "biases": "zero"},
    "optimiser": {"type": "sgd", "lr": 1.0},
    "schedule": {"type": "divide", "divisor": 2.0, "first_epoch": 4},
    "batching": {"type": "sentences", "max_words": 50, "pool": 1},
}

_WORDS: Settings = {"type": "word", "dim": 200}
# As in their code: two tables of letters, one per direction, and no markers around a word.
_LETTERS: Settings = {
    "type": "char-lstm",
    "dim": 200,
    "letter_dim": 200,
    "hidden_dim": 200,
    "tables": "separate",
    "markers": False,
}
_SIDES: Settings = {"word": _WORDS, "char": _LETTERS}

WORD: Settings = {
    "encoder": _WORDS,
    "context": {"type": "lstm", "dim": 200, "layers": 2, "dropout": 0.0},
    "output": {"type": "softmax"},
    "recipe": MIYAMOTO_RECIPE,
}
# Their code widens Xavier's range by four for the gates of all LSTMs of the character model.
_XAVIER: Settings = {"type": "xavier", "where": "encoder-cells", "gates": 4.0, "range": 0.1}
CHAR = merged(
    WORD,
    {
        "encoder": _LETTERS,
        "recipe": {
            "epochs": 30,
            "initialisation": {**_XAVIER, "where": "cells"},
            "optimiser": {"lr": 0.2},
            "schedule": {"type": "constant"},
        },
    },
)
_BOTH = merged(WORD, {"recipe": {"initialisation": _XAVIER}})
GATED = merged(_BOTH, {"encoder": {"type": "gate", "kind": "adaptive", **_SIDES}})
_PRETRAINED: Settings = {"type": "pretraining", "epochs": 2, "divisor": 2.1, "first_epoch": 7}
_CONCAT_DIVISION: Settings = {"divisor": 1.4, "first_epoch": 4}  # also after pre-training
_CONCAT = merged(_BOTH, {"recipe": {"schedule": _CONCAT_DIVISION}})
# Their code maps 200 + 200 numbers to 200, while the paper says that each side is halved.
CONCAT = merged(
    _CONCAT,
    {"encoder": {"type": "project", "dim": 200, "encoder": {"type": "concat", **_SIDES}}},
)
CONCAT_HALF = merged(
    _CONCAT,
    {
        "encoder": {
            "type": "concat",
            "word": merged(_WORDS, {"dim": 100}),
            "char": merged(_LETTERS, {"dim": 100}),
        }
    },
)


def fixed_gate(value: float) -> Settings:
    """Eq. 7: the character vector has the same weight for every word."""
    gate = {"type": "gate", "kind": "fixed", "value": value, **_SIDES}
    return merged(_BOTH, {"encoder": gate})


def pretrained(parent: Settings) -> Settings:
    """Section 3.3: two epochs with words only, two with characters only, then both."""
    return merged(parent, {"recipe": {"schedule": _PRETRAINED}})


def pretrained_concat(parent: Settings) -> Settings:
    """As `pretrained`, with the learning rate divided as in concat training without it."""
    return merged(pretrained(parent), {"recipe": {"schedule": _CONCAT_DIVISION}})


MIYAMOTO: dict[str, Settings] = {
    "miyamoto-word": WORD,
    "miyamoto-char": CHAR,
    "miyamoto-concat": CONCAT,
    "miyamoto-concat-half": CONCAT_HALF,
    "miyamoto-concat-pretrained": pretrained_concat(CONCAT),
    "miyamoto-concat-half-pretrained": pretrained_concat(CONCAT_HALF),
    "miyamoto-gate": GATED,
    "miyamoto-gate-pretrained": pretrained(GATED),
    "miyamoto-fixed25": fixed_gate(0.25),
    "miyamoto-fixed50": fixed_gate(0.5),
    "miyamoto-fixed75": fixed_gate(0.75),
    "miyamoto-fixed25-pretrained": pretrained(fixed_gate(0.25)),
    "miyamoto-fixed50-pretrained": pretrained(fixed_gate(0.5)),
    "miyamoto-fixed75-pretrained": pretrained(fixed_gate(0.75)),
}
