"""Checks of vocabulary, model and checkpoint before a training writes anything.

Models are built on the meta device here, where an untrusted run that asks for a billion units takes
no memory.
"""

from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.model.build import build_model, without_memory
from charlm.run.folder import (
    CARD,
    MODEL,
    RESUME,
    VOCABULARY,
    RunInfo,
    is_unfinished,
    load_info,
)
from charlm.run.history import recorded_history
from charlm.run.stored_weights import (
    LoadedRun,
    check_header,
    check_recorded,
    check_words,
    load_run,
    load_words,
)
from charlm.text.corpus.sentences import corpus_normalisation, split_path
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.counts import count_file
from charlm.text.vocabulary.vocabulary import (
    Inventory,
    extended,
    inventory_of,
    load_inventory,
    vocabulary_at,
)
from charlm.training.init_from_run import begin_from
from charlm.training.planning.plan import Plan


def inventory_for(plan: Plan) -> Inventory:
    """The vocabulary that the plan's model is built over.

    Raises:
        DataError: it cannot be read or counted, or is not the one of the run.
    """
    inventory = _inventory(plan)
    if plan.stored:
        check_words(inventory, plan.stored, path=plan.folder / VOCABULARY)
    return inventory


def check_plan(plan: Plan, inventory: Inventory) -> None:
    """Raise the errors that the training would otherwise raise later.

    Raises:
        ConfigError: the settings make no model over the vocabulary, or none that can be trained.
        DataError: the checkpoint is of another model, or the run to begin from is not a run.
    """
    recipe = plan.recipe
    with without_memory():
        model, _ = build_model(plan.settings, inventory, may_read=plan.may_read)
    recipe.check(model.output)
    for epoch in range(recipe.epochs):
        model.encoder.use_side(recipe.schedule.side(epoch))
    if recipe.schedule.side(recipe.epochs - 1) != "both":
        raise ConfigError(
            f"option 'epochs' of recipe is {recipe.epochs}, all of them pre-training on one side; "
            "expected some with both; raise --epochs, or lower recipe.schedule.epochs"
        )
    if recipe.oov_input == "spelling" and not model.encoder.reads_spelling:
        raise ConfigError(
            "option 'oov_input' of recipe is 'spelling'; expected 'unk', since encoder "
            f"{plan.settings['encoder']['type']!r} reads no spelling; use --set "
            "recipe.oov_input=unk"
        )
    if plan.stored and (plan.folder / RESUME).is_file():
        check_header(model, plan.folder / RESUME, prefix="model.")
        if recorded_history(plan.folder / RESUME):
            _require_best_weights(plan.folder / MODEL, plan.stored)
    elif plan.stored and (plan.folder / MODEL).is_file() and _had_checkpoint(plan.folder):
        raise DataError(
            f"{plan.folder / RESUME}: no such file; expected where the training stands, since it "
            "would begin again and write over the best weights; put it back, or begin another "
            f"run with them, --init {plan.folder} --out OTHER"
        )
    if plan.init:
        begin_from(model, inventory, run=initial_run(plan))


def _had_checkpoint(folder: Path) -> bool:
    """Whether a run was once saved to go on; a crash in the first epochs comes before that."""
    return (folder / CARD).is_file() or not is_unfinished(folder)  # the card is written after it


def _require_best_weights(path: Path, info: RunInfo) -> None:
    """Raises DataError if the weights that no later epoch may better are not there, or damaged."""
    if not path.is_file():
        raise DataError(
            f"{path}: no such file; expected the best weights of the epochs that are done, which "
            "no other file holds; put it back, or begin again with another --out"
        )
    check_recorded(sha256_of(path), info, path=path)


def initial_run(plan: Plan) -> LoadedRun:
    """The run that the plan's run begins from.

    Raises:
        DataError: it is not a run, or not the one that this run was begun from.
    """
    assert plan.init is not None
    run = load_run(plan.init)
    begun = plan.stored.init if plan.stored else None
    if begun and begun.get("sha256") != run.weights_sha256:
        raise DataError(
            f"{plan.init}: its model has changed since {plan.folder} was begun with it; give the "
            "one that it was with --init, or begin again with another --out"
        )
    return run


def check_texts(plan: Plan) -> None:
    """Refuse texts other than the run's, before any of its files is touched.

    Raises:
        DataError: a text has changed, or is missing.
    """
    assert plan.stored is not None
    for split in ("train", "valid"):
        path = split_path(plan.data, split)
        if plan.stored.corpus[split]["sha256"] != sha256_of(path):
            raise DataError(
                f"{path}: not the text that the run was begun with; give that one with --data"
            )


def _inventory(plan: Plan) -> Inventory:
    if plan.stored and (plan.folder / VOCABULARY).is_file():
        return load_inventory(plan.folder / VOCABULARY)
    if plan.vocab:
        return vocabulary_at(plan.vocab)
    path, normalisation = split_path(plan.data, "train"), corpus_normalisation(plan.data)
    known = load_words(plan.init, load_info(plan.init)) if plan.init else None
    if known:
        normalisation = known.normalisation
    counts = count_file(
        path, normalisation=normalisation, max_tokens=plan.max_tokens, threads=plan.threads
    )
    if plan.max_tokens and not counts.n_words:
        raise DataError(
            f"{path}: --max-tokens {plan.max_tokens} leaves no word of it; expected more than the "
            "first sentences have; give a larger number"
        )
    return extended(known, counts) if known else inventory_of(counts, normalisation=normalisation)
