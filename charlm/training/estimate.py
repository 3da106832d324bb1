"""What a training will take, measured on its own first batches before anything is changed.

Gradients are computed and thrown away; generator, state and counts are put back, so a run with an
estimate and one without are the same to the bit.
"""

import resource
import sys
import time
from copy import copy
from dataclasses import dataclass
from itertools import islice

from charlm.training.loop import Trainer

PROBES = 4  # the first is warm-up: memory is mapped and kernels are chosen then
VALIDATION_SHARE = 0.06  # of an epoch's time, PTB with a vocabulary of 10,000


@dataclass(frozen=True)
class Estimate:
    """Time for the whole training, and memory of this process so far at its highest."""

    seconds_per_step: float
    seconds: float
    memory_bytes: int


def estimate(trainer: Trainer) -> Estimate:
    """Time of a step, of the steps still to go, and memory."""
    generators, state, position = trainer.generator_states(), trainer.state, trainer.position
    trainer.position = copy(position)
    trainer.model.train()
    times = []
    for batch in islice(trainer.batches.from_step(0), PROBES):
        clock = time.perf_counter()
        trainer.gradients(batch)
        times.append(time.perf_counter() - clock)
    trainer.optimiser.zero_grad()
    trainer.set_generator_states(generators)
    trainer.state, trainer.position = state, position
    seconds_per_step = min(times)
    to_go = (trainer.recipe.epochs - position.epoch) * len(trainer.batches) - position.step
    return Estimate(
        seconds_per_step=seconds_per_step,
        seconds=seconds_per_step * to_go * (1 + VALIDATION_SHARE),
        memory_bytes=peak_memory(),
    )


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, Linux KiB
