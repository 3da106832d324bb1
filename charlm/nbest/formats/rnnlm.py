"""Lists of the RNNLM toolkit, `id words`, and files of log10 scores as `rnnlm -nbest` prints them.

A new id begins a new list; an id alone is a hypothesis without words.
"""

from charlm.errors import DataError
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import plain_words
from charlm.nbest.reading.score_files import ScoreFileFormat
from charlm.nbest.reading.templates import OtherLine, Row
from charlm.text.io.lines import split_words


class RnnlmFormat(ScoreFileFormat):
    """Lists without features. New scores are written alone, in order, one log10 per line.

    Detected if ids are whole numbers that never decrease, and one has several hypotheses; lists
    with other ids need --format.
    """

    name = "rnnlm"

    def claims(self, sample: Sample) -> bool:
        """First words are whole numbers that never decrease, at least one repeated; no `|||`."""
        firsts = [(split_words(line) or [""])[0] for line in sample.lines]
        if not all(first.isascii() and first.isdecimal() for first in firsts):
            return False
        if any("|||" in line for line in sample.lines):  # Moses, or another format
            return False
        ids = [int(first[:18]) for first in firsts]
        return len(set(ids)) < len(ids) and ids == sorted(ids)

    def row(self, line: Line, key: str) -> Row | OtherLine:
        words = split_words(line.text)
        if not words:
            raise DataError(f"{line.place}: found an empty line; expected an id and words")
        _, _, text = line.text.lstrip(" \t").replace("\t", " ").partition(" ")
        return Row(line, words[0], plain_words(text, line.place), {}, line.text)
