"""Prose to sentences, by a rule: it ends at . ! or ? before a blank and what may begin a sentence.

Not after a title or an initial ("Mr. Blair", "J. K. Rowling"). Nobody's published splitter: what
compares with a paper's figures must not go through it.
"""

import re

END = re.compile(r"(?<=[.!?])([\"')\]]*)\s+(?=[\"'(\[]*[A-Z0-9£$])")
NO_END = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Sir|St|Jr|Sr|Lt|Gen|Col|No|vs|etc)|\b[A-Z])\.$")


def sentences(text: str) -> list[str]:
    """The sentences of a text, blanks as one."""
    found: list[str] = []
    for piece in END.sub(r"\1\n", " ".join(text.split())).split("\n"):
        if found and NO_END.search(found[-1]):
            found[-1] += f" {piece}"
        elif piece:
            found.append(piece)
    return found
