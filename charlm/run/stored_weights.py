"""A run's weights in safetensors files, and the best weights loaded as a model.

A file is written completely or not at all. Before anything is read, its header is compared with the
shapes of a model on the meta device, so an untrusted run that asks for a billion units takes no
memory.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from charlm.errors import ConfigError, DataError, UnknownPartError
from charlm.interface.short_repr import ShortRepr
from charlm.model.build import build_model, without_memory
from charlm.model.language_model import LanguageModel
from charlm.run.folder import (
    MODEL,
    RUN,
    VOCABULARY,
    RunInfo,
    learned_single_sentences,
    load_info,
    wrong_recipe,
)
from charlm.runtime import require_fp32_as_default
from charlm.settings import Settings
from charlm.text.io.files import name_in_utf8, parse_json, sha256_of, write_bytes
from charlm.text.perplexity.signature import HASH_DIGITS
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory

META = "charlm"  # the only metadata key; its value is JSON


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, meta: Mapping[str, Any]) -> None:
    """Replace `path` by these tensors and this JSON, atomically."""
    write_bytes(path, tensor_bytes(tensors, meta=meta))


def tensor_bytes(tensors: Mapping[str, Tensor], *, meta: Mapping[str, Any]) -> bytes:
    """The bytes of a safetensors file with these tensors and this JSON."""
    plain: dict[str, Tensor] = {}
    places = set()
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        place = own.untyped_storage().data_ptr()
        # safetensors refuses tensors that share memory, as the zeros of an initial state do.
        plain[name] = own.clone() if place in places else own
        places.add(place)
    return save(plain, metadata={META: json.dumps(meta, allow_nan=False)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """All tensors of a file and its JSON.

    Raises:
        DataError: the file is missing, cut, damaged or not charlm's.
    """
    with _opened(path) as (file, meta):
        names = file.keys()
        return {name: file.get_tensor(name) for name in names}, meta


def read_meta(path: Path) -> dict[str, Any]:
    """Only the JSON of a file.

    Raises:
        DataError: as `read_tensors`.
    """
    with _opened(path) as (_, meta):
        return meta


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """The SHA-256 of all tensors, in the order of their names."""
    digest = hashlib.sha256()
    for _, tensor in sorted(tensors.items()):
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_weights(model: nn.Module, path: Path) -> dict[str, Any]:
    """Fill a model on the meta device with a file's weights, on the CPU; returns the file's JSON.

    Raises:
        DataError: names or shapes are not the model's, or a weight is not finite.
    """
    check_header(model, path)
    with _opened(path) as (file, meta):
        tensors = {name: file.get_tensor(name) for name in model.state_dict()}
    check_values(model, tensors, path=path)
    model.load_state_dict(tensors, assign=True)
    return meta


def check_header(model: nn.Module, path: Path, *, prefix: str = "") -> None:
    """Compare a file's tensors whose names begin with `prefix` with a model's, by name and shape.

    Raises:
        DataError: they differ, or the file is not charlm's.
    """
    wanted = {prefix + name: tuple(t.shape) for name, t in model.state_dict().items()}
    with _opened(path) as (file, _):
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 -- no mapping
        found = {name: tuple(file.get_slice(name).get_shape()) for name in names}
    for name in sorted(wanted.keys() ^ found.keys()):
        state = "missing" if name in wanted else "not part of this model"
        raise DataError(f"{path}: {name} is {state}; expected the weights that run.json describes")
    for name, shape in wanted.items():
        if found[name] != shape:
            raise DataError(
                f"{path}: {name} is {shown_shape(found[name])}; expected {shown_shape(shape)}, "
                "as run.json and vocab.json describe"
            )


def check_values(model: nn.Module, tensors: Mapping[str, Tensor], *, path: Path) -> None:
    """Compare the dtypes of tensors that were read with a model's, and refuse NaN and infinity.

    Raises:
        DataError: a tensor is not one that charlm would write.
    """
    for name, wanted in model.state_dict().items():
        tensor = tensors[name]
        if tensor.dtype != wanted.dtype:
            require_fp32_as_default()
            raise DataError(f"{path}: {name} is {tensor.dtype}; expected {wanted.dtype}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise DataError(f"{path}: {name} holds NaN or infinity; the run is damaged")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The open file, and its JSON."""
    if not path.is_file():
        raise DataError(
            f"{path}: no such file; the run has finished no epoch yet (go on with `charlm train "
            "--resume`), or is damaged"
        )
    try:  # the header is read here, a tensor's dtype only where the tensor is read
        with name_in_utf8(path) as name, safe_open(name, framework="pt") as file:
            meta = parse_json((file.metadata() or {}).get(META, "null"), str(path))
            if not isinstance(meta, dict):
                raise DataError(
                    f"{path}: not a file of charlm's; expected what `charlm train` writes"
                )
            yield file, meta
    except (SafetensorError, OverflowError, TypeError) as error:  # torch: a shape beyond 64 bits
        raise DataError(f"{path}: cut or damaged ({error}); expected a safetensors file") from None


def shown_shape(shape: Sequence[int]) -> str:
    """A shape in the form `20 by 7`."""
    return " by ".join(map(str, shape)) or "a number"


@dataclass(frozen=True)
class LoadedRun(ShortRepr):
    """A run's best model, in evaluation mode, with its description and vocabulary."""

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
        """How the model reads a form outside the vocabulary: `unk` or `spelling`."""
        return str(self.settings["recipe"]["oov_input"])

    @property
    def learned_single_sentences(self) -> bool:
        return learned_single_sentences(self.settings)


def save_best(folder: Path, tensors: Mapping[str, Tensor], *, meta: Mapping[str, Any]) -> None:
    """Write model.safetensors, atomically, and its hash into run.json.

    The hash is written first, beside the former one. After a crash between the two, which comes
    before the checkpoint, the former weights are read until both are written again; in the other
    order the run could hold weights that nothing records.
    """
    content = tensor_bytes(tensors, meta=meta)
    info, sha256 = load_info(folder), hashlib.sha256(content).hexdigest()
    if sha256 != info.weights_sha256:
        # Of what is there: what was recorded last may never have been written.
        former = sha256_of(folder / MODEL) if (folder / MODEL).is_file() else None
        replace(info, weights_sha256=sha256, former_weights_sha256=former).save(folder)
    write_bytes(folder / MODEL, content)


def load_run(path: str | Path, *, device: torch.device | None = None) -> LoadedRun:
    """The best weights of a run, checked against its settings before anything is allocated.

    Raises:
        DataError: not a run, or it is cut, damaged, changed, hostile or of a newer format.
    """
    folder = Path(path)
    info = load_info(folder)
    inventory = load_words(folder, info)
    model = empty_model(folder, settings=info.settings, inventory=inventory)
    before = _identity(folder / MODEL)
    epoch = load_weights(model, folder / MODEL).get("epoch")
    try:
        model.output.check_loaded()
    except DataError as error:
        raise DataError(f"{folder / MODEL}: {error}") from None
    if type(epoch) is not int:
        raise DataError(f"{folder / MODEL}: says no epoch; expected what `charlm train` writes")
    sha256 = sha256_of(folder / MODEL)
    if _identity(folder / MODEL) != before or load_info(folder) != info:
        return load_run(folder, device=device)  # a training has saved better ones meanwhile
    check_recorded(sha256, info, path=folder / MODEL)
    model.to(device or torch.device("cpu")).eval()
    return LoadedRun(
        path=folder,
        info=info,
        inventory=inventory,
        model=model,
        epoch=epoch,
        weights_sha256=sha256,
    )


def check_recorded(sha256: str, info: RunInfo, *, path: Path) -> None:
    """Raise DataError if weights of that hash are not those of which the run keeps a record."""
    recorded = info.weights_sha256
    if recorded is not None and sha256 not in (recorded, info.former_weights_sha256):
        found, expected = sha256[:HASH_DIGITS], recorded[:HASH_DIGITS]
        raise DataError(
            f"{path}: sha256 {found}; expected {expected}, which {RUN} records: damaged or changed "
            f"after training; put the file back or, if this one is meant, its sha256 into {RUN}"
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from one that takes its place; None without a file."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def load_words(folder: Path, info: RunInfo) -> Inventory:
    """The vocabulary of a run.

    Raises:
        DataError: it is missing, or not the one that run.json names.
    """
    path = folder / VOCABULARY
    if not path.is_file():
        raise DataError(f"{path}: no such file; the run is damaged")
    inventory = load_inventory(path)
    check_words(inventory, info, path=path)
    return inventory


def check_words(inventory: Inventory, info: RunInfo, *, path: Path) -> None:
    """Raise DataError if a vocabulary, or its counts, are not those that the run was begun with."""
    if inventory.sha256 != info.vocabulary_sha256:
        raise DataError(f"{path}: not the vocabulary that {RUN} names; the run is damaged")
    if info.counts_sha256 not in (inventory.counts_sha256, None):
        raise DataError(
            f"{path}: the words are those that {RUN} names, their counts are not; the run is "
            "damaged; put back the file that it was begun with"
        )


def empty_model(folder: Path, *, settings: Settings, inventory: Inventory) -> LanguageModel:
    """The model that a run's settings describe, on the meta device, where it takes no memory.

    Raises:
        DataError: no model can be built from the settings.
    """
    if found := wrong_recipe(settings):
        raise DataError(f"{folder / RUN}: {found}; the run is damaged")
    try:
        with without_memory():
            model, _ = build_model(settings, inventory)
    except UnknownPartError as error:
        raise UnknownPartError(
            f"{folder / RUN}: {error}; a part of one's own is known to programs that add it"
        ) from None
    except ConfigError as error:
        raise DataError(f"{folder / RUN}: {error}") from None
    return model


def kept_ppl(folder: Path, *, ppl: float) -> tuple[float, float]:
    """The validation perplexity of the stored weights, and their softmax temperature.

    These are `ppl`, the perplexity of the best epoch, and 1, unless a temperature was set after the
    last epoch.
    """
    meta = read_meta(folder / MODEL)
    found = meta.get("valid_ppl", ppl), meta.get("temperature", 1.0)
    if not all(type(each) is float for each in found) or found[1] == 1.0:
        return ppl, 1.0
    return found
