"""The vocabulary of a training, and whether its settings make a model over it.

Whatever can be refused is refused here: before anything is written, and on the meta device, where a
stranger's run that asks for a billion units takes no memory.
"""

from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.model.build import build_model, without_memory
from charlm.run.folder import MODEL, RESUME, VOCABULARY, load_info
from charlm.run.history import recorded_history
from charlm.run.stored_weights import LoadedRun, check_counts, check_header, load_run, load_words
from charlm.text.corpus.sentences import corpus_normalisation, split_path
from charlm.text.vocabulary.counts import count_file
from charlm.text.vocabulary.vocabulary import Inventory, extended, inventory_of, load_inventory
from charlm.training.init_from_run import begin_from
from charlm.training.plan import Plan
from charlm.training.recipe.recipe import build_recipe


def inventory_for(plan: Plan) -> Inventory:
    """The vocabulary that the plan's model is built over.

    Raises:
        ConfigError: settings that make no model over it, found before anything is written.
        DataError: a run of another vocabulary, or whose checkpoint is of another model, found
            before memory is taken for what its run.json asks for.
    """
    inventory = _inventory(plan)
    if plan.stored and plan.stored.vocabulary_sha256 != inventory.sha256:
        raise DataError(f"{VOCABULARY}: not the vocabulary of this run; the run is damaged")
    if plan.stored:
        check_counts(inventory, plan.stored, path=plan.folder / VOCABULARY)
    recipe, _ = build_recipe(plan.settings.get("recipe"))
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
            f"{plan.settings['encoder']['type']!r} reads no spelling"
        )
    if plan.stored and (plan.folder / RESUME).is_file():
        check_header(model, plan.folder / RESUME, prefix="model.")
        _require_best(plan.folder)
    if plan.init:
        begin_from(model, inventory, run=beginning_of(plan))
    return inventory


def _require_best(folder: Path) -> None:
    """Raises DataError if epochs are done and the best one's weights, written before, are gone."""
    if not (folder / MODEL).is_file() and recorded_history(folder / RESUME):
        raise DataError(
            f"{folder / MODEL}: no such file; expected the best weights of the epochs that are "
            "done, which no other file holds; put it back, or begin again with another --out"
        )


def beginning_of(plan: Plan) -> LoadedRun:
    """The run that a plan's begins with.

    Raises:
        DataError: it is no run, or not the one that this run was begun with.
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


def _inventory(plan: Plan) -> Inventory:
    if plan.stored and (plan.folder / VOCABULARY).is_file():
        return load_inventory(plan.folder / VOCABULARY)
    if plan.vocab:
        return load_inventory(plan.vocab)
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
