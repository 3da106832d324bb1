"""A training's best weights: kept, and loaded as a model that can be asked."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from charlm.errors import ConfigError, DataError
from charlm.model.build import build_model, without_memory
from charlm.model.language_model import LanguageModel
from charlm.run.folder import MODEL, RUN, VOCABULARY, RunInfo, load_info
from charlm.run.stored_weights import load_weights, tensor_bytes
from charlm.settings import Settings
from charlm.text.io.files import sha256_of, write_bytes
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory


@dataclass(frozen=True)
class LoadedRun:
    """A run's best model, in evaluation mode, and what it was made of."""

    path: Path
    info: RunInfo
    inventory: Inventory
    model: LanguageModel
    epoch: int  # the epoch whose weights these are
    weights_sha256: str

    @property
    def settings(self) -> Settings:
        return self.info.settings

    @property
    def oov_input(self) -> str:
        """How a form outside the vocabulary goes in: `unk` or `spelling`."""
        return str(self.settings["recipe"]["oov_input"])


def save_best(folder: Path, tensors: Mapping[str, Tensor], *, meta: Mapping[str, Any]) -> None:
    """Write model.safetensors, atomically, and its hash into run.json.

    The hash goes first: a crash between the two is before the checkpoint, so both are written
    again; the other way round weights would stand there that nobody recorded.
    """
    content = tensor_bytes(tensors, meta=meta)
    info = replace(load_info(folder), weights_sha256=hashlib.sha256(content).hexdigest())
    info.save(folder)
    write_bytes(folder / MODEL, content)


def load_run(path: str | Path, *, device: torch.device | None = None) -> LoadedRun:
    """The best weights of a run, checked against its settings before anything is allocated.

    Raises:
        DataError: no run, or one that is cut, damaged, hostile or of a newer format.
    """
    folder = Path(path)
    info = load_info(folder)
    inventory = load_words(folder, info)
    model = empty_model(folder, settings=info.settings, inventory=inventory)
    meta = load_weights(model, folder / MODEL)
    try:
        model.output.check_loaded()
    except DataError as error:
        raise DataError(f"{folder / MODEL}: {error}") from None
    model.to(device or torch.device("cpu")).eval()
    return LoadedRun(
        path=folder,
        info=info,
        inventory=inventory,
        model=model,
        epoch=_epoch(meta, folder / MODEL),
        weights_sha256=sha256_of(folder / MODEL),
    )


def load_words(folder: Path, info: RunInfo) -> Inventory:
    """The vocabulary of a run.

    Raises:
        DataError: none, or another than run.json names.
    """
    if not (folder / VOCABULARY).is_file():
        raise DataError(f"{folder / VOCABULARY}: no such file; the run is damaged")
    inventory = load_inventory(folder / VOCABULARY)
    if inventory.sha256 != info.vocabulary_sha256:
        raise DataError(
            f"{folder / VOCABULARY}: not the vocabulary that {RUN} names; the run is damaged"
        )
    check_counts(inventory, info, path=folder / VOCABULARY)
    return inventory


def check_counts(inventory: Inventory, info: RunInfo, *, path: Path) -> None:
    """Raises DataError if a vocabulary's counts are others than those a run was begun with."""
    if info.counts_sha256 not in (inventory.counts_sha256, None):
        raise DataError(
            f"{path}: the words are those that {RUN} names, their counts are not; the run is "
            "damaged; put back the file that it was begun with"
        )


def _epoch(meta: dict[str, Any], path: Path) -> int:
    epoch = meta.get("epoch")
    if type(epoch) is not int:
        raise DataError(f"{path}: says no epoch; expected what `charlm train` writes")
    return epoch


def empty_model(folder: Path, *, settings: Settings, inventory: Inventory) -> LanguageModel:
    """The model that a run's settings describe, on the meta device: shapes and no memory.

    Raises:
        DataError: settings that make no model.
    """
    recipe = settings.get("recipe")
    if not isinstance(recipe, dict) or recipe.get("oov_input") not in ("unk", "spelling"):
        raise DataError(f"{folder / RUN}: the recipe says no oov_input; the run is damaged")
    if not isinstance(recipe.get("batching", {}), dict):  # which older runs lack
        raise DataError(f"{folder / RUN}: the recipe's batching is no part; the run is damaged")
    try:
        with without_memory():
            model, _ = build_model(settings, inventory)
    except ConfigError as error:
        raise DataError(f"{folder / RUN}: {error}") from None
    return model
