"""Fonts for the letters of any script in pictures, if an installed font has them.

matplotlib's own font covers Latin, Greek, Cyrillic, Arabic and Hebrew; other letters appear as
boxes unless another font is named.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font
    from matplotlib.typing import RcKeyType

JOINERS = "\u200c\u200d"  # invisible, but part of the spelling in Persian and Hindi
LONGEST = 80  # characters; a longer title does not fit in the picture
OF_BOXES = ("Last Resort", "LastResort", "Adobe Blank")  # claim to have every letter, show none
BEST = "Noto Sans"  # preferred among fonts that have a letter; it has a font for each script
# What a user's matplotlibrc says for papers: LaTeX, if there is one, would read names as its own.
WITHOUT_TEX: "dict[RcKeyType, Any]" = {"text.usetex": False}
WEIGHTS = (400, 500)  # regular and medium; some Chinese fonts have only medium


def drawable(text: str, *, families: Sequence[str] | None = None) -> str:
    """The text, with escapes such as \\u65e5 for letters that the fonts lack, cut if too long."""
    fonts = _fonts(families)
    shown = "".join(
        c
        if (c.isprintable() or c in JOINERS) and any(font.get_char_index(ord(c)) for font in fonts)
        else c.encode("unicode_escape").decode()
        for c in text
    )
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


@contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[str]:
    """Draw with installed fonts that have the texts' letters; yields the letters that none has."""
    from matplotlib import rc_context, rcParams
    from matplotlib.font_manager import get_font

    families = [*rcParams["font.family"]]
    fonts = _fonts(None)
    lacking = {
        c
        for c in set(chain.from_iterable(texts))
        if c.isprintable() and not any(font.get_char_index(ord(c)) for font in fonts)
    }
    for family, path in _installed() if lacking else ():
        font = get_font(path)
        if found := {c for c in lacking if font.get_char_index(ord(c))}:
            families.append(family)
            lacking -= found
    with rc_context({"font.family": families, **WITHOUT_TEX}):
        yield "".join(sorted(lacking))


def _fonts(families: Sequence[str] | None) -> list["FT2Font"]:
    """The fonts of these families, by default those that matplotlib is set to use."""
    from matplotlib import rcParams
    from matplotlib.font_manager import get_font

    return [get_font(path) for path in _font_files(tuple(families or rcParams["font.family"]))]


@cache
def _font_files(families: tuple[str, ...]) -> Sequence[str]:
    """A font file for each installed family; matplotlib's own if none is installed."""
    from matplotlib.font_manager import FontProperties, findfont

    paths = []
    for family in families:
        with suppress(ValueError):  # not installed
            only = FontProperties(family=[family])  # a plain string would be read as a pattern
            paths.append(findfont(only, fallback_to_default=False))
    return paths or [findfont(FontProperties())]


@cache
def _installed() -> list[tuple[str, str]]:
    """Font families with the file of an upright font, also those missing in matplotlib's list."""
    from matplotlib.font_manager import findSystemFonts, fontManager, weight_dict

    logging.getLogger("matplotlib.font_manager").addFilter(_is_not_of_weight)
    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            with suppress(Exception):  # damaged, or of an unsupported kind
                fontManager.addfont(path)
    named = (name for name, weight in weight_dict.items() if weight in WEIGHTS)
    weights = {*WEIGHTS, *named}
    upright = {
        (entry.name, entry.fname)
        for entry in fontManager.ttflist
        if entry.style == "normal" and entry.weight in weights
    }
    found = [each for each in upright if not each[0].startswith(OF_BOXES)]
    return sorted(found, key=lambda each: (not each[0].startswith(BEST), each))


def _is_not_of_weight(record: logging.LogRecord) -> bool:
    """Filter out the warning that a font has another weight than asked, repeated for every text."""
    return "Failed to find font weight" not in record.getMessage()
