"""The presets as `charlm train --list` shows them: by paper, each in a few words with its figures.

All settings of one, with the defaults that its parts fill in, are the business of who can build it:
`charlm.training.preset_settings`.
"""

from dataclasses import dataclass
from typing import Any

from charlm.presets import PAPERS
from charlm.presets.figures import FIGURES
from charlm.presets.miyamoto import MIYAMOTO
from charlm.settings import Settings


@dataclass(frozen=True)
class PresetFacts:
    """A preset in one line."""

    name: str
    paper: str
    model: str  # `highway(char-cnn), lstm 2x300`
    n_parameters: int  # on the Penn Treebank, as the perplexities of its test text
    published: float | None
    measured: float | None  # None: not trained to its end
    time: str  # of the measured training; "" if it is not known
    state: str  # carried, or by sentence: the two kinds of perplexity do not compare

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
    """The parts that tell presets apart: encoder, context, and what is not a plain softmax."""
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
