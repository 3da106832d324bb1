"""From a plan to a run directory: one session of a training, until it is finished or interrupted.

The order of writing makes a crash harmless: run.json before the first step, and after each epoch
the hash of the best weights, the weights, the log, and the checkpoint last.

Of several processes only the first writes. The others are told what to do. They read vocabulary,
encoded text and checkpoint from the run directory, so all machines must see that folder; they do
not need the corpus.
"""

import errno
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from charlm.errors import DataError
from charlm.model.build import build_model
from charlm.run.card import save_card
from charlm.run.curve import save_curve
from charlm.run.folder import CURVE, ENCODED, RESUME, RUN, VOCABULARY, RunInfo
from charlm.runtime import set_threads, versions
from charlm.settings import Settings, merged
from charlm.text.corpus.sentences import split_path
from charlm.text.io.atomic import neighbour_of
from charlm.text.vocabulary.encoding import EncodedText, encode_text
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory
from charlm.training.checkpoint import restore_position, save_epoch, save_log, save_position
from charlm.training.init_from_run import begin_from
from charlm.training.loop.estimate import estimate
from charlm.training.loop.objective import draw_weights
from charlm.training.loop.trainer import Trainer
from charlm.training.planning.plan import Plan
from charlm.training.planning.plan_checks import check_texts, initial_run
from charlm.training.planning.training_notes import (
    note_cut_words,
    note_epoch_end,
    note_settings,
    note_text,
)
from charlm.training.ranks import Ranks
from charlm.training.recipe.recipe import MOST
from charlm.training.temperature import set_temperature
from charlm.training.train_options import Watcher
from charlm.training.train_speller import Spellings, with_speller
from charlm.training.watcher import Silence
from charlm.version import __version__

CHECKPOINT_SECONDS = 600.0  # between checkpoints within an epoch
# Between checkpoints at the end of epochs on a GPU, where an epoch may take three seconds and
# writing a checkpoint and the card adds half a second.
GPU_SECONDS = 20.0
CURVE_SECONDS = 20.0  # between curves, each of which takes a quarter of a second; the last is drawn
WHY_SMALL = "many small steps learn more of little text than few large ones"


def run_session(
    plan: Plan,
    inventory: Inventory,
    *,
    check_lock: Callable[[], None],
    to_spell: Spellings | None,
    is_over: Callable[[], bool],
    is_stopped: Callable[[], bool],
    watcher: Watcher,
    ranks: Ranks,
) -> Trainer:
    """Train to the end, or until `is_over`; returns the trainer as it then stands.

    `is_over` is asked after steps and epochs. `is_stopped` is also asked within a validation, but
    only in a training of one process, since several would have to stop at the same place.

    Of several processes the first runs this function; the others run `follow`.
    """
    note_text(plan, inventory, watcher=watcher)
    if plan.stored:
        check_texts(plan)
    texts = encoded_texts(plan, inventory)
    plan = _suited_to_text(plan, texts["train"], n_processes=ranks.size, watcher=watcher)
    trainer, model_settings = trainer_of(plan, inventory, texts=texts, ranks=ranks)
    if ranks.size == 1:
        trainer.is_stopped = is_stopped
    settings = {**model_settings, "recipe": plan.settings["recipe"]}
    info = _info(plan, settings, inventory=inventory, texts=texts)
    if plan.init:
        run = initial_run(plan)
        watcher.note(f"begun from {plan.init}: {begin_from(trainer.model, inventory, run=run)}")
        info = replace(info, init={"run": str(plan.init), "sha256": run.weights_sha256})
    check_lock()
    if plan.stored:
        _check(plan.stored, info, watcher=watcher)
        info = _with_epochs(plan.stored, plan)
    _save_what_is_new(plan, info, inventory=inventory)
    if to_spell:
        info = with_speller(
            plan.folder,
            info,
            spellings=to_spell,
            inventory=inventory,
            note=watcher.note,
            check_lock=check_lock,
            is_stopped=is_stopped,
        )
    begun = TrainingStart(
        plan=replace(plan, settings=settings, stored=info),
        texts={split: replace(text, ids=np.empty(0, np.int32)) for split, text in texts.items()},
        is_resumed=bool(plan.stored) and (plan.folder / RESUME).is_file(),
    )
    begun = ranks.from_first(lambda: begun)
    train_on(trainer, begun, check_lock=check_lock, is_over=is_over, watcher=watcher)
    return trainer


@dataclass(frozen=True)
class TrainingStart:
    """What the first process sends to the others once the run is on disk."""

    plan: Plan  # with all defaults, and with the description of the run, resumed or new
    texts: dict[str, EncodedText]  # without their ids, which are in the run directory
    is_resumed: bool


def follow(ranks: Ranks, begun: TrainingStart, *, device: torch.device) -> None:
    """Train beside the first process until it ends.

    Raises:
        DataError: this machine does not see the run directory.
        RankLostError: another process is gone; the first one says why.
    """
    plan = replace(begun.plan, device=device)
    set_threads(plan.threads)  # may come from a resumed run
    texts = {}
    for split, text in begun.texts.items():
        path = (plan.folder / ENCODED / split).with_suffix(".ids")
        if not path.is_file():
            raise DataError(
                f"{path}: process {ranks.rank} of {ranks.size} does not see it; expected the run "
                "directory that the first process writes; give an --out that all machines share"
            )
        texts[split] = replace(text, ids=np.memmap(path, dtype="<i4", mode="r"))
    inventory = load_inventory(plan.folder / VOCABULARY)
    trainer, _ = trainer_of(plan, inventory, texts=texts, ranks=ranks)
    train_on(trainer, begun, check_lock=lambda: None, is_over=lambda: False, watcher=Silence())


def train_on(
    trainer: Trainer,
    begun: TrainingStart,
    *,
    check_lock: Callable[[], None],
    is_over: Callable[[], bool],
    watcher: Watcher,
) -> None:
    """Train from the checkpoint or the start; every process does this, and the first one writes.

    Raises:
        TrainingError: from `check_lock`, which is called before each save.
    """
    folder, ranks = begun.plan.folder, trainer.ranks
    if begun.is_resumed:
        n_before = restore_position(trainer, folder)
        if n_before != ranks.size:
            watcher.note(_other("number of processes", before=n_before, now=ranks.size))
        check_lock()
        if ranks.is_first:
            save_log(trainer.position, folder)
        _save_card(trainer, begun)  # outdated if a crash came after the checkpoint
        if trainer.progress.is_finished:
            note_epoch_end(trainer, watcher)  # patience also ends a run that was given more epochs
    ranks.spread(trainer.objective.modules.state_dict().values())
    if not trainer.progress.is_finished:
        parameters = trainer.model.n_parameters_by_part()
        note_cut_words(trainer, watcher)
        note_settings(trainer, begun.plan, watcher=watcher)
        watcher.started(trainer, parameters=parameters, cost=estimate(trainer))
    _run_epochs(trainer, begun, check_lock=check_lock, is_over=is_over, watcher=watcher)


def encoded_texts(plan: Plan, inventory: Inventory) -> dict[str, EncodedText]:
    """The training and validation text of a run, encoded into its directory if not yet there.

    Raises:
        DataError: something else stands in their place, or as `encode_text`.
    """
    folder = plan.folder / ENCODED
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        # With a link in an untrusted run we would write to its target, and empty it at the end.
        raise DataError(f"{folder}: is a link or a file; expected charlm's own folder; remove it")
    folder.mkdir(exist_ok=True)
    return {
        split: encode_text(
            split_path(plan.data, split),
            inventory,
            stem=folder / split,
            max_tokens=plan.max_tokens if split == "train" else 0,
            oov_input=plan.recipe.oov_input,
            threads=plan.threads,
            reopen=True,
        )
        for split in ("train", "valid")
    }


def _suited_to_text(plan: Plan, text: EncodedText, *, n_processes: int, watcher: Watcher) -> Plan:
    """The plan with what its recipe leaves to the text; the run stores it."""
    chosen: Settings = {}
    size, given = plan.recipe.batch_size_for(text, n_processes=n_processes), plan.recipe.batch_size
    what = "sentences" if plan.recipe.batching.by_sentence else "streams"
    if given and size < given and plan.keeps_batch_size:
        watcher.note(
            f"{given} {what} side by side, as in {plan.init}; --batch-size 0 takes {size} for "
            f"this text: {WHY_SMALL}"
        )
    if not given:
        chosen["batch_size"] = size
        if size < MOST:
            watcher.note(
                f"{size} {what} side by side, of a longer text up to {MOST} (--batch-size): "
                f"{WHY_SMALL}"
            )
    if plan.recipe.input_noise < 0:
        chosen["input_noise"] = noise = plan.recipe.input_noise_for(text)
        if noise:
            watcher.note(
                f"recipe.input_noise={noise:g} (0: none): other words replace some input, as the "
                "text is short"
            )
    settings = merged(plan.settings, {"recipe": chosen})
    return replace(plan, recipe=replace(plan.recipe, **chosen), settings=settings)


def trainer_of(
    plan: Plan,
    inventory: Inventory,
    *,
    texts: dict[str, EncodedText],
    ranks: Ranks,
) -> tuple[Trainer, Settings]:
    """A trainer before its first step, and its model's settings with all defaults filled in."""
    if plan.device.index is not None:  # else each process would also use memory of the first GPU
        torch.cuda.set_device(plan.device)
    _seed(plan.seed, plan.device)
    model, model_settings = build_model(plan.settings, inventory, may_read=plan.may_read)
    draw_weights(model, plan.recipe, inventory=inventory)
    trainer = Trainer(
        model,
        plan.recipe,
        inventory=inventory,
        train_text=texts["train"],
        valid_text=texts["valid"],
        device=plan.device,
        precision=plan.precision,
        seed=plan.seed,
        ranks=ranks,
    )
    if not ranks.is_first:
        _seed(ranks.seed(plan.seed), plan.device)
    return trainer, model_settings


def _seed(seed: int, device: torch.device) -> None:
    """Seed what a training draws from; on a CPU not the GPUs', which are the program's own."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _info(
    plan: Plan, settings: Settings, *, inventory: Inventory, texts: dict[str, EncodedText]
) -> RunInfo:
    corpus: dict[str, Any] = {
        split: {"sha256": t.sha256, "n_sentences": t.n_sentences, "n_tokens": len(t.ids)}
        for split, t in texts.items()
    }
    program = Path(sys.argv[0]).name
    return RunInfo(
        arch=plan.arch,
        settings=settings,
        corpus={"name": plan.data.resolve().name, **corpus, "max_tokens": plan.max_tokens},
        vocabulary_sha256=inventory.sha256,
        seed=plan.seed,
        threads=plan.threads,
        device=plan.device.type,
        precision=plan.precision,
        versions=versions(),
        command=["charlm" if program == "__main__.py" else program, *sys.argv[1:]],
        charlm=__version__,
        counts_sha256=inventory.counts_sha256,
    )


def _check(stored: RunInfo, now: RunInfo, *, watcher: Watcher) -> None:
    """Compare the run's description with the current texts and machine."""
    for split in ("train", "valid"):
        said, found = stored.corpus[split]["n_tokens"], now.corpus[split]["n_tokens"]
        if said != found:
            raise DataError(
                f"{split}.txt: read as {found} tokens; expected the {said} of {RUN}; "
                "the run is damaged"
            )
    # Options added to charlm since the run was begun have defaults that change nothing.
    for what in ("threads", "device", "versions", "charlm"):
        before, after = getattr(stored, what), getattr(now, what)
        if before != after:
            watcher.note(_other(what, before=before, now=after))


def _other(what: str, *, before: object, now: object) -> str:
    """The note of a difference from the run's description."""
    masks = "" if what == "threads" else "dropout may draw other masks; without it, "
    return (
        f"other {what} than the run's ({before}, now {now}): {masks}results agree closely, "
        "not to the bit"
    )


def _save_what_is_new(plan: Plan, info: RunInfo, *, inventory: Inventory) -> None:
    """Save the vocabulary and run.json, where they are not there yet."""
    if not (plan.stored and (plan.folder / VOCABULARY).is_file()):
        inventory.save(plan.folder / VOCABULARY)
    if not plan.stored:
        info.save(plan.folder)


def _with_epochs(stored: RunInfo, plan: Plan) -> RunInfo:
    """The run's description with the epochs of the plan, which may be more now; saved if so."""
    epochs = {"recipe": {"epochs": plan.recipe.epochs}}
    info = replace(stored, settings=merged(stored.settings, epochs))
    if info != stored:
        info.save(plan.folder)
    return info


def _run_epochs(
    trainer: Trainer,
    begun: TrainingStart,
    *,
    check_lock: Callable[[], None],
    is_over: Callable[[], bool],
    watcher: Watcher,
) -> None:
    folder, ranks = begun.plan.folder, trainer.ranks
    saved = drawn = time.monotonic()
    is_saved = True

    def after_step() -> bool:
        nonlocal saved
        watcher.stepped(trainer)
        is_due, is_last = ranks.decided(time.monotonic() - saved > CHECKPOINT_SECONDS, is_over())
        if is_due:
            check_lock()
            save_position(trainer, folder)
            saved = time.monotonic()
        return is_last

    while not trainer.progress.is_finished:
        is_whole = trainer.run_epoch(after_step)
        check_lock()
        if not is_whole:
            is_saved = False
            break
        is_saved = not trainer.stepping.runs_ahead or time.monotonic() - saved >= GPU_SECONDS
        save_epoch(trainer, folder, with_position=is_saved)
        if is_saved:
            saved = time.monotonic()
            _save_card(trainer, begun)
            if saved - drawn >= CURVE_SECONDS:
                _save_curve(trainer, begun)
                drawn = saved
        position = trainer.position
        watcher.epoch_done(position.history[-1], is_best=position.best_epoch == position.epoch)
        note_epoch_end(trainer, watcher)
        if any(ranks.decided(is_over())):
            break
    if not is_saved:
        save_position(trainer, folder)
        _save_card(trainer, begun)
    _save_curve(trainer, begun)
    if trainer.progress.is_finished and ranks.is_first:
        _end(trainer, begun, check_lock=check_lock, watcher=watcher)


def _end(
    trainer: Trainer, begun: TrainingStart, *, check_lock: Callable[[], None], watcher: Watcher
) -> None:
    """What is left to do after the last epoch."""
    folder = begun.plan.folder
    is_set = set_temperature(trainer, folder, note=watcher.note, check_lock=check_lock)
    check_lock()
    if is_set:
        _save_card(trainer, begun)
    remove_encoded(folder, watcher)


def _save_card(trainer: Trainer, begun: TrainingStart) -> None:
    info, history = begun.plan.stored, trainer.position.history
    if history and trainer.ranks.is_first:
        assert info is not None
        save_card(
            begun.plan.folder,
            info,
            history=history,
            inventory=trainer.inventory,
            parameters=trainer.model.n_parameters_by_part(),
        )


def _save_curve(trainer: Trainer, begun: TrainingStart) -> None:
    info, history = begun.plan.stored, trainer.position.history
    if history and trainer.ranks.is_first:
        assert info is not None
        title = f"{info.arch} on {info.corpus['name']}"
        save_curve(history, begun.plan.folder / CURVE, title=title)


def remove_encoded(folder: Path, watcher: Watcher) -> None:
    """Remove encoded text: only a training needs it, and makes it again if it is missing."""
    names = [f"{split}.{kind}" for split in ("train", "valid") for kind in ("ids", "json")]
    outside = neighbour_of(folder / ENCODED)
    try:
        for name in names:
            # It may be mapped still: NFS then keeps it, hidden where it was removed, until we end.
            with suppress(FileNotFoundError):
                (folder / ENCODED / name).rename(outside)
            outside.unlink(missing_ok=True)
            (folder / ENCODED / f".{name}.partial").unlink(missing_ok=True)
        (folder / ENCODED).rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EISDIR):
            raise
        watcher.note(
            f"{folder / ENCODED}: holds what is not charlm's; the run counts as unfinished until "
            "it is moved away"
        )
