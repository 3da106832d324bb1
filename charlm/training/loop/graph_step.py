"""A step recorded as a CUDA graph and replayed, so that a GPU does not have to wait for Python.

A recording consists of kernels and addresses, so decisions that the host makes during recording are
fixed. Therefore batches are copied into tensors with fixed addresses, and forms are padded to one
of a few sizes; the carried state is changed in place; the learning rate and the sums of an epoch
are tensors; and nothing is read back within a step. Dropout masks still differ from step to step:
torch's generator passes its offset to a recording in a tensor, which every replay advances, and so
`torch.cuda.get_rng_state` is right after any number of replays. The same steps also run on the CPU,
where the tests compare them with eager ones.

On an NVIDIA H200 recording triples the tokens per second of char-large (recipes/bench).
"""

import math
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING

import torch
from torch import Tensor, optim
from torch.optim import Optimizer

from charlm.errors import TrainingError
from charlm.model.contexts import CONTEXTS
from charlm.model.contract import Context, Encoder, Output, State, map_state, state_leaves
from charlm.model.encoders import ENCODERS
from charlm.model.outputs import OUTPUTS
from charlm.runtime import GRAPHS
from charlm.training.loop.objective import Objective
from charlm.training.loop.progress import Progress
from charlm.training.loop.step import gradient_values, shorten, total_norm, update
from charlm.training.recipe.batching import Batch, StreamBatching
from charlm.training.recipe.criteria import CrossEntropy

if TYPE_CHECKING:
    from torch.cuda import _POOL_HANDLE

# Parts whose kernels do not depend on tensor values, and that were tried on a GPU. Other parts may
# read values back (clusters of words, places without a word) or were never tried; with them, steps
# are computed eagerly, as on the CPU.
PARTS: set[type] = {
    *(ENCODERS[name] for name in ("word", "char-cnn", "char-ngram", "highway", "project")),
    *(ENCODERS[name] for name in ("add", "type-dropout", "char-lstm", "concat", "gate")),
    CONTEXTS["lstm"],
    *(OUTPUTS[name] for name in ("softmax", "composed", "mixture")),
}
OPTIMISERS = (optim.SGD, optim.Adam)  # and AdamW, which uses Adam's kernels
WARM_UPS = 3  # calls before recording, in which libraries choose kernels and allocate memory
MAX_SHAPES = 96  # recordings that are kept; batches of further shapes are computed without one
SETTLE_EVERY = 50  # steps between reading the sums back from the device

Function = Callable[[], None]
Key = tuple[object, ...]


def is_capturable(objective: Objective, optimiser: Optimizer) -> bool:
    """Whether steps may be recorded, except those of rare shapes, which never are."""
    model, recipe = objective.model, objective.recipe
    batching = recipe.batching
    parts = (p for p in model.modules() if isinstance(p, Encoder | Context | Output))
    # A learned initial state has a gradient; a carried state has none.
    starts = state_leaves(model.context.initial_state(1))
    if isinstance(batching, StreamBatching):
        is_steady = not batching.reset or model.context.takes_masks
    else:  # the number of words differs from batch to batch, so nothing may depend on it
        penalties = (recipe.activation_penalty, recipe.temporal_penalty, recipe.past_decode_penalty)
        is_steady = recipe.divisor == "streams" and not any(penalties)
    return (
        is_steady
        and type(recipe.criterion) is CrossEntropy
        and isinstance(optimiser, OPTIMISERS)
        and all(type(part) in PARTS for part in parts)
        and not any(leaf.requires_grad for leaf in starts)
    )


class Recorded:
    """A function that is first called normally a few times, then recorded, and then replayed.

    The calls before the recording are steps like any other. Functions of one pool share their
    scratch memory, so a tensor made within a recording must not be read after it.
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
        """Call it on a side stream, since autograd would remember the main one (torch's notes)."""
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            self.function()
        main.wait_stream(side)

    def _recorded(self) -> torch.cuda.CUDAGraph:
        """The recording; nothing is computed while it is made."""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                self.function()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # no fallback: the failed recording disturbs dropout
            reason = str(error).partition("\n")[0]
            raise TrainingError(
                f"a step cannot be recorded as a CUDA graph ({reason}); expected a driver and a "
                f"torch that can; set {GRAPHS}=0 to train without"
            ) from None
        return graph


class GraphStep:
    """Steps as functions without arguments, one per shape; they share state, rate and sums.

    The sums stay on the device until `settle`, which must be called before the position is read or
    weights are saved.
    """

    runs_ahead = True

    def __init__(
        self,
        objective: Objective,
        optimiser: Optimizer,
        *,
        progress: Progress,
        record: Callable[[Function], Function] = lambda function: function,  # for the CPU
        max_shapes: int = MAX_SHAPES,
    ) -> None:
        self.objective = objective
        self.optimiser = optimiser
        self.progress = progress
        self.record = record
        self.max_shapes = max_shapes
        self.state = _copied(progress.state)
        # fp32, as torch's fused kernels read it on a GPU.
        self.rate = torch.zeros((), device=objective.device)
        # loss, norm, nll, clipped steps
        self.sums = torch.zeros(4, device=objective.device, dtype=torch.float64)
        self.shapes: dict[Key, tuple[_StepOfShape, Function]] = {}
        self.probed: list[Function] = []  # kept, since torch frees a pool with its last recording
        for group in optimiser.param_groups:  # accept a tensor as rate, keep all on the device
            group.update(foreach=False, fused=True, capturable=True)

    def take(self, batch: Batch) -> None:
        """Update parameters and state with a batch; its sums stay on the device until `settle`."""
        progress, batch = self.progress, batch.padded()
        if not batch.is_fresh:
            self._take_state()
        self.rate.fill_(progress.rate)
        step, run = self._of_shape(batch)
        step.load(batch)
        run()
        position = progress.position
        position.n_tokens += batch.whole.tokens
        position.nll_tokens += batch.whole.tokens
        position.step += 1
        if position.step % SETTLE_EVERY == 0 or position.step == progress.n_steps:
            self.settle()

    def _take_state(self) -> None:
        progress = self.progress
        for own, given in zip(state_leaves(self.state), state_leaves(progress.state), strict=True):
            if own is not given:  # at the start of an epoch, or after reading a checkpoint
                own.copy_(given)
        progress.state = self.state

    def _of_shape(self, batch: Batch) -> tuple["_StepOfShape", Function]:
        key = (self.progress.side, *(tensor.shape for tensor in batch.tensors()))
        may_be_recorded = _may_be_recorded(batch)
        if may_be_recorded and key in self.shapes:
            return self.shapes[key]
        step = _StepOfShape(self, batch, state=self.state, sums=self.sums)
        if not may_be_recorded or len(self.shapes) >= self.max_shapes:
            return step, step.run
        self.shapes[key] = step, self.record(step.run)
        return self.shapes[key]

    def probes(self, batches: Iterator[Batch], *, n: int) -> Iterator[Callable[[], object]]:
        """The gradients of the first batch, as often as a recording takes, and n times more.

        State and sums are not changed.
        """
        batch = next(batches).padded()
        sums = torch.zeros_like(self.sums)
        step = _StepOfShape(self, batch, state=_copied(self.state), sums=sums)
        step.load(batch)
        gradients = self.record(step.gradients) if _may_be_recorded(batch) else step.gradients
        self.probed.append(gradients)

        def waited() -> None:
            gradients()
            if self.sums.is_cuda:
                torch.cuda.synchronize(self.sums.device)

        return repeat(waited, WARM_UPS + n)

    def settle(self) -> None:
        """Wait for the steps so far, and add their sums to the position.

        Raises:
            TrainingError: a loss or gradient since the last call is NaN or infinite.
        """
        loss, norm, nll, n_clipped = self.sums.tolist()
        self.sums.zero_()
        # Replays count no change, by which an output knows that the vectors it keeps are outdated.
        torch.autograd.graph.increment_version(self.objective.parameters)
        position = self.progress.position
        for what, value in (("the loss", loss), ("the gradient", norm)):
            if not math.isfinite(value):
                self.progress.stop(what, value, at=f"by step {position.step}")
        position.nll += nll
        position.n_clipped += round(n_clipped)


class _StepOfShape:
    def __init__(self, steps: GraphStep, batch: Batch, *, state: State, sums: Tensor) -> None:
        self.objective = steps.objective
        self.optimiser = steps.optimiser
        self.rate = steps.rate
        device = steps.objective.device
        self.batch = batch.map(lambda tensor: torch.empty_like(tensor, device=device))
        self.state = state
        self.sums = sums

    def load(self, batch: Batch) -> None:
        """Copy a batch in, queued behind the work that is still running."""
        for own, given in zip(self.batch.tensors(), batch.tensors(), strict=True):
            # Pageable memory would make the host wait; torch keeps pinned blocks until the copy.
            own.copy_(given.pin_memory() if own.is_cuda else given, non_blocking=True)

    def run(self) -> None:
        """One update of parameters, state and sums."""
        self.gradients()
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate  # each time, since reading a checkpoint replaces it with a copy
        update(self.objective.model, self.optimiser)

    def gradients(self) -> None:
        """Set the parameters' gradients, clipped, and update state and sums."""
        objective, recipe = self.objective, self.objective.recipe
        self.optimiser.zero_grad()
        is_fresh, n_streams = self.batch.is_fresh, self.batch.words_TB.shape[1]
        state = objective.model.context.initial_state(n_streams) if is_fresh else self.state
        total, nll, after = objective.loss(self.batch, state, step=0)
        assert nll is not None  # `is_capturable` accepts only a criterion that gives it
        (total / objective.divisor(self.batch)).backward()
        gradients = gradient_values(objective.parameters, is_sparse=recipe.optimiser.is_sparse)
        norm = total_norm(gradients)
        if recipe.clip:
            shorten(gradients, longest=recipe.clip, norm=norm)  # by a factor of 1 if short enough
        is_clipped = norm > recipe.clip if recipe.clip else torch.zeros_like(norm)
        told = (total.detach(), norm, nll, is_clipped)
        self.sums.add_(torch.stack([number.double() for number in told]))
        if is_fresh:
            return
        for own, new in zip(state_leaves(self.state), state_leaves(after), strict=True):
            own.copy_(new.detach())


def _may_be_recorded(batch: Batch) -> bool:
    """Whether no size in a step depends on where a padded batch has words.

    The last chunk of streams may have too few words; it is one step of an epoch.
    """
    return batch.predicts_padding if batch.is_fresh else batch.is_full


def _copied(state: State) -> State:
    return map_state(lambda leaf: leaf.detach().clone(), state)
