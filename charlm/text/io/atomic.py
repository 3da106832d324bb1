"""Atomic writing: a hidden file beside the target is filled first, and renamed when complete.

A writer holds the system's lock (flock) on its hidden file, which ends with the process: so two
that write one file at the same time do not remove each other's, and what a crash left is replaced.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import BinaryIO

LONGEST = 50  # characters of a name: as bytes, with what is added, the system takes them


@contextmanager
def replacing(path: Path, *, name: Path) -> Iterator[BinaryIO]:
    """A writer of what takes the place of the file `path` at the end; messages call it `name`.

    Raises:
        OSError: as the system gave it; `path` is untouched and the neighbour removed.
    """
    with naming(name, in_place_of=neighbour_of(path)), open_neighbour(path) as (neighbour, file):
        yield file
        file.flush()
        os.fsync(file.fileno())
        os.replace(neighbour, path)
    _sync_folder(path.parent)


@contextmanager
def naming(path: Path, *, in_place_of: Path | None = None) -> Iterator[None]:
    """Let an error name the file that the user knows: for a full disk the system names none."""
    try:
        yield
    except OSError as error:
        found = error.filename
        if found is None or (in_place_of and str(found).startswith(str(in_place_of))):
            error.filename = str(path)
            del error.filename2  # where it is None, Python shows that: `'file' -> None`
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, if the file system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # one into which one may write but not look, for files to be handed in
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            error.filename = str(folder)
            raise
    finally:
        os.close(descriptor)


def neighbour_of(path: Path) -> Path:
    """The hidden file in which `path` is written first; concurrent writers add a number."""
    return path.with_name(f".{path.name[:LONGEST]}.partial")


@contextmanager
def open_neighbour(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """The name of a new file beside `path`, and a writer to it; an error removes the file.

    It has the mode and, where the system allows that, the owner of a file that is at `path`. Who
    renames it must do so within the block, as long as the lock is held.
    """
    old = _regular_file(path)
    mode = 0o666 if old is None else old.st_mode & 0o777  # less what the umask takes
    for number in count():
        name = Path(f"{neighbour_of(path)}{number or ''}")
        if _is_held(name):
            continue
        try:
            opener = partial(os.open, mode=mode)  # at once: it may be for its owner alone
            file = open(name, "xb", opener=opener)  # noqa: SIM115  # closed below
        except FileExistsError:  # another writer was quicker
            continue
        with file:
            try:  # from here on, since a signal ends the program anywhere by an exception
                # Another writer may have seen it before it was locked: that one removes it.
                if not try_to_lock(file.fileno()) or not is_at(file.fileno(), name):
                    continue
                if old is not None:
                    with suppress(OSError):  # a file system without owners, or another's file
                        os.fchown(file.fileno(), old.st_uid, old.st_gid)
                    with suppress(OSError):
                        os.fchmod(file.fileno(), mode)
                yield name, file
            except BaseException:
                with suppress(OSError):
                    if is_at(file.fileno(), name):
                        name.unlink()
                raise
            return


def _regular_file(path: Path) -> os.stat_result | None:
    """The status of a regular file; None for anything else, links included."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _is_held(name: Path) -> bool:
    """Whether another writer holds a file there; a file that nobody holds is removed."""
    if name.is_symlink():  # that a stranger's run brings along
        name.unlink(missing_ok=True)
    try:
        # A pipe is not waited for.
        descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except IsADirectoryError:
        return True
    except PermissionError:
        name.lstat()  # raises where it is the folder that may not be looked into
        return True  # another user's, whether he still writes or not
    try:
        if not try_to_lock(descriptor) or not is_at(descriptor, name):
            return True
        name.unlink()
    finally:
        os.close(descriptor)
    return False


def try_to_lock(descriptor: int) -> bool:
    """Whether nobody else holds it; always true on a file system without locks, as some Lustre."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_at(descriptor: int, name: Path) -> bool:
    """Whether an open file is still the one at its path."""
    try:
        found = os.stat(name, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(os.fstat(descriptor), found)
