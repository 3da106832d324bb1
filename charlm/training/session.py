"""One sitting of a training: from a settled plan to a run that is finished or can be gone on with.

The order of things is what makes a crash harmless: run.json before the first step, and after each
epoch the best weights, the log and last the checkpoint.
"""

import errno
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import torch

from charlm import __version__
from charlm.errors import DataError
from charlm.model.build import build_model
from charlm.run.card import save_card
from charlm.run.curve import save_curve
from charlm.run.folder import CURVE, ENCODED, RESUME, RUN, VOCABULARY, RunInfo
from charlm.runtime import versions
from charlm.settings import Settings
from charlm.text.corpus import (
    EncodedText,
    corpus_normalisation,
    reopen_text,
    split_path,
)
from charlm.text.inventory import Inventory
from charlm.text.perplexity import normalisation_name
from charlm.text.split import SUMMARY
from charlm.training.checkpoint import restore_position, save_epoch, save_log, save_position
from charlm.training.estimate import Estimate, estimate
from charlm.training.loop import Trainer, unigrams
from charlm.training.recipe import Recipe, build_recipe
from charlm.training.request import Plan
from charlm.training.speller import Spellings, with_speller
from charlm.training.temperature import set_temperature

CHECKPOINT_SECONDS = 600.0  # between checkpoints within an epoch


class Watcher(Protocol):
    """What a caller may want to hear; the command line draws it."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def started(self, trainer: Trainer, *, parameters: dict[str, int], cost: Estimate) -> None:
        """Everything is built and the first step is about to be made."""

    def stepped(self, trainer: Trainer) -> None:
        """A step was made."""

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        """An epoch was made, validated and written down."""


class Silence:
    """A watcher that says nothing."""

    def note(self, text: str) -> None: ...
    def started(self, trainer: Trainer, *, parameters: dict[str, int], cost: Estimate) -> None: ...
    def stepped(self, trainer: Trainer) -> None: ...
    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None: ...


def run_session(
    plan: Plan,
    inventory: Inventory,
    *,
    to_spell: Spellings | None,
    deadline: float | None,
    watcher: Watcher,
) -> Trainer:
    """Train until the end or the deadline (of `time.monotonic`); the trainer as it then stands."""
    _note_text(plan, inventory, watcher=watcher)
    recipe, recipe_settings = build_recipe(plan.settings.get("recipe"))
    texts = _encoded(plan, inventory, oov_input=recipe.oov_input)
    trainer, model_settings = _trainer(plan, inventory, recipe=recipe, texts=texts)
    settings = {**model_settings, "recipe": recipe_settings}
    info = _info(plan, settings, inventory=inventory, texts=texts)
    if plan.stored:
        _check(plan.stored, info, watcher=watcher)
        info = plan.stored
        if not (plan.folder / VOCABULARY).is_file():
            inventory.save(plan.folder / VOCABULARY)
    else:
        inventory.save(plan.folder / VOCABULARY)
        info.save(plan.folder)
    if to_spell:
        info = with_speller(
            plan.folder, info, spellings=to_spell, inventory=inventory, note=watcher.note
        )
    if plan.stored and (plan.folder / RESUME).is_file():
        restore_position(trainer, plan.folder)
        save_log(trainer.position, plan.folder)
        if trainer.position.history:  # a crash after the last checkpoint leaves these behind
            _draw(trainer, plan.folder, info=info)
    if not trainer.is_finished:
        parameters = trainer.model.n_parameters_by_part()
        watcher.started(trainer, parameters=parameters, cost=estimate(trainer))
    _run_epochs(trainer, plan.folder, info=info, deadline=deadline, watcher=watcher)
    return trainer


def _encoded(plan: Plan, inventory: Inventory, *, oov_input: str) -> dict[str, EncodedText]:
    folder = plan.folder / ENCODED
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        # A stranger's run could have its link's target written to, and emptied at the end.
        raise DataError(f"{folder}: is a link or a file; expected charlm's own folder; remove it")
    folder.mkdir(exist_ok=True)
    return {
        split: reopen_text(
            split_path(plan.data, split),
            inventory,
            stem=folder / split,
            max_tokens=plan.max_tokens if split == "train" else 0,
            oov_input=oov_input,
        )
        for split in ("train", "valid")
    }


def _note_text(plan: Plan, inventory: Inventory, *, watcher: Watcher) -> None:
    """What a user would not expect of how his text is read."""
    own, rules = corpus_normalisation(plan.data), inventory.normalisation
    if (plan.data / SUMMARY).is_file() and own != rules:
        watcher.note(
            f"the vocabulary's text rules ({normalisation_name(rules)}) are not those that the "
            f"corpus was prepared with ({normalisation_name(own)}); the vocabulary's are applied"
        )
    longest = inventory.max_word_length
    if n_cut := inventory.n_cut_words:
        watcher.note(
            f"{n_cut} words are longer than {longest} characters and read by their first {longest}"
        )


def _trainer(
    plan: Plan, inventory: Inventory, *, recipe: Recipe, texts: dict[str, EncodedText]
) -> tuple[Trainer, Settings]:
    """A trainer before its first step, and its model's settings with all defaults filled in."""
    torch.manual_seed(plan.seed)
    model, model_settings = build_model(plan.settings, inventory, may_read=plan.stored is None)
    recipe.initialisation.apply(model)
    if recipe.criterion.is_self_normalised:
        model.output.start_from(unigrams(inventory).log())
    model.encoder.after_step()
    model.output.after_step()
    trainer = Trainer(
        model,
        recipe,
        inventory=inventory,
        train_text=texts["train"],
        valid_text=texts["valid"],
        device=plan.device,
        precision=plan.precision,
        seed=plan.seed,
    )
    return trainer, model_settings


def _info(
    plan: Plan, settings: Settings, *, inventory: Inventory, texts: dict[str, EncodedText]
) -> RunInfo:
    corpus: dict[str, Any] = {
        split: {"sha256": t.sha256, "n_sentences": t.n_sentences, "n_tokens": len(t.ids)}
        for split, t in texts.items()
    }
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
        command=[Path(sys.argv[0]).name, *sys.argv[1:]],
        charlm=__version__,
    )


def _check(stored: RunInfo, now: RunInfo, *, watcher: Watcher) -> None:
    """What the run was begun with against what is here now."""
    for split in ("train", "valid"):
        if stored.corpus[split]["sha256"] != now.corpus[split]["sha256"]:
            raise DataError(
                f"{split}.txt: not the text that the run was begun with; give that one with --data"
            )
        said, found = stored.corpus[split]["n_tokens"], now.corpus[split]["n_tokens"]
        if said != found:
            raise DataError(
                f"{split}.txt: read as {found} tokens; expected the {said} of {RUN}; "
                "the run is damaged"
            )
    # Options that charlm has got since the run was begun have defaults that change nothing.
    for what in ("threads", "device", "versions", "charlm"):
        before, after = getattr(stored, what), getattr(now, what)
        if before != after:
            watcher.note(
                f"other {what} than the run's ({before}, now {after}): results agree closely, "
                "not to the bit"
            )


def _run_epochs(
    trainer: Trainer, folder: Path, *, info: RunInfo, deadline: float | None, watcher: Watcher
) -> None:
    saved = time.monotonic()

    def after_step() -> bool:
        nonlocal saved
        watcher.stepped(trainer)
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            save_position(trainer, folder)
            saved = time.monotonic()
        return deadline is not None and time.monotonic() > deadline

    while not trainer.is_finished:
        if not trainer.run_epoch(after_step):
            save_position(trainer, folder)
            return
        save_epoch(trainer, folder)
        saved = time.monotonic()
        _draw(trainer, folder, info=info)
        position = trainer.position
        watcher.epoch_done(position.history[-1], is_best=position.best_epoch == position.epoch)
        if deadline is not None and saved > deadline:
            break
    if trainer.is_finished:
        set_temperature(trainer, folder, note=watcher.note)
        _remove_encoded(folder, watcher)


def _draw(trainer: Trainer, folder: Path, *, info: RunInfo) -> None:
    """The curve and the card of all epochs so far."""
    history = trainer.position.history
    save_curve(history, folder / CURVE, title=f"{info.arch} on {info.corpus['name']}")
    save_card(
        folder,
        info,
        history=history,
        inventory=trainer.inventory,
        parameters=trainer.model.n_parameters_by_part(),
    )


def _remove_encoded(folder: Path, watcher: Watcher) -> None:
    """Encoded text is needed while a training runs, and made again where it is missing."""
    names = [f"{split}.{kind}" for split in ("train", "valid") for kind in ("ids", "json")]
    try:
        for name in (*names, *(f".{name}.partial" for name in names)):
            (folder / ENCODED / name).unlink(missing_ok=True)
        (folder / ENCODED).rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EISDIR):
            raise
        watcher.note(
            f"{folder / ENCODED}: holds what is not charlm's; the run counts as unfinished until "
            "it is moved away"
        )
