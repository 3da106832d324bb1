"""Loading tensors: whole, of charlm's kind and of the right shape, or one line."""

import errno
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from charlm.errors import ConfigError, DataError
from charlm.run.stored_weights import check_header, load_weights, read_tensors, write_tensors
from charlm.text.io import files

EXPECTED = "as run.json and vocab.json describe"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def model() -> nn.Module:
    with torch.device("meta"):
        return nn.Linear(2, 3)


def good() -> dict[str, torch.Tensor]:
    return {"weight": torch.arange(6.0).view(3, 2), "bias": torch.tensor([0.0, -1.5, 1e-30])}


def test_what_is_written_is_what_is_read(path: Path) -> None:
    tensors = {
        **good(),
        "state": torch.tensor([1, 255], dtype=torch.uint8),
        "t": good()["weight"].T,
    }
    write_tensors(path, tensors, meta={"epoch": 3, "nll": 0.1})
    read, meta = read_tensors(path)
    assert meta == {"epoch": 3, "nll": 0.1}
    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensor) for name, tensor in tensors.items())


def test_a_folder_whose_name_is_not_utf_8_is_read(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9") / "model.safetensors"
    path.parent.mkdir()
    write_tensors(path, good(), meta={"epoch": 3})
    read, meta = read_tensors(path)
    assert (meta, read["weight"].tolist()) == ({"epoch": 3}, good()["weight"].tolist())


def test_a_file_that_may_not_be_read_is_not_called_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: Path, _mode: str) -> BinaryIO:
        raise PermissionError(errno.EACCES, "Permission denied", str(name))

    write_tensors(path, good(), meta={})
    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(PermissionError, match=f"Permission denied: '{path}'"):
        read_tensors(path)


def test_tensors_are_copied_where_they_share_memory_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = torch.arange(6.0)
    tensors = {"own": torch.ones(3), "rows": row.expand(2, 6), "part": row[2:4], "whole": row}
    cloned, clone = [], torch.Tensor.clone

    def noting(tensor: torch.Tensor) -> torch.Tensor:
        cloned.append(tensor.tolist())
        return clone(tensor)

    monkeypatch.setattr(torch.Tensor, "clone", noting)
    write_tensors(path, tensors, meta={})
    assert cloned == [[0, 1, 2, 3, 4, 5]]  # the rows are made contiguous, which copies them
    read, _ = read_tensors(path)
    assert {name: t.tolist() for name, t in read.items()} == {
        name: t.tolist() for name, t in tensors.items()
    }


def test_a_model_without_memory_is_filled(path: Path) -> None:
    write_tensors(path, good(), meta={"epoch": 1})
    filled = model()
    assert load_weights(filled, path) == {"epoch": 1}
    assert torch.equal(filled(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 6.5, 14.0]))


def header(value: Any, *, data: bytes = b"") -> bytes:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: str, shape: list[int], n_bytes: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, n_bytes]}


META = {"__metadata__": {"charlm": "{}"}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"abc",
        (1 << 62).to_bytes(8, "little") + b"{}",
        header(b"not JSON"),
        header(b'{"a":' * 100_000),
        header({"weight": tensor("F32", [10**12], 4 * 10**12)}),
        header({"weight": tensor("F32", [1 << 62, 4], 0)}),
        header({"weight": tensor("F32", [3, 2], 24)}, data=b"\0" * 23),
        header({"weight": tensor("PICKLE", [1], 4)}, data=b"\0" * 4),
    ],
)
def test_a_file_that_is_cut_or_broken_is_one_line(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for read in (read_tensors, lambda where: load_weights(model(), where)):
        with pytest.raises(DataError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: cut or damaged (")
        assert str(caught.value).endswith("); expected a safetensors file")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "n_bytes"),
    [(tensor("F6_E2M3", [4], 3), 3), (tensor("F32", [(1 << 64) - 1, 0], 0), 0)],
)
def test_a_type_or_shape_that_torch_lacks_is_a_damaged_file(
    path: Path, entry: dict[str, Any], n_bytes: int
) -> None:
    path.write_bytes(header({**META, "a": entry}, data=b"\0" * n_bytes))
    with pytest.raises(DataError, match=r": cut or damaged \(.*\); expected a safetensors file$"):
        read_tensors(path)


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        (None, "not a file of charlm's; expected what `charlm train` writes"),
        ({"other": "{}"}, "not a file of charlm's; expected what `charlm train` writes"),
        ({"charlm": "[]"}, "not a file of charlm's; expected what `charlm train` writes"),
        ({"charlm": '{"epoch": NaN}'}, "not valid JSON (NaN is no number); expected a file of"),
    ],
)
def test_a_file_that_is_not_ours_is_one_line(path: Path, metadata: Any, line: str) -> None:
    save_file(good(), path, metadata=metadata)
    for read in (read_tensors, lambda where: load_weights(model(), where)):
        with pytest.raises(DataError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: {line}")


NOT_FINITE = torch.tensor([0.0, float("nan"), 1.0])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"bias": None}, "bias is missing; expected the weights that run.json describes"),
        (
            {"gate": torch.zeros(1)},
            "gate is not part of this model; expected the weights that run.json describes",
        ),
        ({"weight": torch.zeros(2, 3)}, f"weight is 2 by 3; expected 3 by 2, {EXPECTED}"),
        ({"weight": torch.zeros(6)}, f"weight is 6; expected 3 by 2, {EXPECTED}"),
        ({"bias": torch.zeros(())}, f"bias is a number; expected 3, {EXPECTED}"),
        ({"bias": NOT_FINITE}, "bias holds NaN or infinity; the run is damaged"),
        ({"bias": -1 / torch.zeros(3)}, "bias holds NaN or infinity; the run is damaged"),
        ({"bias": torch.zeros(3).double()}, "bias is torch.float64; expected torch.float32"),
        ({"bias": torch.zeros(3).long()}, "bias is torch.int64; expected torch.float32"),
        (
            {"bias": torch.zeros(3).to(torch.float8_e4m3fn)},
            "bias is torch.float8_e4m3fn; expected torch.float32",
        ),
    ],
)
def test_weights_that_do_not_fit_the_model_are_one_line(
    path: Path, change: dict[str, torch.Tensor | None], line: str
) -> None:
    tensors = {name: t for name, t in {**good(), **change}.items() if t is not None}
    write_tensors(path, tensors, meta={})
    with pytest.raises(DataError) as caught:
        load_weights(model(), path)
    assert str(caught.value) == f"{path}: {line}"


def test_another_default_of_torch_is_blamed_and_not_the_file(path: Path) -> None:
    write_tensors(path, good(), meta={})
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(ConfigError, match="^torch's default dtype is torch.float64; "):
            load_weights(model(), path)
    finally:
        torch.set_default_dtype(torch.float32)


def test_of_a_header_only_the_names_with_the_prefix_count(path: Path) -> None:
    tensors = {f"model.{name}": t for name, t in good().items()}
    write_tensors(path, {**tensors, "state.0": torch.zeros(9)}, meta={})
    check_header(model(), path, prefix="model.")
    write_tensors(path, {**tensors, "model.bias": torch.zeros(4)}, meta={})
    with pytest.raises(DataError) as caught:
        check_header(model(), path, prefix="model.")
    assert str(caught.value) == f"{path}: model.bias is 4; expected 3, {EXPECTED}"


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir])
def test_a_missing_file_or_a_folder_in_its_place_is_one_line(path: Path, make: Any) -> None:
    make(path)
    for read in (read_tensors, lambda where: load_weights(model(), where)):
        with pytest.raises(DataError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{path}: no such file; the run has finished no epoch yet (go on with `charlm train "
            "--resume`), or is damaged"
        )
