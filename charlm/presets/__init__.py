"""Every named model, once: its three parts and the recipe that trains it.

A variant is its parent with fields changed. Numbers are those of the papers; what a preset leaves
out takes the part's default, and a run stores the result, so that nothing reads this again.
"""

from difflib import get_close_matches

from charlm.errors import ConfigError
from charlm.presets.kim import KIM
from charlm.presets.koehn import KOEHN
from charlm.presets.miyamoto import MIYAMOTO
from charlm.presets.others import OTHERS
from charlm.settings import Settings

PRESETS: dict[str, Settings] = {**KIM, **MIYAMOTO, **KOEHN, **OTHERS}


def preset(name: str) -> Settings:
    """The settings of a preset.

    Raises:
        ConfigError: no such preset.
    """
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1, cutoff=0.8)
        asked = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"unknown preset {name!r}; {asked}expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
