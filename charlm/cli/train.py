"""`charlm train`: a corpus directory to a run directory, with a bar while it runs."""

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from charlm.cli import options, output
from charlm.cli.boundary import outlive_closed_pipes, told
from charlm.cli.voices import is_first, one_voice
from charlm.options import MAX_SEED

if TYPE_CHECKING:
    from rich.progress import TaskID

    from charlm.training.estimate import Estimate
    from charlm.training.loop.trainer import Trainer
    from charlm.training.train import TrainResult

Arch = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Preset of model and recipe: char-small (the default), char-large, word-small, "
        "word-large.",
    ),
]
Init = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Begin with the model of another run: its parts, weights and recipe, and its words "
        "with those of train.txt besides (--vocab takes others).",
    ),
]
RunOut = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Run directory to write; exp/ARCH-DATA if not given."),
]
Vocab = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Vocabulary from `charlm vocab`; made from train.txt if not given."
    ),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Most tokens of train.txt that are read, each </s> counted: reading ends before the "
        "sentence that would exceed it; 0 reads all.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
Epochs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Passes over train.txt; else the preset's.")
]
BatchSize = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Streams side by side; else the preset's.")
]
Bptt = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Steps that gradients flow back in a stream; else the preset's."
    ),
]
Rate = Annotated[
    float | None, typer.Option(metavar="X", min=0, help="Learning rate; else the preset's.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PART.OPTION=VALUE", help="Any other setting; may be repeated."),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, max=MAX_SEED, help="Seed of every random draw; else 3435."),
]
MaxTime = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Stop after so long, as 90s, 30m or 2h, ready for --resume."),
]
Speller = Annotated[
    bool,
    typer.Option(
        "--speller",
        help="Also learn how words outside the vocabulary are spelled, for --open-vocabulary; with "
        "--resume, for a finished run, too.",
    ),
]
Spellings = Annotated[
    Path | None,
    typer.Option(
        metavar="TEXT",
        help="Text whose words outside the vocabulary the speller learns, in the place of "
        "train.txt's; <unk>:word is one of them.",
    ),
]


def train(
    *,
    data: options.Data,
    arch: Arch = None,
    init: Init = None,
    out: RunOut = None,
    vocab: Vocab = None,
    max_tokens: MaxTokens = 0,
    resume: Resume = False,
    epochs: Epochs = None,
    batch_size: BatchSize = None,
    bptt: Bptt = None,
    lr: Rate = None,
    overrides: Overrides = None,
    seed: Seed = None,
    threads: options.Threads = None,
    max_time: MaxTime = None,
    device: options.Device = "auto",
    gpus: options.Gpus = None,
    processes: options.Processes = None,
    precision: options.Precision = "auto",
    speller: Speller = False,
    spellings: Spellings = None,
    as_json: options.Json = False,
) -> None:
    """Train a language model on a corpus directory, into a run directory.

    The corpus directory is not written to. A killed training goes on with --resume and ends with
    the same weights, to the bit on a CPU with the same number of threads. One whose messages nobody
    takes any more (a full disk, a closed pipe) goes on to its end, and says so in log.jsonl.

    Example:

    charlm train --arch char-small --data ptb --epochs 25
    """
    from charlm.training.train import train as train_model

    outlive_closed_pipes()
    with ProgressBar() as bar, one_voice():
        result = train_model(
            data=data,
            arch=arch,
            init=init,
            out=out,
            vocab=vocab,
            max_tokens=max_tokens,
            resume=resume,
            epochs=epochs,
            batch_size=batch_size,
            bptt=bptt,
            lr=lr,
            overrides=overrides or (),
            seed=seed,
            threads=threads,
            max_time=max_time,
            device=device,
            gpus=gpus,
            processes=processes,
            precision=precision,
            speller=speller,
            spellings=spellings,
            watcher=bar,
        )
    if is_first():
        _tell_if_possible(result, as_json=as_json)


def _tell_if_possible(result: "TrainResult", *, as_json: bool) -> None:
    """A training that is done has not failed because nobody can be told."""
    try:
        _tell(result, as_json=as_json)
        output.flush()
    except OSError as error:
        output.say(f"note: {told(error)}; the run {result.run} is written")
        with suppress(OSError):
            output.flush()  # what is left of it, to nowhere


def _tell(result: "TrainResult", *, as_json: bool) -> None:
    if as_json:
        output.write_json(result.to_dict())
        return
    state = "finished" if result.is_finished else "stopped by --max-time"
    epochs = "1 epoch" if result.epochs == 1 else f"{result.epochs} epochs"
    output.write(f"{result.run}: {state} after {epochs}, {_time(result.seconds)}")
    if not result.is_finished:
        output.say("go on with --resume")
    if result.valid_ppl is not None:
        from charlm.run.history import shown_ppl

        output.write(f"best valid ppl {shown_ppl(result.valid_ppl)} (epoch {result.best_epoch})")


class ProgressBar:
    """A progress bar for the steps of an epoch, and a line for each epoch that is done."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} steps, {task.fields[speed]} tokens/s"),
            TimeRemainingColumn(),
            console=output.console(),
            redirect_stdout=False,
            transient=True,
            disable=not output.console().is_terminal,  # else it leaves a blank line
        )
        self.task: TaskID | None = None

    def __enter__(self) -> "ProgressBar":
        with suppress(OSError):  # of a terminal that is gone
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.progress.stop()

    def note(self, text: str) -> None:
        """Say it."""
        output.say_or_fail(f"note: {text}")

    def started(self, trainer: "Trainer", *, parameters: dict[str, int], cost: "Estimate") -> None:
        """Say what will be trained and what it will take."""
        by_part = ", ".join(f"{name} {count:,}" for name, count in parameters.items())
        output.say_or_fail(f"{sum(parameters.values()):,} parameters: {by_part}")
        output.say_or_fail(
            f"about {_time(cost.seconds)} for epochs {trainer.position.epoch + 1} to "
            f"{trainer.recipe.epochs}, {cost.memory_bytes / 1e9:.1f} GB of memory; "
            f"{trainer.device}, {trainer.precision}"
            + (f"; {trainer.ranks.size} processes" if trainer.ranks.size > 1 else "")
        )

    def stepped(self, trainer: "Trainer") -> None:
        """Move the bar on."""
        position = trainer.position
        described = f"epoch {position.epoch + 1}/{trainer.recipe.epochs}"
        speed = f"{position.n_tokens / position.seconds:,.0f}" if position.seconds else "–"
        if self.task is None:
            self.task = self.progress.add_task(described, total=len(trainer.batches), speed=speed)
        elif self.progress.tasks[0].finished:  # of the epoch before: rich keeps its 0:00:00
            self.progress.reset(self.task, description=described)
        self.progress.update(self.task, completed=position.step, description=described, speed=speed)

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        """One line."""
        from charlm.run.history import shown_ppl, total_seconds

        speed = record["n_tokens"] / record["seconds"] if record["seconds"] else math.nan
        output.say_or_fail(
            f"epoch {record['epoch']:3d}  train ppl {shown_ppl(record['train_ppl']):>8}  "
            f"valid ppl {shown_ppl(record['valid_ppl']):>8}{'*' if is_best else ' '}  "
            f"rate {record['rate']:g}  {speed:,.0f} tokens/s  {_time(total_seconds([record]))}"
        )


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{seconds / 3600:.1f} h"
