"""The options of `charlm train`, and the protocol of watchers that follow a running training.

None means the value of the preset, or with --resume that of the run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from charlm.interface.options import (
    MAX_SEED,
    MAX_THREADS,
    Data,
    Device,
    Gpus,
    Opt,
    Precision,
    Processes,
)


@runtime_checkable
class Watcher(Protocol):
    """Receives the events of a training; the command line shows them.

    The methods are called between steps, only in the first process. An exception that they raise
    ends the training, except OSError. `trainer` is a Trainer and `cost` an Estimate; they are Any
    here because their modules need torch.
    """

    def note(self, text: str) -> None:
        """Receive a message of one line."""

    def started(self, trainer: Any, *, parameters: dict[str, int], cost: Any) -> None:
        """Called when everything is built, before the first step."""

    def stepped(self, trainer: Any) -> None:
        """Called after each step."""

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        """Called when an epoch is trained, validated and logged."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What is trained on which text, for how long, and where the run is written."""

    data: Data
    arch: Annotated[
        str | None,
        Opt(
            "Preset of model and recipe; word-ngram-modern if not given; `charlm train --list` "
            "shows all.",
            metavar="NAME",
        ),
    ] = None
    epochs: Annotated[
        int | None,
        Opt(
            "Passes over train.txt; the preset's if not given. --resume can add some, but not to a "
            "linear or cosine schedule.",
            least=1,
        ),
    ] = None
    init: Annotated[
        str | Path | None,
        Opt(
            "Run to begin from: its model, weights and recipe are taken over, and its vocabulary "
            "with the words of train.txt added (--vocab takes another).",
            metavar="RUN",
        ),
    ] = None
    out: Annotated[
        str | Path | None,
        Opt(
            "Run directory to write; exp/ARCH-DATA if not given, exp/RUN-DATA with --init.",
            metavar="RUN",
        ),
    ] = None
    vocab: Annotated[
        str | Path | None,
        Opt(
            "Vocabulary from `charlm vocab`, or of another run; made from train.txt if not given.",
            metavar="FILE|RUN",
        ),
    ] = None
    max_tokens: Annotated[
        int,
        Opt(
            "Largest number of tokens read from train.txt, each </s> counted; reading ends before "
            "the sentence that would exceed it; 0 reads all.",
            least=0,
        ),
    ] = 0
    resume: Annotated[
        bool,
        Opt(
            "Continue the run in --out, or begin it where there is none yet: the same command "
            "serves a batch system that starts jobs again."
        ),
    ] = False
    max_time: Annotated[
        str | float | None,
        Opt(
            "Time after which training stops, such as 90s (or 90), 30m or 2h, ready for --resume; "
            "a speller is trained first, and to its end.",
            metavar="TIME",
            cli_type=str | None,
        ),
    ] = None
    purpose: Annotated[
        Literal["sentences"] | None,
        Opt(
            "What the model is for: sentences that stand alone, such as hypotheses, test items and "
            "minimal pairs. Its state is then reset at half of the sentence ends, unless the "
            "preset resets it at more.",
            "Recipe",
            flags=("--for",),
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        Opt(
            "Number of streams read in parallel; 0 takes fewer for a short text; the preset's if "
            "not given.",
            "Recipe",
            least=0,
        ),
    ] = None
    bptt: Annotated[
        int | None,
        Opt(
            "Number of steps that gradients flow back (truncated BPTT); the preset's if not given.",
            "Recipe",
            least=1,
        ),
    ] = None
    lr: Annotated[
        float | None, Opt("Learning rate; the preset's if not given.", "Recipe", least=0)
    ] = None
    overrides: Annotated[
        Sequence[str] | Mapping[str, object],
        Opt(
            "Any other setting (`charlm train --list NAME` shows them all, and all parts); may be "
            "repeated. A part of another type (context.type=gru) starts from its own defaults, not "
            "the preset's.",
            "Recipe",
            metavar="PART.OPTION=VALUE",
            flags=("--set",),
        ),
    ] = ()
    seed: Annotated[
        int | None,
        Opt("Seed of all random numbers; 3435 if not given.", "Recipe", least=0, most=MAX_SEED),
    ] = None
    speller: Annotated[
        bool,
        Opt(
            "Also train a model that spells words outside the vocabulary, as `charlm eval "
            "--open-vocabulary` does; with --resume it can be added to a finished run.",
            "Unknown words",
        ),
    ] = False
    spellings: Annotated[
        str | Path | None,
        Opt(
            "Text from whose words outside the vocabulary the speller learns, instead of "
            "train.txt; <unk>:word counts as one of them.",
            "Unknown words",
            metavar="TEXT",
        ),
    ] = None
    device: Device = "auto"
    gpus: Gpus = None
    processes: Processes = None
    precision: Precision = "auto"
    threads: Annotated[
        int | None,
        Opt(
            "Number of CPU threads; if not given, one a core that it may use (a container may "
            "limit them), or with --resume as many as before.",
            "Machine",
            least=1,
            most=MAX_THREADS,
        ),
    ] = None
    watcher: Annotated[
        Watcher | None,
        Opt("Object whose methods are called while the training runs.", is_for_python=True),
    ] = None
    stop: Annotated[
        Callable[[], bool] | None,
        Opt(
            "Called in the first process after each step, and within a validation where there is "
            "no other; True stops the training, ready for --resume.",
            is_for_python=True,
        ),
    ] = None
