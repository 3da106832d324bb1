"""What a training's user may not expect, told once: of the text, of settings, of an epoch's end."""

from collections.abc import Iterator

from charlm.model.contract import Encoder
from charlm.settings import Settings
from charlm.text.corpus.sentences import corpus_normalisation
from charlm.text.corpus.split import SUMMARY
from charlm.text.corpus.tokens import UNK
from charlm.text.perplexity.signature import normalisation_name
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.loop.trainer import Trainer
from charlm.training.planning.plan import Plan
from charlm.training.planning.preset_settings import all_settings
from charlm.training.recipe.criteria import CrossEntropy
from charlm.training.train_options import Watcher

# Words from which on a sum over all of them takes most of a step: without it word-small trains four
# times as fast with 38,000 words, mixture-modern and char-large three times (33,000 and 50,000).
MANY_WORDS = 30_000


def note_text(plan: Plan, inventory: Inventory, *, watcher: Watcher) -> None:
    """Note what a user may not expect about how the text is read."""
    own, rules = corpus_normalisation(plan.data), inventory.normalisation
    if (plan.data / SUMMARY).is_file() and own != rules:
        watcher.note(
            f"the vocabulary's text rules ({normalisation_name(rules)}) are not those that the "
            f"corpus was prepared with ({normalisation_name(own)}); the vocabulary's are applied"
        )
    if not plan.stored:
        for sign in inventory.signs:
            watcher.note(sign)


def note_cut_words(trainer: Trainer, watcher: Watcher) -> None:
    """Note words of which a model that reads spelling does not read the end."""
    inventory, modules = trainer.inventory, trainer.model.modules()
    longest, n_cut = inventory.max_word_length, inventory.n_cut_words
    if n_cut and any(isinstance(each, Encoder) and each.reads_spelling for each in modules):
        watcher.note(
            f"{n_cut} {'word is' if n_cut == 1 else 'words are'} longer than {longest} characters "
            f"and read by {'its' if n_cut == 1 else 'their'} first {longest}"
        )


def note_settings(trainer: Trainer, plan: Plan, *, watcher: Watcher) -> None:
    """Note of a new training what has no effect, what is slow, and validation on its own text."""
    recipe, position = trainer.recipe, trainer.position
    if position.epoch or position.step:
        return
    for said in (*other_defaults(plan), *idle_settings(plan.changes, plan.settings)):
        watcher.note(said)
    n_steps = recipe.epochs * len(trainer.batches)
    sides = [recipe.schedule.side(epoch) for epoch in range(recipe.epochs)]
    n_pretraining = len(sides) - sides.count("both")
    left_out = (
        _same_text(plan),
        _mostly_unknown(trainer),
        _long_sums(trainer),
        recipe.whole_sums(),
        recipe.schedule.left_out(n_epochs=recipe.epochs, n_steps=n_steps),
        recipe.averaging.left_out(
            n_epochs=recipe.epochs, n_pretraining=n_pretraining, patience=recipe.patience
        ),
    )
    for said in filter(None, left_out):
        watcher.note(said)


def idle_settings(changes: Settings, settings: Settings, *, path: str = "") -> Iterator[str]:
    """A note on each of `changes` that has no effect in `settings`, which have all defaults.

    They are not refused: a preset may itself contain a setting that another one makes idle, and a
    run that was trained this way must load.
    """
    for name, value in changes.items():
        inner = settings.get(name)
        if isinstance(value, dict) and isinstance(inner, dict):
            yield from idle_settings(value, inner, path=f"{path}{name}.")
        elif reason := _why_idle(name, settings):
            yield f"{path}{name}={value} does nothing: {reason.format(path)}"


def _why_idle(option: str, part: Settings) -> str:
    """Why an option of a part or the recipe has no effect ({}: the part's path); "" if it has."""
    if option == "dropout" and part.get("layers") == 1 and part.get("output_dropout", -1) >= 0:
        return f"behind the only layer {{}}output_dropout={part['output_dropout']} stands"
    if option == "dim" and part.get("layers") == 1 and part.get("last_dim"):
        return f"the only layer is the last, whose width is {{}}last_dim={part['last_dim']}"
    rates = ("dropout", "input_dropout", "output_dropout")
    if option == "variational" and not any(part.get(rate, 0.0) > 0 for rate in rates):
        return "no {}dropout falls, whose mask it is"
    if option == "initial_state" and part.get("order") == 2:
        return "nothing comes before the one word that is read, {}order=2"
    if option == "value" and part.get("kind") == "adaptive":
        return "the gate is learned; {}kind=fixed has this one"
    if option == "bptt" and part["batching"]["type"] == "sentences":
        return "sentences are read whole, and {}batching.type is sentences"
    if option == "temporal_penalty" and part["bptt"] == 1 and part["batching"]["type"] == "streams":
        return "a step reads one word of each stream, so that nothing changes within it: {}bptt=1"
    if option == "hold" and 0 < part["hold"] <= part["warm_up"] < 1:
        return f"the full rate is reached no sooner, {{}}warm_up={part['warm_up']:g}"
    if option == "assignment" and part.get("file"):
        return "a file says the words' classes"
    return ""


def other_defaults(plan: Plan) -> Iterator[str]:
    """A note on each part of another type than the preset's, which has other defaults."""
    for part in ("encoder", "context", "output"):
        own, chosen = plan.settings[part], plan.changes.get(part, {})
        if "type" not in chosen or plan.init:  # else the rest is the run's own, no default
            continue
        old = all_settings(plan.arch, {})[part]
        names = [
            name
            for name, value in old.items()
            if name not in chosen and own.get(name, value) != value and not isinstance(value, dict)
        ]
        if names and own["type"] != old["type"]:
            instead, left = (
                ", ".join(f"{part}.{name}={values[name]}" for name in names)
                for values in (own, old)
            )
            yield f"{part}.type={own['type']} has its own {instead}; {plan.arch} has {left}"


def _same_text(plan: Plan) -> str:
    """A note if a run is validated on the text that it learns; else ""."""
    assert plan.stored is not None
    if len({plan.stored.corpus[split]["sha256"] for split in ("train", "valid")}) > 1:
        return ""
    return (
        "valid.txt is the same text as train.txt, so that its perplexity also falls where the "
        "model learns by heart; put other sentences into valid.txt"
    )


def _mostly_unknown(trainer: Trainer) -> str:
    """A note if most of what a run learns to predict is `<unk>`; else ""."""
    ids, n_words = trainer.batches.source.text.ids, trainer.inventory.n_words
    n_unknown = int(((ids == UNK) | (ids >= n_words)).sum())
    if 2 * n_unknown <= len(ids):
        return ""
    return (
        f"{n_unknown / len(ids):.0%} of train.txt is <unk> in this vocabulary: another case or "
        "language?"
    )


def _long_sums(trainer: Trainer) -> str:
    """A note if most of a CPU's time goes into sums over a large vocabulary; else ""."""
    is_full = isinstance(trainer.recipe.criterion, CrossEntropy) and trainer.model.output.has_table
    n_words = trainer.inventory.n_words
    if not is_full or n_words < MANY_WORDS or trainer.device.type != "cpu":
        return ""
    return (
        f"each step sums over all {n_words:,} words; over a sample of them it is several times as "
        "fast: --set recipe.criterion.type=sampled-softmax"
    )


def note_epoch_end(trainer: Trainer, watcher: Watcher) -> None:
    """Note what an epoch changes: the training ends early, averaging begins, little is left."""
    recipe, position = trainer.recipe, trainer.position
    if position.epoch == recipe.epochs:
        return
    if trainer.progress.is_finished:
        watcher.note(
            f"ended after epoch {position.epoch} of {recipe.epochs}: no gain since epoch "
            f"{position.best_epoch}, recipe.patience={recipe.patience}"
        )
    ppls, begins = position.complete_ppls, recipe.averaging.begins
    if begins(ppls) and not begins(ppls[:-1]) and not trainer.progress.is_finished:
        watcher.note(f"weights are averaged from epoch {position.epoch + 1} on")
    first = recipe.schedule.first_rate(recipe.optimiser.lr)
    if said := recipe.schedule.spent(position.history[-1]["rate"], position.rate, first=first):
        watcher.note(said)
