"""Writing the text of lists to a stream, a file, or a folder of files.

A file appears only when it is complete, so a file that is still being read may be replaced. The
ending of a file's name decides whether it is compressed. A stream gets each list at once. Lists
that were not in UTF-8 are written in the encoding that they came in.
"""

import os
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from charlm.errors import ConfigError, DataError
from charlm.nbest.reading.format import Piece
from charlm.nbest.reading.policies import CONTROL
from charlm.text.io.files import packed_write, scratch_file
from charlm.text.io.lines import UTF8
from charlm.text.io.paths import make_folder


def write_stream(
    pieces: Iterable[Piece], write: Callable[[str], object], *, encoding: str = UTF8
) -> None:
    """Give `write` the text of each piece as it comes, after checking that it can be encoded.

    Raises:
        ConfigError: a piece for a file, where there is no folder.
        DataError: a character that the encoding lacks.
    """
    for piece in pieces:
        text = _unnamed(piece)
        _encoded(text, encoding)
        write(text)


def write_file(pieces: Iterable[Piece], path: str | Path, *, encoding: str = UTF8) -> None:
    """Replace `path` by the pieces, whole or not at all; compressed if its name's ending says so.

    Raises:
        ConfigError: a piece for a file of its own, where there is no folder.
        DataError: `path` is a folder, a device or a pipe; a character that the encoding lacks.
    """
    with packed_write(path, through_links=True) as file:
        for piece in pieces:
            file.write(_encoded(_unnamed(piece), encoding))


def write_folder(
    pieces: Iterable[Piece], folder: str | Path, *, main: str, encoding: str = UTF8
) -> None:
    """Write each piece to the file of its name in `folder`, and pieces without a name to `main`.

    All pieces are first collected in a nameless file, which cannot be left behind; at the end each
    file is replaced, whole or not at all.

    Raises:
        DataError: a name that would leave the folder, or one that is both file and folder; a
            character that the encoding lacks.
    """
    folder = Path(folder)
    make_folder(folder)
    with scratch_file(folder) as scratch:
        parts = _collected(pieces, scratch, main, encoding=encoding)
        for name in parts:
            make_folder((folder / name).parent)
        for name, places in parts.items():
            with packed_write(folder / name, through_links=False) as file:
                for start, length in zip(places[::2], places[1::2], strict=True):
                    file.write(os.pread(scratch.fileno(), length, start))


def _collected(
    pieces: Iterable[Piece], scratch: BinaryIO, main: str, *, encoding: str
) -> dict[str, "array[int]"]:
    """Write all pieces to `scratch`; start and length of each, by the name of its file."""
    parts: dict[str, array[int]] = {}
    start = 0
    for piece in pieces:
        name = piece.name or main
        if name not in parts:
            parts[_within(name)] = array("q")
        content = _encoded(piece.text, encoding)
        scratch.write(content)
        parts[name].extend((start, len(content)))
        start += len(content)
    scratch.flush()
    return parts


def _within(name: str) -> str:
    """`name`, checked to be that of a file within a folder."""
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or CONTROL.search(name):
        raise DataError(
            f"{name[:80]!r}: cannot be the name of a file in the folder of the output; expected "
            "one that stays within it, without control characters; rename the utterance"
        )
    return name


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise DataError(
            f"{text[error.start]!r}: cannot be written in {encoding}, the --encoding of the lists; "
            "convert them to UTF-8, or write them as --write nbest, which is UTF-8"
        ) from None


def _unnamed(piece: Piece) -> str:
    if piece.name:
        raise ConfigError(
            f"format of several files: {piece.name[:80]!r} is one of them; expected a folder to "
            "write to; give one with --out"
        )
    return piece.text
