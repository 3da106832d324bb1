"""Signs that a text was not made ready for a model of words: marked up, or marks left on words.

Only what no orthography does often is one: some end words in a colon, or in an exclamation mark.
"""

import re
from collections.abc import Iterable

FIELD_MARKER = re.compile(r"\\[a-z]*\d?")  # as Toolbox and USFM have them; bare where split off
TEXT_LINES = "\\tx"
ENDS_IN_MARK = re.compile(r".*\w[,;?\u060c\u061b\u061f\u0964]+[\"'\u201d\u2019)\]]*")
LEAST_SHARE = 0.01  # of all words
N_EXAMPLES = 3


def signs_of_raw_text(types: Iterable[tuple[str, int]]) -> list[str]:
    """What to do about a text before a model reads it, in sentences; `types` are words and counts.

    The first ones of a kind are its examples.
    """
    listed = list(types)
    n_words = sum(count for _, count in listed) or 1
    found = []
    for pattern, advice in ((FIELD_MARKER, _on_markers), (ENDS_IN_MARK, _on_marks)):
        matching = [(word, count) for word, count in listed if pattern.fullmatch(word)]
        share = sum(count for _, count in matching) / n_words
        if share >= LEAST_SHARE:
            found.append(advice(f"{share:.0%} of the words", [word for word, _ in matching]))
    return found


def _on_markers(share: str, markers: list[str]) -> str:
    how = (
        r"sed -n 's/^\\tx *//p' FILE takes its lines of text"
        if TEXT_LINES in markers
        else "take the lines of text from it first"
    )
    named = " ".join(markers[:N_EXAMPLES])
    return f"{share} are field markers ({named}), as of Toolbox: the text is marked up; {how}"


def _on_marks(share: str, words: list[str]) -> str:
    return (
        f"{share} end in a mark ({' '.join(words[:N_EXAMPLES])}) and are others than without it; "
        "`charlm prep --tokenise simple` sets marks apart"
    )
