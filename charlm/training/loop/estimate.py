"""The remaining time of a training and its memory, measured on a few batches before it begins.

The memory is what these batches took plus what is known to come: for the optimiser, the averages
and the writing of a checkpoint. Gradients are computed and discarded, and the generators, the state
and the counts are restored, so runs with and without an estimate are the same to the bit.
"""

import resource
import sys
import time
from copy import copy
from dataclasses import dataclass

from charlm.model.contract import Side
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.averaging import NoAveraging

PROBES = 4  # the first is a warm-up, in which memory is mapped and kernels are chosen
CHECKPOINT_COPIES = 2  # of a checkpoint's content, made by safetensors while writing


@dataclass(frozen=True)
class Estimate:
    """The remaining time of a training, and the peak memory of this process."""

    seconds_per_step: float  # of the epoch that is next or has begun
    seconds: float  # of all remaining steps and validations
    memory_bytes: int


def estimate(trainer: Trainer) -> Estimate:
    """Measure the time of a step and of a validation, and estimate remaining time and memory.

    Both are measured for each phase of a pre-training that is to come, since words alone take
    half as long as words and letters (miyamoto-gate-pretrained on a GPU).
    """
    position, recipe = trainer.position, trainer.recipe
    now = trainer.progress.side
    to_come = [recipe.schedule.side(epoch) for epoch in range(position.epoch, recipe.epochs)]
    costs = {}
    for side in dict.fromkeys([now, *to_come]):
        costs[side] = _step_seconds(trainer, side), _validation_seconds(trainer)
    trainer.model.encoder.use_side(now)
    trainer.model.train()
    step, _ = costs[now]
    n_steps = len(trainer.batches)
    seconds = sum(costs[side][0] * n_steps + costs[side][1] for side in to_come)
    return Estimate(
        seconds_per_step=step,
        seconds=seconds - step * position.step,
        memory_bytes=peak_memory() + memory_to_come(trainer),
    )


def _step_seconds(trainer: Trainer, side: Side) -> float:
    """The time of a step; the encoder goes on using this side."""
    generators, progress = trainer.generator_states(), trainer.progress
    state, position = progress.state, progress.position
    progress.position = copy(position)
    trainer.begin_epoch()
    trainer.model.encoder.use_side(side)
    times = []
    probes = trainer.stepping.probes(trainer.batches.typical(), n=PROBES)
    for number, probe in enumerate(probes):
        progress.position.step = number  # some criteria compute the nll at few steps alone
        clock = time.perf_counter()
        probe()
        times.append(time.perf_counter() - clock)
    trainer.optimiser.zero_grad()
    trainer.set_generator_states(generators)
    progress.state, progress.position = state, position
    return min(times)


def _validation_seconds(trainer: Trainer) -> float:
    """The time to encode the vocabulary, plus that of one chunk scaled up to the whole text."""
    start = time.perf_counter()
    chunks = trainer.validation_chunks()
    begun = next(chunks, None)  # one of several processes may have nothing to read
    first = time.perf_counter() - start
    second = next(chunks, None)  # None if the text has only one chunk
    if begun is None or second is None:
        return first
    chunk_seconds = time.perf_counter() - start - first
    n_tokens = len(trainer.valid_text.ids) / trainer.ranks.size
    return first + chunk_seconds * (n_tokens - begun[1].size) / second[1].size


def memory_to_come(trainer: Trainer) -> int:
    """Further memory, in bytes, that a training needs after its first step and for checkpoints.

    On a GPU, optimiser and averages do not count here, since they are in the GPU's memory, but a
    checkpoint needs one copy more, from the GPU.
    """
    n_slots = sum(trainer.recipe.optimiser.slots().values())
    n_averages = 0 if isinstance(trainer.recipe.averaging, NoAveraging) else 1
    is_gpu = trainer.device.type != "cpu"
    n_new = 0 if trainer.optimiser.state else n_slots
    n_new += 0 if trainer.averages.values else n_averages
    n_copies = (CHECKPOINT_COPIES + is_gpu) * (1 + n_slots + n_averages)
    weights = sum(each.numel() * each.element_size() for each in trainer.parameters)
    return weights * (n_copies + (0 if is_gpu else n_new))


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
