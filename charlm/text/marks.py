"""`<s>` and `</s>` as a text may hold them: at the ends of a line, where charlm puts its own."""

from charlm.errors import DataError
from charlm.text.inventory import END_WORD, START_WORD


def without_marks(words: list[str], *, where: str) -> list[str]:
    """`words` less `<s>` and `</s>` at the ends.

    Raises:
        DataError: one of them within the sentence.
    """
    if words and words[0] == START_WORD:
        words = words[1:]
    if words and words[-1] == END_WORD:
        words = words[:-1]
    for mark in (START_WORD, END_WORD):
        if mark in words:
            raise DataError(f"{where}: found {mark} within a line; expected one sentence a line")
    return words
