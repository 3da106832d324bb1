"""Folders and files that a user names, looked at before the work begins.

A link means the file at its end; /dev/stdout, or what a shell makes of `>(gzip)`, an open stream.
"""

import fcntl
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import gettempdir

from charlm.errors import ConfigError, DataError

MOST_LINKS = 40  # that the system follows, too
PACKED = (".gz", ".bz2", ".xz")
# What Python 3.11 can neither pack nor unpack, and what may hold many files: how it begins, by whom
# it is packed, and how unpacked. Unnamed they pass for an encoding; plain text in one for broken.
OTHERWISE_PACKED = {
    ".zst": (b"(\xb5/\xfd", "zstd", "zstd -d"),
    ".zip": (b"PK\x03\x04", "zip", "unzip"),
    ".lz4": (b'\x04"M\x18', "lz4", "lz4 -d"),
    ".Z": (b"\x1f\x9d", "compress", "uncompress"),
}


def is_pipe(path: str | Path) -> bool:
    """Whether a source can be read but once, and perhaps slowly: `-`, or no regular file.

    Linux opens the file behind /dev/stdin anew; elsewhere a second reader gets what is left of it.
    """
    path = Path(path)
    if str(path) == "-" or (sys.platform != "linux" and stream_of(path) is not None):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where there is none yet.

    Raises:
        DataError: a file of that name, or a link to nothing.
    """
    if path.is_symlink() and not path.exists():
        raise DataError(f"{path}: is a link to nothing; expected a folder or a new name")
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: is a file; expected a folder or a new name")
    path.mkdir(parents=True, exist_ok=True)


def require_there(paths: Iterable[str | Path]) -> None:
    """Refuse a text that is missing before another is read; `-` is standard input.

    Raises:
        DataError: no such file.
    """
    for path in paths:
        if str(path) != "-" and not Path(path).exists():
            raise DataError(f"{path}: no such file; expected a text")


def require_texts(paths: Iterable[str | Path]) -> None:
    """Refuse what is not a text before another is read.

    Raises:
        DataError: no such file, or a folder.
    """
    for path in paths:
        require_there([path])
        if str(path) != "-" and Path(path).is_dir():
            raise DataError(
                f"{path}: is a folder; expected a file; of a corpus directory: --data {path}"
            )


def require_place(path: str | Path | None, *, option: str) -> None:
    """Refuse, before an hour's work, a place that its result cannot be written to.

    None is no output.

    Raises:
        ConfigError: standard output by `-`, a packed file of a kind that is not written, a folder
            that is missing or may not be written to, a stream that is not open, or as `target_of`.
    """
    if path is None:
        return
    if str(path) == "-":
        raise ConfigError(f"{option} -: nothing goes to standard output; expected a file")
    if (suffix := Path(path).suffix) in OTHERWISE_PACKED:
        raise ConfigError(
            f"{option} {path}: nothing here packs as {suffix}; expected {', '.join(PACKED)} or none"
        )
    number = stream_of(path)
    if number is not None:
        _require_open(number, name=f"{option} {path}")
        return
    try:
        folder = target_of(Path(path)).parent
    except DataError as error:
        raise ConfigError(f"{option} {error}") from None
    if not folder.is_dir():
        raise ConfigError(f"{option} {path}: no folder {folder}; expected one; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{option} {path}: folder {folder} may not be written to; expected one that may; "
            "choose another"
        )


def stream_of(path: str | Path) -> int | None:
    """The number of this process's open file that a path leads to; None if there is none."""
    own = re.compile(rf"/dev/fd|/proc/{os.getpid()}(/task/[0-9]+)?/fd")
    place = Path(path)
    for _ in range(MOST_LINKS):
        place = Path(os.path.realpath(place.parent), place.name)
        if own.fullmatch(str(place.parent)) and place.name.isdecimal():
            return int(place.name)
        if not place.is_symlink():
            return None
        place = place.parent / os.readlink(place)
    return None


def size_of(path: str | Path) -> int | None:
    """The number of bytes of a file that has been written; None for a stream, which keeps none."""
    return None if stream_of(path) is not None else Path(path).stat().st_size


def working_folder_of(path: str | Path) -> Path:
    """Where to put temporary files for `path`: beside it, for a stream where the system says.

    Raises:
        DataError: as `target_of`.
    """
    return Path(gettempdir()) if stream_of(path) is not None else target_of(Path(path)).parent


def _require_open(number: int, *, name: str) -> None:
    try:
        can_write = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        can_write = False
    if not can_write:
        raise ConfigError(f"{name}: is not open for writing; expected a file or a new name")


def target_of(path: Path) -> Path:
    """The file, perhaps a new one, that a path means: the one at the end of its links.

    Raises:
        DataError: links in a circle, a place of the system's, or as `require_file_or_new`.
    """
    require_file_or_new(path)
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise DataError(f"{path}: leads in a circle; expected a file or a new name")
    for folder in (os.path.realpath(each.parent) for each in (path, target)):
        if folder == "/dev" or f"{folder}/".startswith(("/proc/", "/sys/")):
            raise DataError(f"{path}: is the system's own; expected a file of yours or a new name")
    return target


def require_file_or_new(path: Path) -> None:
    """
    Raises:
        DataError: `path` is a folder, or a device or pipe, which a rename would take away.
    """
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise DataError(f"{path}: is {what}; expected a file or a new name")
