"""Says how much of a long work is done, so that no command is silent for minutes."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

FIRST, NEXT = 10, 60  # seconds until the first message, and between later ones

Item = TypeVar("Item")


def counted(
    items: Iterable[Item],
    stage: str,
    *,
    unit: str = "list",
    tell: Callable[[str], object] | None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Item]:
    """The items, for a work that takes each when those before it are done; told now and then.

    What works through several together then tells of all of them, not of the first that comes out.
    """
    due = clock() + FIRST
    for number, each in enumerate(items, 1):
        yield each
        if tell is not None and clock() >= due:
            tell(f"{stage}: {number:,} {unit}{'' if number == 1 else 's'} so far")
            due = clock() + NEXT
