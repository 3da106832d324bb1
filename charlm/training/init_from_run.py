"""Another run's weights as the start of a training: `--init`.

Words and characters that both vocabularies contain get the other run's weights, matched by name and
not by id; weights of new ones are drawn as in a new model. Neither the optimiser's state nor the
learning rate is taken over.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.model.build import build_model, without_memory
from charlm.model.language_model import LanguageModel
from charlm.run.folder import VOCABULARY
from charlm.run.stored_weights import LoadedRun, shown_shape
from charlm.settings import Settings
from charlm.text.vocabulary.vocabulary import N_MARKERS, Inventory

WORDS, CHARACTERS = "words", "characters"
NO_WORD, NO_CHARACTER = " ", "\n"  # no vocabulary contains them
OUTPUT = "output."


@torch.no_grad()
def begin_from(model: LanguageModel, inventory: Inventory, *, run: LoadedRun) -> str:
    """Give a model over this vocabulary a run's weights, where the run has them; returns a note.

    On a model on the meta device nothing is set, which checks whether the weights fit.

    Raises:
        ConfigError: parts of another kind or width, other morphs, or words without a class.
    """
    markers = [f"marker {number}" for number in range(N_MARKERS)]  # differ from every character
    other = run.inventory
    pairs = {  # rows in this model, and rows in the run
        WORDS: _matched(inventory.words, other.words),
        CHARACTERS: _matched([*markers, *inventory.characters], [*markers, *other.characters]),
    }
    is_output_new = _has_other_clusters(model, inventory, run=run)
    if is_output_new and run.settings["output"].get("file"):
        raise ConfigError(
            f"--init {run.path}: a file said its words' classes, and this vocabulary has other "
            f"words; expected the same; add --vocab {run.path / VOCABULARY}"
        )
    own, theirs = ({**m.state_dict()} for m in (model, run.model))
    if is_output_new:
        own, theirs = (
            {k: v for k, v in t.items() if not k.startswith(OUTPUT)} for t in (own, theirs)
        )
    kinds = row_kinds(run.settings, other)
    if model.output.is_by_rank:  # taken over only with the same clusters, and then as a whole
        kinds = {name: kind for name, kind in kinds.items() if not name.startswith(OUTPUT)}
    _check(run, own, theirs, kinds=kinds, inventory=inventory)
    for name, tensor in own.items():
        if tensor.is_meta:
            continue
        if name in kinds:
            here, there = pairs[kinds[name]]
            known = theirs[name][there].to(tensor.device)
            tensor.index_copy_(0, here.to(tensor.device), known)
        else:
            tensor.copy_(theirs[name])
    drawn = "; the output is drawn anew: its clusters are of the other vocabulary"
    return (
        f"{len(pairs[WORDS][0]):,} of {inventory.n_words:,} words have the weights that they had "
        f"there{drawn if is_output_new else ''}"
    )


def _has_other_clusters(model: LanguageModel, inventory: Inventory, *, run: LoadedRun) -> bool:
    """Whether an output's clusters are not the run's: of other words, or chosen by other counts."""
    if type(model.output) is not type(run.model.output):
        return False  # what is not in both is refused by its name
    if inventory.words != run.inventory.words:
        return model.output.is_by_rank
    here, there = (each.output.chosen_cutoffs for each in (model, run.model))
    return bool(here and there) and here != there


def _matched(names: Sequence[str], others: Sequence[str]) -> tuple[Tensor, Tensor]:
    places = {name: row for row, name in enumerate(others)}
    rows = [(row, places[name]) for row, name in enumerate(names) if name in places]
    here, there = zip(*rows, strict=True)  # never empty: markers, </s> and <unk> always match
    return torch.tensor(here), torch.tensor(there)


def row_kinds(settings: Settings, inventory: Inventory) -> dict[str, str]:
    """Which tensors have one row per word or per character, found by adding a word or character."""
    more = {
        WORDS: replace(inventory, words=(*inventory.words, NO_WORD), counts=(*inventory.counts, 0)),
        CHARACTERS: replace(inventory, characters=(*inventory.characters, NO_CHARACTER)),
    }
    before = _shapes(settings, inventory)
    kinds: dict[str, str] = {}
    for kind, grown in more.items():
        after = _shapes(settings, grown)
        kinds |= {name: kind for name, shape in before.items() if after[name] != shape}
    return kinds


def _shapes(settings: Settings, inventory: Inventory) -> dict[str, tuple[int, ...]]:
    with without_memory():
        model, _ = build_model(settings, inventory)
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def _check(
    run: LoadedRun,
    own: dict[str, Tensor],
    theirs: dict[str, Tensor],
    *,
    kinds: dict[str, str],
    inventory: Inventory,
) -> None:
    if inventory.morphs != run.inventory.morphs:
        raise ConfigError(
            f"--vocab: has other morphs than --init {run.path}; expected the same, whose vectors "
            "are to be taken over; leave --vocab out"
        )
    for name in sorted(own.keys() ^ theirs.keys()):
        state = "is not in it" if name in own else "is not in this model"
        raise ConfigError(
            f"--init {run.path}: {name} {state}; expected a model of the same parts; leave out "
            "--set of encoder, context and output"
        )
    for name, tensor in own.items():
        first = 1 if name in kinds else 0
        here, there = tensor.shape[first:], theirs[name].shape[first:]
        if here != there:
            raise ConfigError(
                f"--init {run.path}: {name} has {shown_shape(there)} numbers there and "
                f"{shown_shape(here)} here; expected the same; leave out --set of encoder, "
                "context and output"
            )
