"""Packed files by their names: gz, bz2 or xz; what is read tells itself, in `files.open_bytes`.

gzip's header gets no time, so that equal content makes equal files.
"""

import bz2
import gzip
import lzma
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, cast

from charlm.text.io.files import atomic_write

PACKED = (".gz", ".bz2", ".xz")
GZIP_LEVEL = 6  # the default of the program gzip

_File = AbstractContextManager[BinaryIO]


def unpacked_name(path: str | Path) -> Path:
    """The path without the suffix of a packed file."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in PACKED else path


@contextmanager
def packed_write(path: str | Path, *, through_links: bool) -> Iterator[BinaryIO]:
    """A binary writer as `atomic_write`, which packs what goes through it as the suffix says."""
    with (
        atomic_write(path, through_links=through_links) as raw,
        _packer(raw, Path(path).suffix) as file,
    ):
        yield file


def _packer(raw: BinaryIO, suffix: str) -> _File:
    if suffix == ".gz":
        return cast(_File, gzip.GzipFile("", "wb", compresslevel=GZIP_LEVEL, fileobj=raw, mtime=0))
    if suffix == ".bz2":
        return cast(_File, bz2.BZ2File(raw, "wb"))
    if suffix == ".xz":
        return cast(_File, lzma.LZMAFile(raw, "wb"))
    return nullcontext(raw)
