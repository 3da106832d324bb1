"""Messages on how much of a long work is done, so that no command is silent for minutes."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

FIRST, NEXT = 10, 60  # seconds until the first message, and between later ones

Item = TypeVar("Item")


def with_progress(
    items: Iterable[Item],
    stage: str,
    *,
    unit: str = "list",
    tell: Callable[[str], object] | None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Item]:
    """The items, with a message now and then on how many are done.

    It is sent when the next item is asked for, and counts all before that one: also those of a
    block that is worked through at once.
    """
    is_due = now_and_then(clock)
    for number, each in enumerate(items, 1):
        yield each
        if tell is not None and is_due():
            tell(f"{stage}: {number:,} {unit}{'' if number == 1 else 's'} so far")


def now_and_then(clock: Callable[[], float] = time.monotonic) -> Callable[[], bool]:
    """A function that says whether a message is due: first after 10 s, then once a minute."""
    due = clock() + FIRST

    def is_due() -> bool:
        nonlocal due
        if clock() < due:
            return False
        due = clock() + NEXT
        return True

    return is_due
