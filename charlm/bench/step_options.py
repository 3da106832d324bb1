"""The options of `charlm bench step`."""

from dataclasses import dataclass
from typing import Annotated

from charlm.options import Device, Opt, Seed, Threads


@dataclass(frozen=True, kw_only=True)
class StepBenchOptions:
    """Which model steps, and how many rows at once."""

    arch: Annotated[str, Opt("Preset of LSTM and softmax, untrained.", metavar="NAME")] = (
        "char-small"
    )
    rows: Annotated[int, Opt("Rows of a beam.", least=1)] = 64
    steps: Annotated[int, Opt("Steps of a repetition.", least=1)] = 20
    repetitions: Annotated[int, Opt("Number of times that each path is run.", least=1)] = 5
    seed: Seed = 1
    threads: Threads = None
    device: Device = "auto"
