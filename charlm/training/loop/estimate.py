"""What is left of a training, in time, measured on its first batches before anything changes.

Its memory is what they took, and what is known to come: the optimiser's, the averages', and that of
writing a checkpoint. Gradients are computed and thrown away; generator, state and counts are put
back, so a run with an estimate and one without are the same to the bit.
"""

import resource
import sys
import time
from copy import copy
from dataclasses import dataclass

import torch
from torch import nn

from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.averaging import NoAveraging
from charlm.training.recipe.optimisers import Optimiser

PROBES = 4  # the first is warm-up: memory is mapped and kernels are chosen then
CHECKPOINT_COPIES = 2  # of all that is in one while it is written: safetensors makes them


@dataclass(frozen=True)
class Estimate:
    """Time that is left, and this process's memory at its highest."""

    seconds_per_step: float
    seconds_per_validation: float
    seconds: float  # of the steps and validations to go
    memory_bytes: int


def estimate(trainer: Trainer) -> Estimate:
    """Time of a step and of a validation, of all that are still to go, and memory."""
    was_training = trainer.model.training
    step, validation = _step_seconds(trainer), _validation_seconds(trainer)
    trainer.model.train(was_training)
    epochs = trainer.recipe.epochs - trainer.position.epoch
    steps = epochs * len(trainer.batches) - trainer.position.step
    return Estimate(
        seconds_per_step=step,
        seconds_per_validation=validation,
        seconds=step * steps + validation * epochs,
        memory_bytes=peak_memory() + memory_to_come(trainer),
    )


def _step_seconds(trainer: Trainer) -> float:
    generators, progress = trainer.generator_states(), trainer.progress
    state, position = progress.state, progress.position
    progress.position = copy(position)
    trainer.begin_epoch()
    times = []
    for probe in trainer.stepping.probes(trainer.batches.from_step(0), n=PROBES):
        clock = time.perf_counter()
        probe()
        times.append(time.perf_counter() - clock)
    trainer.optimiser.zero_grad()
    trainer.set_generator_states(generators)
    progress.state, progress.position = state, position
    return min(times)


def _validation_seconds(trainer: Trainer) -> float:
    """Time to encode the vocabulary, and that of a first chunk as often as the text has it."""
    start = time.perf_counter()
    chunks = trainer.validation_chunks()
    begun = next(chunks, None)  # of several processes one may have nothing
    first = time.perf_counter() - start
    second = next(chunks, None)  # where the first is all, there is no more to come
    if begun is None or second is None:
        return first
    chunk_seconds = time.perf_counter() - start - first
    n_tokens = len(trainer.valid_text.ids) / trainer.ranks.size
    return first + chunk_seconds * (n_tokens - begun[1].size) / second[1].size


def memory_to_come(trainer: Trainer) -> int:
    """What a training takes besides, in bytes, once it has made a step and writes a checkpoint.

    On a GPU the weights and what follows them are there, and a checkpoint is first copied from it.
    """
    n_slots = slots_of(trainer.recipe.optimiser)
    n_averages = 0 if isinstance(trainer.recipe.averaging, NoAveraging) else 1
    is_gpu = trainer.device.type != "cpu"
    n_new = 0 if trainer.optimiser.state else n_slots
    n_new += 0 if trainer.averages.values else n_averages
    n_copies = (CHECKPOINT_COPIES + is_gpu) * (1 + n_slots + n_averages)
    weights = sum(each.numel() * each.element_size() for each in trainer.parameters)
    return weights * (n_copies + (0 if is_gpu else n_new))


def slots_of(optimiser: Optimiser) -> int:
    """How many numbers an optimiser keeps for each weight."""
    weights = nn.Parameter(torch.zeros(2))
    weights.grad = torch.zeros(2)
    tried = optimiser.over([weights])
    tried.step()
    kept = tried.state[weights].values()
    return sum(isinstance(each, torch.Tensor) and each.shape == weights.shape for each in kept)


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
