"""Folders and files that a user names for what is written."""

from pathlib import Path

from charlm.errors import ConfigError, DataError


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where there is none yet.

    Raises:
        DataError: a file of that name.
    """
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: is a file; expected a folder or a new name")
    path.mkdir(parents=True, exist_ok=True)


def require_place(path: str | Path | None, *, option: str) -> None:
    """Refuse, before the work of an hour, what its result cannot be written to; None is nothing.

    Raises:
        ConfigError: standard output, a folder that is missing, or as `require_file_or_new`.
    """
    if path is None:
        return
    if str(path) == "-":
        raise ConfigError(f"{option} -: nothing goes to standard output; expected a file")
    folder = Path(path).parent
    if not folder.is_dir():
        raise ConfigError(f"{option} {path}: no folder {folder}; expected one; make it first")
    try:
        require_file_or_new(Path(path))
    except DataError as error:
        raise ConfigError(f"{option} {error}") from None


def require_file_or_new(path: Path) -> None:
    """
    Raises:
        DataError: `path` is a folder, or a device or pipe, which a rename would take away.
    """
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise DataError(f"{path}: is {what}; expected a file or a new name")
