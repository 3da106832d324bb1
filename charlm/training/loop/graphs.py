"""CUDA graphs: a step recorded once and replayed, so that a GPU need not wait for Python.

A recording holds kernels and addresses. What the host decides while it is made is decided for good:
who records must know that nothing there depends on numbers, and that tensors stay where they are.
Dropout draws afresh all the same: torch's generator hands a recording its offset in a tensor, which
every replay moves on, and so `torch.cuda.get_rng_state` is right after any number of them.

Not run yet, and so not the default: no machine with a GPU was at hand.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from charlm.errors import TrainingError
from charlm.runtime import FAST_GPU

if TYPE_CHECKING:
    from torch.cuda import _POOL_HANDLE

Function = Callable[[], None]

WARM_UPS = 3  # calls before the recording; libraries choose their kernels and take memory then


class Recorder:
    """Makes functions that record themselves; their scratch memory is one and the same.

    So no tensor that is made in a recording may be read after it.
    """

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, function: Function) -> Function:
        return Recorded(function, pool=self.pool)


class Recorded:
    """A function that is called as it is at first, then recorded, and replayed from then on.

    All calls count: the first ones are steps like any other.
    """

    def __init__(self, function: Function, *, pool: "_POOL_HANDLE") -> None:
        self.function = function
        self.pool = pool
        self.n_calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        self.n_calls += 1
        if self.n_calls <= WARM_UPS:
            self._call_beside()
            return
        if self.graph is None:
            self.graph = self._recorded()
        self.graph.replay()

    def _call_beside(self) -> None:
        """As it is, but on another stream: autograd would remember the main one (torch's notes)."""
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            self.function()
        main.wait_stream(side)

    def _recorded(self) -> torch.cuda.CUDAGraph:
        """The recording, during which nothing is computed.

        Raises:
            TrainingError: torch or the driver refuses something in it.
        """
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                self.function()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # and what is left of the recording spoils dropout
            reason = str(error).partition("\n")[0]
            raise TrainingError(
                f"a step cannot be recorded as a CUDA graph ({reason}); expected a driver and a "
                f"torch that can; unset {FAST_GPU} to train without"
            ) from None
        return graph
