"""`charlm train`: a corpus directory to a run directory.

This is the command as a function; `request` settles what was asked for and `session` does it.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from charlm.errors import TrainingError
from charlm.processes.command import First, Machine, run_command
from charlm.run.card import kept
from charlm.run.folder import locked
from charlm.run.history import total_seconds
from charlm.text.corpus.sentences import split_path
from charlm.text.io.paths import make_folder
from charlm.training.checked_vocabulary import inventory_for
from charlm.training.following import follow
from charlm.training.loop.trainer import Trainer
from charlm.training.plan import (
    Request,
    existing_run,
    parse_time,
    requested_changes,
    settled,
)
from charlm.training.ranks import ALONE, Ranks, check_batch_size
from charlm.training.recipe.recipe import build_recipe
from charlm.training.session import run_session
from charlm.training.train_speller import SpellerRequest, wanted_spellings
from charlm.training.watcher import LastingWatcher, Silence, Watcher

__all__ = ["Silence", "TrainResult", "Watcher", "train"]


@dataclass(frozen=True)
class TrainResult:
    """What a training reached."""

    run: str
    is_finished: bool  # False: stopped by max_time
    epochs: int
    best_epoch: int  # 0: none is finished
    valid_ppl: float | None  # of the best epoch
    seconds: float  # of all steps and validations, earlier sittings included
    n_parameters: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def train(
    *,
    data: str | Path,
    arch: str | None = None,
    init: str | Path | None = None,
    out: str | Path | None = None,
    vocab: str | Path | None = None,
    max_tokens: int = 0,
    resume: bool = False,
    epochs: int | None = None,
    batch_size: int | None = None,
    bptt: int | None = None,
    lr: float | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    threads: int | None = None,
    max_time: str | None = None,
    device: str = "auto",
    gpus: str | None = None,
    processes: int | None = None,
    precision: str = "auto",
    speller: bool = False,
    spellings: str | Path | None = None,
    watcher: Watcher | None = None,
) -> TrainResult:
    """Train a preset on the corpus directory `data`, which is not written to, into the run `out`.

    None means: what the preset says, or on `resume` what the run says. `overrides` are
    `part.option=value`; `max_time` is as 30m, 2h, 90s. `init` is a run whose model this one begins
    with; unless `vocab` says another, the vocabulary is that run's and the text's together.
    `speller` adds a model of how words outside the vocabulary are spelled, learned from those of
    the training text or of the text `spellings`; on `resume` also to a run that is finished. `gpus`
    (as "0,1") starts a process for each GPU, `processes` as many on the CPU, and each has its share
    of a batch. Under torchrun the first process trains as asked, and the others beside it, whatever
    their options are.

    Raises:
        ConfigError: an option that does not exist, does not fit, or disagrees with a resumed run.
        DataError: a corpus, vocabulary or checkpoint that is not what was expected.
        TrainingError: the run exists or is locked, or its lock was lost; the loss became NaN.
        ProcessError: another process ended.
    """
    deadline = time.monotonic() + parse_time(max_time) if max_time else None

    def lead(first: First[Ranks]) -> TrainResult:
        request = Request(
            data=Path(data),
            arch=arch,
            init=Path(init) if init else None,
            out=Path(out) if out else None,
            vocab=Path(vocab) if vocab else None,
            max_tokens=max_tokens,
            resume=resume,
            changes=requested_changes(
                overrides, epochs=epochs, batch_size=batch_size, bptt=bptt, lr=lr
            ),
            seed=seed,
            threads=threads,
            device=first.device,
            precision=precision,
        )
        asked = SpellerRequest(
            is_asked=speller or spellings is not None,
            text=Path(spellings) if spellings is not None else None,
            train=Path(data) / "train.txt",
            max_tokens=max_tokens,
        )
        return _trained(
            request, asked, first=first, deadline=deadline, watcher=watcher or Silence()
        )

    # How many threads a run that is gone on with has is not known yet.
    machine = Machine(device, gpus, processes, threads=None)
    return run_command(ALONE, machine=machine, lead=lead, follow=follow)


def _trained(
    request: Request,
    asked: SpellerRequest,
    *,
    first: First[Ranks],
    deadline: float | None,
    watcher: Watcher,
) -> TrainResult:
    for split in ("train", "valid"):
        split_path(request.data, split)
    plan = settled(request)
    watcher = LastingWatcher(watcher, run=plan.folder)
    if request.resume and not plan.stored:
        watcher.note(f"{plan.folder} holds no run yet: starting one")
    inventory = inventory_for(plan)
    recipe, _ = build_recipe(plan.settings.get("recipe"))
    check_batch_size(recipe.batch_size, first.size)
    asked = replace(asked, max_tokens=plan.max_tokens)
    to_spell = wanted_spellings(asked, inventory, folder=plan.folder, stored=plan.stored)
    make_folder(plan.folder)
    with locked(plan.folder) as check_lock:
        if existing_run(request) != plan.stored:
            raise TrainingError(
                f"{plan.folder}: another process began this run meanwhile; call again"
            )
        trainer = run_session(
            plan,
            inventory,
            check_lock=check_lock,
            to_spell=to_spell,
            deadline=deadline,
            watcher=watcher,
            ranks=first.start_others(),
        )
    return _result(trainer, plan.folder)


def _result(trainer: Trainer, folder: Path) -> TrainResult:
    position = trainer.position
    best = position.best_epoch
    valid_ppl = position.history[best - 1]["valid_ppl"] if best else None
    if valid_ppl is not None and trainer.recipe.temperature == "valid":
        valid_ppl, _ = kept(folder, ppl=valid_ppl)
    return TrainResult(
        run=str(folder),
        is_finished=trainer.is_finished,
        epochs=position.epoch,
        best_epoch=best,
        valid_ppl=valid_ppl,
        seconds=total_seconds(position.history) + position.seconds,
        n_parameters=sum(trainer.model.n_parameters_by_part().values()),
    )
