"""Tensors in safetensors files: written whole or not at all, checked before they are read.

A file's header is compared with the shapes of a model on the meta device first, so a stranger's run
that asks for a billion units allocates nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from charlm.errors import DataError
from charlm.text.io.files import parse_json, write_bytes

META = "charlm"  # the one metadata key: JSON


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, meta: Mapping[str, Any]) -> None:
    """Replace `path` by these tensors and this JSON, atomically."""
    write_bytes(path, tensor_bytes(tensors, meta=meta))


def tensor_bytes(tensors: Mapping[str, Tensor], *, meta: Mapping[str, Any]) -> bytes:
    """A safetensors file of these tensors and this JSON."""
    # Copies: safetensors refuses tensors that share memory, as the zeros of an initial state do.
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return save(plain, metadata={META: json.dumps(meta, allow_nan=False)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """All tensors of a file and its JSON.

    Raises:
        DataError: missing, cut or broken, or not charlm's.
    """
    with _opened(path) as file:
        meta = _meta_of(file, path)
        return {name: file.get_tensor(name) for name in file.keys()}, meta  # noqa: SIM118 -- not a dict


def read_meta(path: Path) -> dict[str, Any]:
    """A file's JSON alone.

    Raises:
        DataError: as `read_tensors`.
    """
    with _opened(path) as file:
        return _meta_of(file, path)


def load_weights(model: nn.Module, path: Path) -> dict[str, Any]:
    """Fill a model on the meta device from a file, on the CPU; returns the file's JSON.

    Raises:
        DataError: names or shapes that are not the model's, or a weight that is not finite.
    """
    check_header(model, path)
    with _opened(path) as file:
        meta = _meta_of(file, path)
        tensors = {name: file.get_tensor(name) for name in model.state_dict()}
    check_values(model, tensors, path=path)
    model.load_state_dict(tensors, assign=True)
    return meta


def check_header(model: nn.Module, path: Path, *, prefix: str = "") -> None:
    """Compare the names that begin with `prefix`, and their shapes, with a model's.

    Raises:
        DataError: they differ, or this is no file of charlm's.
    """
    wanted = {prefix + name: tuple(t.shape) for name, t in model.state_dict().items()}
    with _opened(path) as file:
        _meta_of(file, path)
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 -- nor this
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
    """Compare the types of a model's tensors that were read, and refuse NaN and infinity.

    Raises:
        DataError: a tensor that `write_tensors` was never given.
    """
    for name, wanted in model.state_dict().items():
        tensor = tensors[name]
        if tensor.dtype != wanted.dtype:
            raise DataError(f"{path}: {name} is {tensor.dtype}; expected {wanted.dtype}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise DataError(f"{path}: {name} holds NaN or infinity; the run is damaged")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise DataError(f"{path}: no such file; the run has no checkpoint yet, or is damaged")
    try:  # the header is read here, a tensor's own type only where the tensor is
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OverflowError) as error:
        raise DataError(f"{path}: cut or damaged ({error}); expected a safetensors file") from None


def _meta_of(file: Any, path: Path) -> dict[str, Any]:
    value = parse_json((file.metadata() or {}).get(META, "null"), str(path))
    if not isinstance(value, dict):
        raise DataError(f"{path}: not a file of charlm's; expected what `charlm train` writes")
    return value


def shown_shape(shape: Sequence[int]) -> str:
    """As `20 by 7`."""
    return " by ".join(map(str, shape)) or "a number"
