"""Batches made while the step before them is computed: on a GPU the host has nothing else to do."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from charlm.training.recipe.batches import Batch


def made_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, the next one being made by a thread meanwhile.

    It counts and pads on the host alone: calls of CUDA from two threads get in a recording's way.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as maker:
        coming = maker.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = maker.submit(next, batches, None)
            yield batch
