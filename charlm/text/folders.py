"""Folders and files that a user names for what is written."""

from pathlib import Path

from charlm.errors import DataError


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where there is none yet.

    Raises:
        DataError: a file of that name.
    """
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: is a file; expected a folder or a new name")
    path.mkdir(parents=True, exist_ok=True)


def require_file_or_new(path: Path) -> None:
    """
    Raises:
        DataError: `path` is a folder, or a device or pipe, which a rename would take away.
    """
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise DataError(f"{path}: is {what}; expected a file or a new name")
