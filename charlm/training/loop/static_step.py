"""A step as a function of tensors that stay where they are: what a CUDA graph can record.

Batches are copied into it, forms padded to one of a few sizes; the carried state is changed in
place; the rate and the sums of an epoch are tensors, and nothing is read back within a step. On the
CPU the same steps can be made, and the tests compare them with the ordinary ones.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from charlm.model.contract import State, map_state, state_leaves
from charlm.runtime import is_fast_gpu_wanted
from charlm.training.loop.capturable import is_capturable, prepare_optimiser
from charlm.training.loop.gradients import settled, shorten, total_norm
from charlm.training.loop.graphs import Function, Recorder
from charlm.training.recipe.batches import Batch

if TYPE_CHECKING:
    from charlm.training.loop.trainer import Trainer

Key = tuple[object, ...]

MAX_SHAPES = 32  # that are kept; what comes after them is computed without a recording
SETTLE_EVERY = 50  # steps, between looks at what the device has summed up


def static_steps(trainer: "Trainer") -> "StaticSteps | None":
    """Recorded steps where they are wanted and can be had: one GPU alone, parts that allow it."""
    is_wanted = trainer.device.type == "cuda" and is_fast_gpu_wanted()
    if not is_wanted or not is_capturable(trainer):
        return None
    return StaticSteps(trainer, record=Recorder())


def as_it_is(function: Function) -> Function:
    """For the CPU: nothing is recorded."""
    return function


class StaticSteps:
    """A trainer's steps, one function a shape; all share the carried state, rate and sums.

    What is summed up waits on the device until `settle`: whoever reads the trainer's `position`,
    or writes weights down, calls it first.
    """

    def __init__(
        self, trainer: "Trainer", *, record: Callable[[Function], Function] = as_it_is
    ) -> None:
        self.trainer = trainer
        self.record = record
        self.state = _copied(trainer.state)
        # fp32: torch's fused kernels read the rate so on a GPU.
        self.rate = torch.zeros((), device=trainer.device)
        # loss, norm, nll, clipped steps
        self.sums = torch.zeros(4, device=trainer.device, dtype=torch.float64)
        self.shapes: dict[Key, tuple[StaticStep, Function]] = {}
        self.probes: list[Function] = []  # torch gives a pool up with the last recording in it
        prepare_optimiser(trainer.optimiser)

    def step(self, batch: Batch) -> None:
        """Move the trainer's parameters and state by a batch; its counts wait for `settle`."""
        trainer, batch = self.trainer, batch.padded()
        for own, given in zip(state_leaves(self.state), state_leaves(trainer.state), strict=True):
            if own is not given:  # an epoch begins, or a checkpoint was read
                own.copy_(given)
        trainer.state = self.state
        self.rate.fill_(trainer.rate)
        static, run = self._of_shape(batch)
        static.load(batch)
        run()
        trainer.position.n_tokens += batch.whole.tokens
        trainer.position.nll_tokens += batch.whole.tokens

    def _of_shape(self, batch: Batch) -> tuple["StaticStep", Function]:
        trainer = self.trainer
        side = trainer.recipe.schedule.side(trainer.position.epoch)
        key = (side, *(tensor.shape for tensor in batch.tensors()))
        # A chunk at the end of the streams is rare, and what has no word there is counted out.
        is_kept = batch.is_full and (key in self.shapes or len(self.shapes) < MAX_SHAPES)
        if is_kept and key in self.shapes:
            return self.shapes[key]
        static = StaticStep(trainer, batch, state=self.state, rate=self.rate, sums=self.sums)
        if not is_kept:
            return static, static.run
        self.shapes[key] = static, self.record(static.run)
        return self.shapes[key]

    def probe(self, batch: Batch) -> Function:
        """Gradients of a batch, thrown away: a step's time, without its effect on anything."""
        batch = batch.padded()
        static = StaticStep(
            self.trainer,
            batch,
            state=_copied(self.state),
            rate=self.rate,
            sums=torch.zeros_like(self.sums),
        )
        static.load(batch)
        self.probes.append(self.record(static.gradients))
        return self.probes[-1]

    @property
    def is_due(self) -> bool:
        """Whether the sums are to be read: now and then, and where an epoch ends."""
        step = self.trainer.position.step
        return step % SETTLE_EVERY == 0 or step == len(self.trainer.batches)

    def settle(self) -> None:
        """Wait for the steps so far, and take their sums into the trainer's position.

        Raises:
            TrainingError: a loss or a gradient since the last time is NaN or infinite.
        """
        loss, norm, nll, n_clipped = self.sums.tolist()
        self.sums.zero_()
        for what, value in (("the loss", loss), ("the gradient", norm)):
            if not math.isfinite(value):
                self.trainer.stop(what, value, at=f"by step {self.trainer.position.step}")
        self.trainer.position.nll += nll
        self.trainer.position.n_clipped += round(n_clipped)


class StaticStep:
    """The step of one shape."""

    def __init__(
        self, trainer: "Trainer", batch: Batch, *, state: State, rate: Tensor, sums: Tensor
    ) -> None:
        self.trainer = trainer
        self.batch = batch.map(lambda tensor: torch.empty_like(tensor, device=trainer.device))
        self.state = state
        self.rate = rate
        self.sums = sums

    def load(self, batch: Batch) -> None:
        """Copy a batch in, behind what is still being computed."""
        for own, given in zip(self.batch.tensors(), batch.tensors(), strict=True):
            # Pageable memory would make the host wait; torch keeps pinned blocks until copied.
            own.copy_(given.pin_memory() if own.is_cuda else given, non_blocking=True)

    def run(self) -> None:
        """One update of parameters, state and sums."""
        self.gradients()
        for group in self.trainer.optimiser.param_groups:
            group["lr"] = self.rate
        self.trainer.update()

    def gradients(self) -> None:
        """Set the parameters' gradients, no longer than is allowed, and change state and sums."""
        trainer, clip = self.trainer, self.trainer.recipe.clip
        trainer.optimiser.zero_grad()
        total, nll, after = trainer.loss(self.batch, self.state)
        (total / trainer.divisor(self.batch)).backward()
        gradients = settled(trainer.parameters, is_sparse=trainer.recipe.optimiser.is_sparse)
        norm = total_norm(gradients)
        if clip:
            shorten(gradients, longest=clip, norm=norm)  # by 1 where it is not too long
        assert nll is not None  # `is_capturable` asks for it
        told = (total.detach(), norm, nll, norm > clip if clip else torch.zeros_like(norm))
        self.sums.add_(torch.stack([number.double() for number in told]))
        for own, new in zip(state_leaves(self.state), state_leaves(after), strict=True):
            own.copy_(new.detach())


def _copied(state: State) -> State:
    return map_state(lambda leaf: leaf.detach().clone(), state)
