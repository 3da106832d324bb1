"""A run's text rules for the page: the options, and the patterns in JavaScript's syntax.

JavaScript's patterns must name Unicode categories, where Python's \\w and \\d match the letters and
digits of every script by themselves.
"""

from typing import Any

from charlm.text.corpus.normalisation.normalisation import (
    CLITIC,
    DOTTED,
    HYPHEN_WITHIN,
    IGNORED,
    JOINERS,
    LETTER,
    NUMBER,
    OF_EMOJI,
    SIGNS_OF_WORDS,
    Normalisation,
    token_pattern,
)

MARKS = rf"\p{{M}}{OF_EMOJI}"
NOT_OF_WORDS = rf"[^\p{{L}}\p{{N}}\p{{M}}{SIGNS_OF_WORDS}]+"
WRITTEN = (  # in this order, since the longer ones contain the shorter
    (LETTER, r"[\p{L}\p{Nl}\p{No}]"),
    (r"(?!\w)", r"(?![\p{L}\p{N}_])"),
    (r"\w", r"\p{L}\p{N}_"),
    (r"\d", r"\p{Nd}"),
    (r"\s", r"\s\x85"),  # a line end of ISO 8859, found in text of a wrong encoding
)


def text_rules(normalisation: Normalisation) -> dict[str, Any]:
    """The data from which the page's TextRules is made."""
    patterns = {
        "token": token_pattern(MARKS, joiners=JOINERS),
        "clitic": CLITIC.pattern,
        "dotted": DOTTED.pattern,
        "hyphen": HYPHEN_WITHIN.pattern,
        "number": NUMBER.pattern,
    }
    written = {name: _written(pattern) for name, pattern in patterns.items()}
    written["ignored"] = f"[{IGNORED}]"
    written["ends"] = f"^{NOT_OF_WORDS}|{NOT_OF_WORDS}$"
    return normalisation.to_dict() | {"map": normalisation.plain_map, "patterns": written}


def _written(pattern: str) -> str:
    for python, javascript in WRITTEN:
        pattern = pattern.replace(python, javascript)
    return pattern
