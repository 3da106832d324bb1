"""The presets as `charlm train --list` shows them: by paper, each in a few words with its figures.

The measured figures and times come from the pages of recipes/ptb, which say how they were obtained;
presets that were only tried briefly have none. Miyamoto & Cho score by sentence, all others with
the state carried over, and the two kinds of perplexity cannot be compared.

`charlm.training.planning.preset_settings` gives the complete settings of a preset, with the
defaults that its parts fill in.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from charlm.presets import PAPERS
from charlm.presets.miyamoto import MIYAMOTO
from charlm.settings import Settings


class Figures(NamedTuple):
    """A preset's figures on the Penn Treebank (Mikolov's version); perplexities are of test.txt."""

    n_parameters: int  # with 10,000 words, 46 characters, 4,997 morphs
    published: float | None = None
    measured: float | None = None
    time: str = ""  # the duration of the measured training, and where it ran


FIGURES: dict[str, Figures] = {
    # Kim et al., tables 3 and 7; 81 is from their "Further observations".
    "char-small": Figures(5_312_530, 92.3, 91.99, "97 min, CPU"),
    "char-large": Figures(19_373_180, 78.9, 77.76, "1 h 39 min, CPU"),
    "word-small": Figures(4_653_200, 97.6, 95.00, "50 min, CPU"),
    "word-large": Figures(19_780_400, 85.4, 84.51, "7 min, GPU"),
    "morph-small": Figures(5_653_200),
    "morph-large": Figures(23_030_400),
    "char-small-highway0": Figures(4_760_230, 100.3, 100.69, "8 min, GPU"),
    "char-small-highway2": Figures(5_864_830, 90.1, 87.79, "9 min, GPU"),
    "char-small-mlp": Figures(5_036_380, 111.2, 95.59, "8 min, GPU"),
    "char-large-highway0": Figures(14_528_780, 84.6),
    "char-large-highway1": Figures(16_950_980, 79.7),
    "char-large-mlp": Figures(15_739_880, 92.6),
    "word-char-concat": Figures(34_975_780, 81.0),
    "word-char-add": Figures(25_418_830),
    "word-char-average": Figures(25_418_830),
    "word-char-convex": Figures(25_418_831),
    "word-char-tensor": Figures(26_263_180),
    # Miyamoto & Cho, table 1.
    "miyamoto-word": Figures(4_653_200, 115.65, 112.59, "29 min, CPU"),
    "miyamoto-char": Figures(3_397_400, 126.80, 124.80, "6 min, GPU"),
    "miyamoto-concat": Figures(5_477_600, 121.09, 120.05, "3 min, GPU, 12 of 15 epochs"),
    "miyamoto-concat-half": Figures(4_357_300, None, 114.24, "3 min, GPU"),
    "miyamoto-concat-pretrained": Figures(5_477_600, 118.85, 117.26, "3 min, GPU, 12 of 15 epochs"),
    "miyamoto-concat-half-pretrained": Figures(4_357_300, None, 116.48, "3 min, GPU"),
    "miyamoto-gate": Figures(5_397_601, 113.87, 113.04, "59 min, CPU"),
    "miyamoto-gate-pretrained": Figures(5_397_601, 112.90, 112.75, "3 min, GPU"),
    "miyamoto-fixed25": Figures(5_397_400, 115.55, 115.23, "3 min, GPU"),
    "miyamoto-fixed50": Figures(5_397_400, 121.99, 119.02, "3 min, GPU, 12 of 15 epochs"),
    "miyamoto-fixed75": Figures(5_397_400, 135.00, 132.19, "3 min, GPU, 12 of 15 epochs"),
    "miyamoto-fixed25-pretrained": Figures(5_397_400, 113.52, 112.76, "3 min, GPU"),
    "miyamoto-fixed50-pretrained": Figures(5_397_400, 113.03, 111.87, "3 min, GPU"),
    "miyamoto-fixed75-pretrained": Figures(
        5_397_400, 172.85, 128.68, "3 min, GPU, 12 of 15 epochs"
    ),
    # Koehn's chapter gives no figures.
    "nnlm-5gram": Figures(4_130_300),
    "nnlm-5gram-direct": Figures(5_130_300),
    "rnn": Figures(4_090_400),
    "gru": Figures(4_491_200),
    "deep-rnn": Figures(4_251_200),
    "deep-transition": Figures(4_170_600),
    "word-small-selfnorm": Figures(4_653_200),
    "word-small-nce": Figures(4_653_200),
    # Zaremba et al., as quoted by Kim et al.
    "zaremba-medium": Figures(19_780_400, 82.7, 83.23, "4 h 30 min, CPU"),
    "zaremba-large": Figures(66_034_000, 78.4),
    "mlbl": Figures(6_010_800),
    "char-modern": Figures(11_832_210, None, 69.46, "8 min, GPU, 45 of 49 epochs"),
    "word-char-modern": Figures(10_280_010, None, 67.98, "1 h 31 min, CPU, 32 of 50 epochs"),
    "word-ngram-modern": Figures(14_911_312, None, 66.69, "1 h 28 min, CPU, 16 of 18 epochs"),
    "mixture-modern": Figures(16_463_512, None, 59.77, "8 min, GPU, 176 of 224 epochs"),
    "mogrifier-modern": Figures(19_224_664, None, 59.54, "2.2 h, CPU, 19 of 22 epochs"),
}


@dataclass(frozen=True)
class PresetFacts:
    """A preset on one line of the list."""

    name: str
    paper: str
    model: str  # `highway(char-cnn), lstm 2x300`
    n_parameters: int  # on the Penn Treebank; the perplexities are those of its test text
    published: float | None
    measured: float | None  # None: not trained to the end
    time: str  # of the measured training; "" if unknown
    state: str  # carried or by sentence; the two kinds of perplexity cannot be compared

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "time": self.time or None}


def preset_facts() -> list[PresetFacts]:
    """Every preset, in the order of the papers."""
    return [
        PresetFacts(
            name=name,
            paper=paper,
            model=model_in_words(settings),
            **FIGURES[name]._asdict(),
            state="sentence" if name in MIYAMOTO else "carried",
        )
        for paper, presets in PAPERS.items()
        for name, settings in presets.items()
    ]


def model_in_words(settings: Settings) -> str:
    """The parts that tell presets apart: encoder, context, and any output but a plain softmax."""
    context = settings["context"]
    layers, dim = context.get("layers"), context.get("dim")
    size = f"{layers}x{dim}" if layers else str(dim or "")
    parts = [_encoder(settings["encoder"]), f"{context['type']} {size}".strip()]
    if settings["output"]["type"] != "softmax":
        parts.append(settings["output"]["type"])
    if criterion := settings["recipe"].get("criterion"):
        parts.append(criterion["type"])
    return ", ".join(parts)


def _encoder(settings: Settings) -> str:
    inner = [_encoder(value) for value in settings.values() if isinstance(value, dict)]
    return f"{settings['type']}({', '.join(inner)})" if inner else str(settings["type"])
