"""Lists of the words that a decoder knows, for models that shall know the same ones."""

import re
from pathlib import Path

from charlm.errors import DataError
from charlm.text.corpus.tokens import END_WORD, START_WORD, UNK_WORD
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines, split_words

MARK = re.compile(rf"{START_WORD}|{END_WORD}|{UNK_WORD}", re.IGNORECASE)  # `<UNK>` is Kaldi's
GRAPH_MARK = re.compile(r"<eps>|#\d+", re.ASCII)  # of a symbol table; elsewhere `#1` is a word
NUMBER = re.compile(r"\d+", re.ASCII)


def read_word_list(path: str | Path) -> tuple[str, ...]:
    """The words of a list as they stand, each once: one a line, or Kaldi's `words.txt`.

    `<s>`, `</s>` and `<unk>`, which every vocabulary adds by itself, are left out, and of a
    `words.txt` also the marks of a decoding graph.

    Raises:
        DataError: no word, or a line with anything but a number after its word.
    """
    name = display_name(path)
    rows = [(n, line, words) for n, line in read_lines(path) if (words := split_words(line))]
    has_numbers = bool(rows) and _is_numbered(rows[0][2])
    for number, line, words in rows:
        if has_numbers and not _is_numbered(words):
            raise DataError(
                f"{name}:{number}: found {line!r:.60}; expected a word and its number, as the "
                "lines before it have them"
            )
        if len(words) > 1 and rows[0][2] == ["{"]:  # in a pipe, or given to --words
            raise DataError(
                f"{name}: looks like JSON; expected words, one a line; of what `charlm vocab` "
                "writes, give the file's name to --vocab"
            )
        if len(words) > 1 and not has_numbers:
            raise DataError(
                f"{name}:{number}: found {line!r:.60}; expected one word a line, or Kaldi's "
                "words.txt; cut the columns behind the words off"
            )
    found = dict.fromkeys(words[0] for _, _, words in rows)
    listed = tuple(
        word
        for word in found
        if not (MARK.fullmatch(word) or (has_numbers and GRAPH_MARK.fullmatch(word)))
    )
    if not listed:
        raise DataError(f"{name}: no word; expected one a line, or Kaldi's words.txt")
    return listed


def _is_numbered(words: list[str]) -> bool:
    return len(words) == 2 and NUMBER.fullmatch(words[1]) is not None
