"""The options of `charlm bench`: a dataclass for each command, and what several share."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.interface.options import (
    MAX_SEED,
    Device,
    Model,
    Opt,
    Order,
    Precision,
    Prune,
    Seed,
    Threads,
)

BenchData = Annotated[
    str | Path | None,
    Opt("Corpus directory; if not given, a text like the PTB is generated.", metavar="DIR"),
]
Arch = Annotated[str, Opt("Preset, such as char-small or char-large.", metavar="NAME")]
Repetitions = Annotated[int, Opt("Number of times that each path is run.", least=1)]
WeightsSeed = Annotated[
    int, Opt("Seed of the generated text and of the weights.", least=0, most=MAX_SEED)
]


@dataclass(frozen=True, kw_only=True)
class TrainBenchOptions:
    arch: Arch = "char-small"
    data: BenchData = None
    steps: Annotated[int, Opt("Training steps of a repetition.", least=1)] = 20
    repetitions: Repetitions = 3
    seed: WeightsSeed = 1
    threads: Threads = None
    device: Device = "auto"
    precision: Precision = "auto"


@dataclass(frozen=True, kw_only=True)
class EvalBenchOptions:
    model: Annotated[
        str | Path | None,
        Opt("Run directory of the model; an untrained model if not given.", metavar="RUN"),
    ] = None
    arch: Arch = "char-small"
    data: BenchData = None
    naive_tokens: Annotated[
        int, Opt("Number of tokens that the naive path, which is slow, reads.", least=1)
    ] = 4096
    repetitions: Repetitions = 3
    seed: WeightsSeed = 1
    threads: Threads = None
    device: Device = "auto"


@dataclass(frozen=True)
class ScoreBenchOptions:
    path: Annotated[
        str | Path, Opt("N-best list in any format of score.", metavar="LIST", is_argument=True)
    ]
    _: KW_ONLY
    model: Model = None
    format: Annotated[str, Opt("Format of the list; auto recognises it.", metavar="NAME")] = "auto"
    columns: Annotated[
        str | Sequence[str],
        Opt("Names of the list's columns, where it has no header.", metavar="A,B", cli_type=str),
    ] = ""
    max_hypotheses: Annotated[
        int, Opt("Number of hypotheses after which no further list is read; 0 reads all.", least=0)
    ] = 0
    repetitions: Repetitions = 3
    device: Device = "auto"
    threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class StepBenchOptions:
    arch: Annotated[
        str, Opt("Preset with an LSTM and a softmax; it stays untrained.", metavar="NAME")
    ] = "char-small"
    rows: Annotated[int, Opt("Number of hypotheses in the beam.", least=1)] = 64
    steps: Annotated[int, Opt("Steps of a repetition.", least=1)] = 20
    repetitions: Repetitions = 5
    seed: Seed = 1
    threads: Threads = None
    device: Device = "auto"


@dataclass(frozen=True, kw_only=True)
class PrepBenchOptions:
    data: BenchData = None
    tokens: Annotated[
        int,
        Opt(
            "Number of tokens of the training text that is generated; after them each of its "
            "10,000 words comes once.",
            least=100,
        ),
    ] = 1_000_000
    repetitions: Repetitions = 3
    seed: Annotated[int, Opt("Seed of the generated text.", least=0, most=MAX_SEED)] = 0


@dataclass(frozen=True, kw_only=True)
class KnBenchOptions(PrepBenchOptions):
    order: Order = 5
    prune: Prune = "0"
    lmplz: Annotated[
        str | Path | None,
        Opt("KenLM's lmplz; if not given, that on the PATH, if any.", metavar="PATH"),
    ] = None


@dataclass(frozen=True)
class CostBenchOptions:
    over: Annotated[
        str,
        Opt(
            "The quantity and its values: words of the vocabulary, letters (how many times as many "
            "a word has, of which 65 at most are read), tokens of the text, or a setting, such as "
            "context.dim=100,300.",
            metavar="NAME=A,B,C",
            is_argument=True,
        ),
    ]
    _: KW_ONLY
    arch: Arch = "char-small"
    overrides: Annotated[
        Sequence[str],
        Opt("Another setting; may be repeated.", metavar="PART.OPTION=VALUE", flags=("--set",)),
    ] = ()
    steps: Annotated[int, Opt("Training steps at each value.", least=1)] = 10
    seed: WeightsSeed = 1
    threads: Threads = None
    device: Device = "auto"
    precision: Precision = "auto"
