"""A text in blocks of whole lines, and the words of a block at once.

Looking a word up costs 0.15 µs; going line by line costs several times that for each word. So a
block is read line by line only if it holds something that is treated by its place in a line;
otherwise both ways give the same words.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.sentences import sentence_of
from charlm.text.io.files import display_name, open_bytes
from charlm.text.io.lines import CORPUS, raw_lines

LF = b"\n"
BLOCK_BYTES = 1 << 16  # more outgrow a core's own cache: twice as slow
# Refused, or taken off where a line begins or ends: CR, a byte order mark, <s> and </s> (which
# lower-casing makes of <S>).
BY_PLACE = ("\0", "\r", "\ufeff", "s>", "S>")


@dataclass(frozen=True)
class TextBlock:
    """Lines of a text; the last line of a text may lack its LF."""

    raw: bytes
    name: str  # of the text, for messages
    first: int = 1  # number of its first line

    @property
    def n_lines(self) -> int:
        """The number of LFs, by which the next block's line numbers go on."""
        return self.raw.count(LF)

    def text(self, normalisation: Normalisation | None) -> str | None:
        """The lines in their Unicode form, words between blanks, LF after each line.

        The rest of normalising can be done word by word; None if it cannot.
        """
        if normalisation and normalisation.reads_phrases:
            return None
        try:
            text = self.raw.decode()
        except UnicodeDecodeError:
            return None
        if normalisation:
            text = normalisation.compose(text)
        if "\r\n" in text:
            text = text.replace("\r\n", "\n")
        if any(mark in text for mark in BY_PLACE):
            return None
        text = text.replace("\t", " ")
        return text if text.endswith("\n") else f"{text}\n"

    def sentences(self, normalisation: Normalisation | None) -> Iterator[list[str]]:
        """The words of each line, as `read_sentences` gives them.

        Raises:
            DataError: as there.
        """
        lines = raw_lines(io.BytesIO(self.raw), self.name, first=self.first, rules=CORPUS)
        for number, raw in lines:
            where = f"{self.name}:{number}"
            line = cast(str, CORPUS.decoded(raw, where=where))
            yield sentence_of(line, normalisation, where=where)


def read_blocks(path: str | Path) -> Iterator[TextBlock]:
    """The blocks of a text, compressed or not.

    Raises:
        DataError: a broken compressed file, or a line too long.
    """
    with open_bytes(path) as file:
        yield from _blocks(file, name=display_name(path))


def read_range(path: str | Path, *, start: int, end: int, first: int) -> Iterator[TextBlock]:
    """The blocks of a plain text from byte `start` to `end`, both of which begin a line.

    Raises:
        DataError: a line too long.
    """
    with open(path, "rb") as file:
        file.seek(start)
        yield from _blocks(file, name=display_name(path), end=end, first=first)


def _blocks(
    file: BinaryIO, *, name: str, end: int | None = None, first: int = 1
) -> Iterator[TextBlock]:
    while (n_bytes := BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - file.tell())) > 0:
        raw = file.read(n_bytes)
        if end is None or file.tell() < end:
            begun = raw[raw.rfind(LF) + 1 :]
            line = CORPUS.take(file, begun=begun)
            CORPUS.refuse_long(line, where=f"{name}:{first + raw.count(LF)}")
            raw += line[len(begun) :]
        if not raw:
            return
        block = TextBlock(raw, name, first)
        yield block
        first += block.n_lines
