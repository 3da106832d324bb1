"""Results do not depend on where in memory the operands lie.

Without MKL_CBWR, which charlm sets before it imports torch, these tests fail on an AMD processor.
torch's own tensors are well aligned there, but a row of one, or a weight in a checkpoint's buffer,
may not be.
"""

import os
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from charlm.model.build import CONTEXT
from charlm.model.contexts import CONTEXTS
from charlm.model.contract import Context, map_state, state_leaves

INPUT_DIM, STEPS, STREAMS = 17, 3, 1
NUMBERS_PER_LINE = 16  # float32 numbers in a cache line
SHIFTS = [1, 2, 3, 7, 15, 16]
SHAPES = [(1, 8, 40), (2, 8, 13), (3, 17, 29), (4, 8, 32), (5, 100, 400), (1, 300, 1200)]


def shifted(tensor: Tensor, n_numbers: int) -> Tensor:
    """The same numbers, so many behind the beginning of a cache line."""
    buffer = torch.empty(tensor.numel() + 2 * NUMBERS_PER_LINE)
    start = -(buffer.data_ptr() // buffer.element_size()) % NUMBERS_PER_LINE + n_numbers
    return buffer[start : start + tensor.numel()].view(tensor.shape).copy_(tensor)


def test_the_tests_run_as_charlm_does() -> None:
    assert os.environ["MKL_CBWR"]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_product_has_the_same_bits_at_any_address(shape: tuple[int, int, int]) -> None:
    n_rows, n_inner, n_columns = shape
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(n_rows, n_inner, generator=draw)
    weight = torch.randn(n_columns, n_inner, generator=draw)
    expected = functional.linear(x, weight)
    for shift in SHIFTS:
        for there in ((shift, 0), (0, shift), (shift, shift)):
            found = functional.linear(shifted(x, there[0]), shifted(weight, there[1]))
            assert torch.equal(found, expected), there


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_context_has_the_same_bits_at_any_address(
    build: Callable[..., Context], name: str
) -> None:
    context = build(CONTEXT, {"type": name}, leading=[INPUT_DIM])
    x_TBE = torch.randn(STEPS, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(8))
    start = context.initial_state(STREAMS)
    expected, expected_after = context(x_TBE, start)
    for shift in SHIFTS:
        for parameter in context.parameters():
            parameter.data = shifted(parameter.data, shift)
        there = map_state(lambda leaf, by=shift: shifted(leaf, by), start)
        found, after = context(shifted(x_TBE, shift), there)
        assert torch.equal(found, expected), shift
        for ours, theirs in zip(state_leaves(after), state_leaves(expected_after), strict=True):
            assert torch.equal(ours, theirs), shift
