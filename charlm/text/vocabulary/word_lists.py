"""Lists of the words that a decoder knows, for models that are to know the same ones."""

import re
from pathlib import Path

from charlm.errors import DataError
from charlm.text.corpus.tokens import END_WORD, START_WORD, UNK_WORD
from charlm.text.io.lines import read_lines, split_words

NO_WORD = re.compile(  # `<UNK>` is Kaldi's, and `<eps>` and `#0` stand in its graphs alone
    rf"{START_WORD}|{END_WORD}|{UNK_WORD}|<eps>|#\d+", re.IGNORECASE
)
NUMBER = re.compile(r"\d+", re.ASCII)


def read_word_list(path: str | Path) -> tuple[str, ...]:
    """The words of a list as they stand, each once: one a line, or Kaldi's `words.txt`.

    `<s>`, `</s>` and `<unk>`, which every vocabulary has its own way, are left out, as are the
    marks of a decoding graph.

    Raises:
        DataError: no word, or lines with something else behind it than its number.
    """
    rows = [(number, line, split_words(line)) for number, line in read_lines(path)]
    rows = [row for row in rows if row[2]]
    has_numbers = all(len(words) == 2 and NUMBER.fullmatch(words[1]) for _, _, words in rows)
    for number, line, words in rows:
        if len(words) > 1 and not has_numbers:
            raise DataError(
                f"{path}:{number}: found {line!r:.60}; expected one word a line, or Kaldi's "
                "words.txt; cut the columns behind the words off"
            )
    found = dict.fromkeys(words[0] for _, _, words in rows)
    listed = tuple(word for word in found if not NO_WORD.fullmatch(word))
    if not listed:
        raise DataError(f"{path}: no word; expected one a line, or Kaldi's words.txt")
    return listed
