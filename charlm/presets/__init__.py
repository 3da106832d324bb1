"""Every named model, defined once: its three parts and the recipe that trains it.

A variant is its parent with some fields changed. The numbers are those of the papers, unless a
preset's file says otherwise. An option that a preset leaves out has its part's default; a run
stores the complete settings, so a stored run never reads its preset again.
"""

import re
from difflib import get_close_matches

from charlm.errors import ConfigError
from charlm.presets.kim import KIM
from charlm.presets.koehn import KOEHN
from charlm.presets.miyamoto import MIYAMOTO
from charlm.presets.others import BOTHA, MODERN, ZAREMBA
from charlm.settings import Settings

PAPERS: dict[str, dict[str, Settings]] = {
    "Kim et al. (2016), Character-aware neural language models": KIM,
    "Miyamoto & Cho (2016), Gated word-character recurrent language model": MIYAMOTO,
    "Koehn's chapter on neural language models": KOEHN,
    "Zaremba et al. (2014), Recurrent neural network regularization": ZAREMBA,
    "Botha & Blunsom (2014), Compositional morphology": BOTHA,
    "Merity et al., Melis et al. (2018, 2020), with characters": MODERN,
}
MOST_NAMED = 4  # in a message
PRESETS: dict[str, Settings] = {
    name: settings for presets in PAPERS.values() for name, settings in presets.items()
}


def preset(name: str) -> Settings:
    """The settings of a preset.

    Raises:
        ConfigError: no such preset.
    """
    if name not in PRESETS:
        near = _nearest(name.lower().replace("_", "-"))
        others = {1: "another"}.get(n := len(near) - MOST_NAMED, f"one of {n} others")
        more = f" or {others}" if n > 0 else ""
        hint = f"did you mean {', '.join(near[:MOST_NAMED])}{more}? " if near else ""
        raise ConfigError(f"unknown preset {name!r}; {hint}`charlm train --list` shows all")
    return PRESETS[name]


def _nearest(name: str) -> list[str]:
    """The presets of the author `name`, else those with it in their name, else the most similar."""
    for paper, presets in PAPERS.items():
        if name in re.findall(r"\w+", paper.partition("(")[0].lower()):
            return list(presets)
    parts = [each for each in PRESETS if name in each.split("-")]
    return parts or get_close_matches(name, PRESETS, n=1)
