"""`charlm train`: from a corpus directory to a run directory.

This is the command as a function; `plan` decides what is to be done and `session` does it.
"""

import math
import os
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import RLock

import torch

from charlm.errors import TrainingError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.processes.command import First, Machine, run_command
from charlm.run.folder import locked
from charlm.run.history import total_seconds
from charlm.run.stored_weights import kept_ppl
from charlm.text.corpus.sentences import split_path
from charlm.text.io.paths import make_folder
from charlm.training.loop.trainer import Trainer
from charlm.training.planning.plan import existing_run, make_plan, parse_time
from charlm.training.planning.plan_checks import check_plan, inventory_for
from charlm.training.ranks import ALONE, Ranks, check_batch_size
from charlm.training.session import follow, run_session
from charlm.training.train_options import TrainOptions
from charlm.training.train_speller import wanted_spellings
from charlm.training.watcher import LastingWatcher, Silence


@dataclass(frozen=True)
class TrainResult(JsonResult):
    """The result of a training."""

    run: str
    is_finished: bool  # False: stopped by max_time or stop
    epochs: int  # finished
    steps: int  # of the unfinished epoch after them
    best_epoch: int  # 0: no epoch is finished
    valid_ppl: float | None  # of the best epoch
    seconds: float  # of all steps and validations, including earlier sessions
    n_parameters: int


@keywords(TrainOptions)
def train(options: TrainOptions) -> TrainResult:
    """Train a preset on a corpus directory and write a run directory; the corpus is only read.

    With several processes, each computes a share of every batch. Under torchrun the options of the
    first process hold for all. On processors not made by Intel, a resumed training has the same
    bits only where torch has computed nothing before the program's first use of charlm. Trainings
    in threads of one program take turns.

    >>> found = charlm.train(arch="char-small", data="corpus", out="exp/second", epochs=1)
    >>> found.run, found.is_finished
    ('exp/second', True)

    Raises:
        ConfigError: an option does not exist, does not fit, or disagrees with a resumed run.
        DataError: a corpus, vocabulary or checkpoint is not what was expected.
        TrainingError: the run exists or is locked, or its lock was lost; the loss became NaN.
        ProcessError: another process ended.
    """
    max_seconds = math.inf if options.max_time is None else parse_time(options.max_time)

    def lead(first: First[Ranks]) -> TrainResult:
        deadline = time.monotonic() + max_seconds
        return _trained(replace(options, device=first.device), first=first, deadline=deadline)

    # The number of threads is not known yet, since a resumed run may decide it.
    machine = Machine(options.device, options.gpus, options.processes, threads=None)
    with _turn(os.getpid()), torch.random.fork_rng(devices=[]):  # a program's own numbers go on
        return run_command(ALONE, machine=machine, lead=lead, follow=follow)


@cache
def _turn(process: int) -> AbstractContextManager[object]:
    """The turn of one thread: torch has one generator for all, and a seed is to draw the same.

    A fork has turns of its own, since a thread of the parent may have had one.
    """
    return RLock()


def _trained(options: TrainOptions, *, first: First[Ranks], deadline: float) -> TrainResult:
    is_stopped = options.stop or (lambda: False)
    for split in ("train", "valid"):
        split_path(options.data, split)
    plan = make_plan(options)
    watcher = LastingWatcher(options.watcher or Silence(), run=plan.folder)
    if options.resume and not plan.stored:
        watcher.note(f"{plan.folder} holds no run yet: starting one of {plan.arch}")
    inventory = inventory_for(plan)
    check_plan(plan, inventory)
    check_batch_size(plan.recipe.batch_size, first.size, is_resumed=plan.stored is not None)
    to_spell = wanted_spellings(options, inventory, plan=plan)
    make_folder(plan.folder)
    with locked(plan.folder) as check_lock:
        if existing_run(plan.folder, resume=options.resume) != plan.stored:
            raise TrainingError(
                f"{plan.folder}: another process began this run meanwhile; call again"
            )
        trainer = run_session(
            plan,
            inventory,
            check_lock=check_lock,
            to_spell=to_spell,
            is_over=lambda: is_stopped() or time.monotonic() > deadline,
            is_stopped=is_stopped,
            watcher=watcher,
            ranks=first.start_others(),
        )
    return _result(trainer, plan.folder)


def _result(trainer: Trainer, folder: Path) -> TrainResult:
    position = trainer.position
    best = position.best_epoch
    valid_ppl = position.history[best - 1]["valid_ppl"] if best else None
    if valid_ppl is not None and trainer.recipe.temperature == "valid":
        valid_ppl, _ = kept_ppl(folder, ppl=valid_ppl)
    return TrainResult(
        run=str(folder),
        is_finished=trainer.progress.is_finished,
        epochs=position.epoch,
        steps=position.step,
        best_epoch=best,
        valid_ppl=valid_ppl,
        seconds=total_seconds(position.history) + position.seconds,
        n_parameters=sum(trainer.model.n_parameters_by_part().values()),
    )
