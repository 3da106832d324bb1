"""bf16 is used where it is asked for: products in training, and in evaluation on request."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from charlm import evaluate

Formats = dict[bool, set[torch.dtype]]
PRECISIONS = [
    ("fp32", torch.float32),
    pytest.param("bf16", torch.bfloat16, marks=pytest.mark.bf16),
]


class SeenProducts(TorchDispatchMode):
    """Whatever multiplies matrices, by the layer's own functions or by ours, is seen here."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.formats: Formats = {True: set(), False: set()}
        self.training = False

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm):
            self.formats[self.training].add(args[-1].dtype)
        return func(*args, **(kwargs or {}))


@pytest.fixture
def formats() -> Iterator[Formats]:
    """The number formats of all matrix products, by whether the model was training."""
    seen = SeenProducts()

    def hook(module: nn.Module, inputs: object) -> None:
        seen.training = module.training

    with register_module_forward_pre_hook(hook), seen:
        yield seen.formats


@pytest.mark.parametrize(("precision", "dtype"), PRECISIONS)
def test_a_training_computes_in_its_precision_and_validates_in_fp32(
    train_toy: Callable[..., Any], formats: Formats, precision: str, dtype: torch.dtype
) -> None:
    train_toy(epochs=1, precision=precision)
    assert formats == {True: {dtype}, False: {torch.float32}}


@pytest.mark.parametrize(("precision", "dtype"), PRECISIONS)
def test_an_evaluation_computes_in_the_precision_that_its_signature_names(
    tiny_run: Path, corpus_dir: Path, formats: Formats, precision: str, dtype: torch.dtype
) -> None:
    (result,) = evaluate(tiny_run, data=corpus_dir, precision=precision, device="cpu")
    assert formats == {True: set(), False: {dtype}}
    assert f"|precision:{precision}" in result.signatures["carried"]
