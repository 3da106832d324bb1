"""`charlm train`: a corpus directory to a run directory, with a bar while it runs."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from charlm.cli.printing import output, preset_list
from charlm.cli.program.boundary import error_line
from charlm.cli.program.build_command import command
from charlm.cli.program.rank_0 import errors_from_rank_0, is_rank_0
from charlm.cli.program.signals import EndedBySignal, StopRequest, outlive_closed_pipes
from charlm.limits import memory_there
from charlm.text.perplexity.perplexity import shown_ppl
from charlm.training.train_options import TrainOptions

if TYPE_CHECKING:
    from rich.progress import TaskID

    from charlm.training.loop.estimate import Estimate
    from charlm.training.loop.trainer import Trainer
    from charlm.training.train import TrainResult


TELLS_EVERY = 60.0  # seconds, where no bar is seen


@command(TrainOptions, listing=(preset_list.HELP, preset_list.show_presets))
def train(options: TrainOptions, *, as_json: bool) -> None:
    """Train a language model on a corpus directory.

    The corpus directory is not written to. Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 or SIGUSR2 stops
    training after the current step and saves it there; a second one ends it at once. --resume
    continues a stopped or killed training, which ends with the same weights, to the bit on a CPU
    with the same number of threads and processes. If its messages can no longer be written (a full
    disk, a closed pipe), training goes on to its end and notes that in log.jsonl.

    \b
    charlm train --data ptb
    charlm train --data ptb --resume
    charlm train --arch char-small --data corpus --max-tokens 200000 --epochs 4
    charlm train --arch char-small --data corpus --set context.dropout=0.3
    charlm train --list
    """
    from charlm.training.planning.plan import left_behind
    from charlm.training.train import train as train_model

    gettempdir()  # where there is none matplotlib may fail, which would be after an epoch
    outlive_closed_pipes()
    request = StopRequest(is_rank_0=is_rank_0())
    try:
        with ProgressBar() as bar, errors_from_rank_0(), request:
            result = train_model(replace(options, watcher=bar, stop=request))
    except (KeyboardInterrupt, EndedBySignal):
        if is_rank_0():
            output.say(f"note: {left_behind(options)}")
        raise
    if request.number and not result.is_finished:
        output.say(f"{_stopped(result, by=request.name)}; {_how_to_go_on(result)}")
    elif is_rank_0():
        _tell_if_possible(result, as_json=as_json)
    if request.number:
        raise EndedBySignal(request.number)


def _tell_if_possible(result: "TrainResult", *, as_json: bool) -> None:
    """Print the result; training has not failed if nobody can be told."""
    try:
        _tell(result, as_json=as_json)
        output.flush()
    except OSError as error:
        output.say(f"note: {error_line(error)}; the run {result.run} is written")
        with suppress(OSError):
            output.flush()  # what is left of it, to nowhere


def _tell(result: "TrainResult", *, as_json: bool) -> None:
    if as_json:
        output.write_json(result.to_dict())
        return
    if result.is_finished:
        output.write(f"{result.run}: finished after {_made(result)}")
    else:
        output.write(_stopped(result, by="--max-time"))
        output.say(_how_to_go_on(result))
    if result.valid_ppl is not None:
        output.write(f"best valid ppl {shown_ppl(result.valid_ppl)} (epoch {result.best_epoch})")


def _how_to_go_on(result: "TrainResult") -> str:
    usable = "" if result.best_epoch else "; there are no weights to use before the end of epoch 1"
    return f"go on with --resume{usable}"


def _stopped(result: "TrainResult", *, by: str) -> str:
    return f"{result.run}: stopped by {by} after {_made(result)}"


def _made(result: "TrainResult") -> str:
    """`1 epoch and 5 steps, 30 s of training`: what precedes the first step is not in it."""
    epochs = f"{result.epochs:,} {output.noun(result.epochs, 'epoch')}"
    steps = f"{result.steps:,} {output.noun(result.steps, 'step')}"
    return f"{epochs}{f' and {steps}' if result.steps else ''}, {_time(result.seconds)} of training"


class ProgressBar:
    """A progress bar for the steps of an epoch, and a line for each finished epoch.

    Without a terminal, and in one that cannot redraw a line (TERM=dumb, as in Emacs), there is a
    line a minute instead of the bar.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.clock = clock
        self.told_at = clock()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(20),  # a ^C at the end of a full line would break it, and it would stay
            TextColumn("{task.completed}/{task.total} steps, {task.fields[speed]} tokens/s"),
            TimeRemainingColumn(),
            console=output.console(),
            redirect_stdout=False,
            transient=True,
            disable=not output.console().is_interactive,  # else it leaves a blank line
        )
        self.task: TaskID | None = None

    def __enter__(self) -> "ProgressBar":
        with suppress(OSError):  # of a terminal that is gone
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress.disable:  # rich before 14.3 ends it with a blank line all the same
            return
        with suppress(OSError):
            self.progress.stop()

    def note(self, text: str) -> None:
        output.say_or_fail(f"note: {text}")

    def started(self, trainer: "Trainer", *, parameters: dict[str, int], cost: "Estimate") -> None:
        """Say what will be trained and what it will take."""
        by_part = ", ".join(f"{name} {count:,}" for name, count in parameters.items())
        n_words = trainer.inventory.n_words
        output.say_or_fail(
            f"{sum(parameters.values()):,} parameters: {by_part}; vocabulary of {n_words:,} words"
        )
        first, last = trainer.position.epoch + 1, trainer.recipe.epochs
        epochs = f"epoch {last}" if first == last else f"epochs {first} to {last}"
        memory = "memory" if trainer.device.type == "cpu" else "main memory"  # not of the GPU's
        memory += " each" if trainer.ranks.size > 1 else ""
        output.say_or_fail(
            f"about {_time(cost.seconds)} for {epochs}, "
            f"{cost.memory_bytes / 1e9:.1f} GB of {memory}; {trainer.device}, {trainer.precision}"
            + (f"; {trainer.ranks.size} processes" if trainer.ranks.size > 1 else "")
        )
        if cost.memory_bytes > (there := memory_there()):
            self.note(
                f"there are {there / 1e9:.1f} GB: the system may kill this training when it saves "
                "for the first time; a smaller --arch or --batch-size needs less"
            )
        output.say_or_fail("valid ppl with *: the best so far, whose weights are kept")
        self.told_at = self.clock()

    def stepped(self, trainer: "Trainer") -> None:
        position = trainer.position
        described = f"epoch {position.epoch + 1}/{trainer.recipe.epochs}"
        speed = f"{position.n_tokens / position.seconds:,.0f}" if position.seconds else "–"
        if self.progress.disable and self.clock() - self.told_at >= TELLS_EVERY:
            self.told_at = self.clock()
            steps = f"step {position.step:,} of {len(trainer.batches):,}"
            output.say_or_fail(f"{described}, {steps}, {speed} tokens/s")
        if self.task is None:
            self.task = self.progress.add_task(described, total=len(trainer.batches), speed=speed)
        elif self.progress.tasks[0].finished:  # of the epoch before: rich keeps its 0:00:00
            self.progress.reset(self.task, description=described)
        self.progress.update(self.task, completed=position.step, description=described, speed=speed)

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        from charlm.run.history import PRETRAINING, total_seconds

        # The best of these gives way to the first epoch of both sides, also to a worse one.
        phase = "  pre-training" if record.get(PRETRAINING) else ""
        speed = record["n_tokens"] / record["seconds"] if record["seconds"] else math.nan
        self.told_at = self.clock()
        output.say_or_fail(
            f"epoch {record['epoch']:3d}  train ppl {shown_ppl(record['train_ppl']):>8}  "
            f"valid ppl {shown_ppl(record['valid_ppl']):>8}{'*' if is_best else ' '}  "
            f"rate {record['rate']:g}  {speed:,.0f} tokens/s  {_time(total_seconds([record]))}"
            f"{phase}"
        )


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{seconds / 3600:.1f} h"
