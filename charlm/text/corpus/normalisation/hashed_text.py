"""A text as a model reads it: normalised, counted and hashed in one pass, so a pipe will do.

The hash is of the lines in UTF-8 with LF after each: CRLF, a byte order mark, a missing last
newline, compression and another encoding change neither it nor any count. For a plain UTF-8 file it
is what `sha256sum` prints.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import without_marks
from charlm.text.io.files import display_name
from charlm.text.io.lines import CORPUS, LineRules, read_lines, split_words
from charlm.text.io.table_lines import refuse_tables


class ReadText:
    """The sentences of a text; when they have been read, its hash and what normalising changed."""

    def __init__(
        self,
        path: str | Path,
        *,
        normalisation: Normalisation | None,
        rules: LineRules = CORPUS,
    ) -> None:
        self.path = path
        self.normalisation = normalisation
        self.rules = rules
        self.n_changed = 0  # normalised words that their line does not hold as they are
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """The hash of what has been read so far."""
        return self._digest.hexdigest()

    def sentences(self) -> Iterator[list[str]]:
        """The words of each line; a blank line is a sentence without words.

        Raises:
            DataError: CSV, `<s>` or `</s>` within a line, NUL, a line that is too long or not
                valid in the encoding.
        """
        name = display_name(self.path)
        lines = read_lines(self.path, rules=self.rules)
        for number, line in refuse_tables(lines, self.path):
            self._digest.update(line.encode() + b"\n")
            words = self._normalised(line)
            yield without_marks(words, where=f"{name}:{number}")

    def _normalised(self, line: str) -> list[str]:
        words = split_words(line)
        if self.normalisation is None:
            return words
        normalised = split_words(self.normalisation(line))
        if normalised != words:
            self.n_changed += (Counter(normalised) - Counter(words)).total()
        return normalised
