"""Only rank 0 prints, of several processes that run one command.

The user starts rank 0; the others, started by torchrun or by rank 0, do what it tells them and need
none of the user's options.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from charlm.errors import ProcessError, TrainingError
from charlm.runtime import LOST, place_of_process


def is_rank_0() -> bool:
    """Whether this process prints; a single process is rank 0."""
    return place_of_process().rank == 0


def has_other_ranks(gpus: str | None, processes: int | None) -> bool:
    """Whether there are other processes, or the options ask for them."""
    return place_of_process().size > 1 or "," in (gpus or "") or (processes or 1) > 1


@contextmanager
def errors_from_rank_0() -> Iterator[None]:
    """An error that ends all processes is printed by rank 0, one of a single process by that one.

    The others end with a status by which rank 0 knows that they are not to blame.
    """
    try:
        yield
    except (ProcessError, TrainingError):
        if is_rank_0():
            raise
        raise typer.Exit(LOST) from None
