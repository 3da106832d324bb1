"""Of several processes that run one command, the first talks.

It is started as the user asked; the others, by torchrun or by the first, do what it tells them and
need none of his options.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from charlm.errors import ProcessError, TrainingError
from charlm.runtime import LOST, place_of_process


def is_first() -> bool:
    """Whether this process is the one to talk, as it is alone."""
    return place_of_process().rank == 0


def is_one_of_several(gpus: str | None, processes: int | None) -> bool:
    """Whether there are other processes, or will be by the options."""
    return place_of_process().size > 1 or "," in (gpus or "") or (processes or 1) > 1


@contextmanager
def one_voice() -> Iterator[None]:
    """What all processes run into, the first tells; what one alone runs into, that one.

    The others end with a status by which the first knows that they are not to blame.
    """
    try:
        yield
    except (ProcessError, TrainingError):
        if is_first():
            raise
        raise typer.Exit(LOST) from None
