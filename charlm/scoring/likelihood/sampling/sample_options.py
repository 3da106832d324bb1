"""The options of `charlm sample`."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any

from charlm.interface.options import Device, Model, Opt, Precision, Seed, Threads


@dataclass(frozen=True)
class SampleOptions:
    """From which model sentences are drawn, how many, and how."""

    model: Model = None
    _: KW_ONLY
    lm: Annotated[
        str | Path | None, Opt("ARPA file: draws from this n-gram model, and not from a run.")
    ] = None
    n: Annotated[int, Opt("Number of sentences.", least=1, flags=("-n",))] = 10
    temperature: Annotated[
        float,
        Opt(
            "Divisor of the log-probabilities, above 0: below 1 favours likely words, above 1 rare "
            "ones.",
            "Draws",
            metavar="T",
        ),
    ] = 1.0
    top_k: Annotated[
        int | None,
        Opt("Draw only from the N likeliest words; from all if not given.", "Draws", least=1),
    ] = None
    top_p: Annotated[
        float,
        Opt(
            "Draw only from the likeliest words that together have this probability, above 0 and "
            "up to 1.",
            "Draws",
            metavar="P",
        ),
    ] = 1.0
    no_unk: Annotated[
        bool, Opt("Never draw <unk>; the other words share its probability.", "Draws")
    ] = False
    open_vocabulary: Annotated[
        bool, Opt("Let the run's speller (`charlm train --speller`) spell each <unk>.", "Draws")
    ] = False
    prefix: Annotated[str, Opt("Words that every sentence begins with.", metavar="WORDS")] = ""
    max_length: Annotated[
        int, Opt("Largest length of a sentence in words; longer ones are cut.", least=1)
    ] = 200
    seed: Seed = 1
    batch_size: Annotated[
        int, Opt("Number of sentences drawn at a time; affects the speed.", "Machine", least=1)
    ] = 128
    device: Device = "auto"
    precision: Precision = "fp32"
    threads: Threads = None
    on_sentence: Annotated[
        Callable[[Any], object] | None,
        Opt("Called with each sentence, in order, as soon as it is ready.", is_for_python=True),
    ] = None
