"""Folders that a user names for what is written."""

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
