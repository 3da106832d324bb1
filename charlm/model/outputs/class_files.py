"""Files of word classes, as other tools write them.

Three formats are read, recognised by their first line: `word TAB class`; Brown clusters (`path TAB
word TAB count`); SRILM's class definitions (`CLASS [probability] word`).
"""

from collections.abc import Callable, Sequence

from charlm.errors import DataError
from charlm.text.corpus.tokens import END_WORD, UNK_WORD
from charlm.text.io.lines import number_in, read_lines, split_words
from charlm.text.io.table_lines import csv_hint

Pair = tuple[str, str]  # a word and its class
EXPECTED = {
    "pairs": "WORD TAB CLASS, as the first line",
    "brown": "PATH TAB WORD TAB COUNT, as the first line",
    "srilm": "CLASS [PROBABILITY] WORD, one word a line (or WORD TAB CLASS in the whole file)",
}


def classes_of_words(path: str, words: Sequence[str]) -> list[int]:
    """The class of each word, numbered in the order of these words; unused classes get no number.

    `</s>` and `<unk>` get a class of their own if the file does not contain them, as most do not.

    Raises:
        DataError: a broken line, a word in two classes, words without a class.
    """
    names = read_classes(path)
    for word in (END_WORD, UNK_WORD):
        names.setdefault(word, f"\0{word}")  # no file contains a NUL
    missing = [word for word in words if word not in names]
    if missing:
        raise DataError(
            f"{path}: {len(missing)} of {len(words)} words have no class, the first is "
            f"{missing[0]!r}; expected a class for each; add them, or leave them out of the "
            "vocabulary (charlm vocab)"
        )
    numbers: dict[str, int] = {}
    return [numbers.setdefault(names[word], len(numbers)) for word in words]


def read_classes(path: str) -> dict[str, str]:
    """A dictionary from words to the names of their classes.

    Raises:
        DataError: a broken line, or a word in two classes.
    """
    names: dict[str, str] = {}
    kind = ""
    for number, line in read_lines(path):
        if not split_words(line):
            continue
        kind = kind or {1: "pairs", 2: "brown"}.get(line.count("\t"), "srilm")
        pair = READERS[kind](line)
        if pair is None:
            raise DataError(
                f"{path}:{number}: found {line[:60]!r}; expected {EXPECTED[kind]}{csv_hint(line)}"
            )
        word, name = pair
        if names.setdefault(word, name) != name:
            raise DataError(
                f"{path}:{number}: {word!r} is in class {name!r} and in {names[word]!r}; "
                "expected one class a word"
            )
    return names


def _pair(line: str) -> Pair | None:
    fields = [field.strip(" ") for field in line.split("\t")]
    return (fields[0], fields[1]) if len(fields) == 2 and all(fields) else None


def _brown(line: str) -> Pair | None:
    fields = [field.strip(" ") for field in line.split("\t")]
    if len(fields) != 3 or not all(fields) or fields[0].strip("01") or not fields[2].isdigit():
        return None
    return fields[1], fields[0]


def _srilm(line: str) -> Pair | None:
    name, *rest = split_words(line)
    if len(rest) == 2 and 0 <= number_in(rest[0]) <= 1:
        rest = rest[1:]
    return (rest[0], name) if len(rest) == 1 else None


READERS: dict[str, Callable[[str], Pair | None]] = {
    "pairs": _pair,
    "brown": _brown,
    "srilm": _srilm,
}
