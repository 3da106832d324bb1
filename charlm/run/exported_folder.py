"""The folder that `charlm export --onnx` writes: a run's model, readable without torch.

Its files have fixed names: two networks, the vocabulary, and a description with the hash of each. A
folder that mixes files of two models is therefore refused.
"""

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from charlm.errors import DataError
from charlm.run.folder import (
    EXPORT,
    VOCABULARY,
    read_description,
    wrong_field,
    wrong_recipe,
)
from charlm.settings import LARGEST, Settings, shown
from charlm.text.io.files import sha256_of, write_json
from charlm.text.vocabulary.encoding import OOV_INPUTS
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory

FORMAT = 1
STEP, ENCODE = "step.onnx", "encode.onnx"
HASHED = (STEP, ENCODE, VOCABULARY)
EXPECTED = "expected what `charlm export --onnx` writes"
MOST_NUMBERS = 1 << 24  # in a state, and in a word's vector
MOST_LEAVES = 1 << 10
MOST_AXES = 8  # of a leaf

ExportPrecision = Literal["fp32", "int8"]


@dataclass(frozen=True)
class Leaf:
    """One tensor of a context's state, without the batch axis."""

    shape: tuple[int, ...]
    initial: tuple[float, ...]  # the values before any word, in row-major order; (): zeros


@dataclass(frozen=True)
class ExportedInfo:
    """The content of export.json."""

    arch: str
    settings: Settings  # parts and recipe, as in the run
    files: dict[str, str]  # SHA-256 by file name
    weights_sha256: str  # of the run's model.safetensors
    vocabulary_sha256: str
    oov_input: str
    precision: ExportPrecision
    vector_dim: int  # width of a word's vector
    state: tuple[Leaf, ...]
    charlm: str
    versions: dict[str, str]
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        """Write export.json, atomically."""
        write_json(folder / EXPORT, asdict(self))


def is_exported(path: str | Path) -> bool:
    """Whether a folder holds an exported model, and not a run."""
    return (Path(path) / EXPORT).is_file()


def load_exported(path: str | Path) -> tuple[ExportedInfo, Inventory]:
    """The description and the vocabulary of an exported folder, its files checked by their hashes.

    Raises:
        DataError: a file is missing or has another hash, or is not what `charlm export` writes.
    """
    folder = Path(path)
    if not is_exported(folder):
        raise DataError(f"{folder}: not an exported model ({EXPORT} is missing); {EXPECTED}")
    info = _info(folder / EXPORT)
    for name in HASHED:
        if not (folder / name).is_file():
            raise DataError(f"{folder / name}: no such file; {EXPECTED}; export the model again")
        if sha256_of(folder / name) != info.files[name]:
            raise DataError(
                f"{folder / name}: not the file that {EXPORT} names; the folder is damaged, or put "
                "together of two; export the model again"
            )
    inventory = load_inventory(folder / VOCABULARY)
    if inventory.sha256 != info.vocabulary_sha256:
        raise DataError(
            f"{folder / VOCABULARY}: not the vocabulary of the model; expected the one that "
            f"{EXPORT} names; export the model again"
        )
    return info, inventory


def _info(path: Path) -> ExportedInfo:
    value = read_description(path, known_format=FORMAT)
    if value is None:
        raise DataError(f"{path}: not the description of an exported model; {EXPECTED}")
    if name := wrong_field(ExportedInfo, value):
        raise DataError(f"{path}: {name!r} is missing or of a wrong type; {EXPECTED}")
    if value["oov_input"] not in OOV_INPUTS or value["precision"] not in ("fp32", "int8"):
        raise DataError(f"{path}: an unknown oov_input or precision; {EXPECTED}")
    if any(type(value["files"].get(name)) is not str for name in HASHED):
        raise DataError(f"{path}: names no hash of {', '.join(HASHED)}; {EXPECTED}")
    encoder = value["settings"].get("encoder")
    if not isinstance(encoder, dict) or type(encoder.get("type")) is not str:
        raise DataError(f"{path}: the settings name no encoder; {EXPECTED}")
    if found := wrong_recipe(value["settings"]):
        raise DataError(f"{path}: {found}; {EXPECTED}")
    if not 1 <= value["vector_dim"] <= MOST_NUMBERS:
        raise DataError(f"{path}: vector_dim {shown(value['vector_dim'])}; {EXPECTED}")
    known = {each.name: value[each.name] for each in fields(ExportedInfo)}
    return ExportedInfo(**{**known, "state": _state(value["state"], path)})


def _state(value: list[Any], path: Path) -> tuple[Leaf, ...]:
    leaves, n_numbers = [], 0
    for each in value[:MOST_LEAVES]:
        told = each if isinstance(each, dict) else {}
        shape, initial = told.get("shape"), told.get("initial")
        if (
            not isinstance(shape, list)
            or not isinstance(initial, list)
            or len(shape) > MOST_AXES
            or not all(type(n) is int and 0 <= n <= MOST_NUMBERS for n in shape)
        ):
            raise DataError(f"{path}: 'state' is no list of shapes and numbers; {EXPECTED}")
        size = math.prod(shape)
        n_numbers += size
        is_filled = len(initial) in (0, size) and all(
            type(n) in (int, float) and abs(n) <= LARGEST for n in initial
        )
        if n_numbers > MOST_NUMBERS or not is_filled:
            raise DataError(f"{path}: a shape and numbers in 'state' do not agree; {EXPECTED}")
        leaves.append(Leaf(tuple(shape), tuple(map(float, initial))))
    return tuple(leaves)
