"""Names of runs and data sets in tables: no longer than it takes to tell them apart."""

from collections.abc import Sequence
from pathlib import Path


def short_names(paths: Sequence[Path], *, taken: Sequence[str] = ()) -> list[str]:
    """The last part of each path, after as many parts as no other path and no name taken ends in.

    Equal paths have equal names.
    """
    names = []
    for path in paths:
        others = [*taken, *(str(other) for other in paths if other != path)]
        tails = (str(Path(*path.parts[-n:])) for n in range(1, len(path.parts) + 1))
        unique = (t for t in tails if not any(f"/{o}".endswith(f"/{t}") for o in others))
        names.append(next(unique, str(path)))
    return names


def name_of_all(names: Sequence[str]) -> str:
    """What stands for all of these in one field of a table."""
    return f"{names[0]}…"
