"""Padding to a full tile changes shapes and nothing else."""

from collections.abc import Sequence

import pytest
import torch

from charlm.model.encoders.char_cnn import N_BUCKETS, ROWS, CharCNN
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.forms import FormTable
from charlm.model.kernels.tiles import (
    BLOCK,
    NARROW,
    TILE,
    by_thread,
    rounded_up,
    summed_over_rows,
    tiled_bf16,
    transposed,
)
from charlm.text.vocabulary.vocabulary import Inventory

pytestmark = pytest.mark.usefixtures("nan_in_new_memory")


@pytest.mark.parametrize(("number", "up"), [(0, 0), (1, TILE), (TILE, TILE), (TILE + 1, 2 * TILE)])
def test_a_number_is_rounded_up_to_whole_tiles(number: int, up: int) -> None:
    assert rounded_up(number) == up


def test_rows_are_followed_by_zeros_up_to_a_tile() -> None:
    rows = torch.arange(6.0).view(2, 3)
    tiled = tiled_bf16(rows)
    assert tiled.shape == (2, TILE)
    assert tiled.dtype == torch.bfloat16
    assert torch.equal(tiled[:, :3].float(), rows)
    assert not tiled[:, 3:].any()


def test_a_last_number_follows_each_row_and_opens_a_tile_where_the_last_one_is_full() -> None:
    tiled = tiled_bf16(torch.ones(2, TILE), torch.tensor([5.0, 7.0]))
    assert tiled.shape == (2, 2 * TILE)
    assert tiled[:, TILE].tolist() == [5.0, 7.0]
    assert tiled.sum(dim=1).tolist() == [TILE + 5.0, TILE + 7.0]


@pytest.mark.parametrize("n_columns", [7, NARROW])
@pytest.mark.parametrize("n_rows", [1, 33, 100])
def test_a_product_by_blocks_of_rows_is_the_product(
    n_rows: int, n_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, matrix = torch.randn(n_rows, 5), torch.randn(5, n_columns)
    for n_threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda n=n_threads: n)
        torch.testing.assert_close(by_thread(rows, matrix), rows @ matrix)


@pytest.mark.bf16
@pytest.mark.parametrize("n_forms", [1, ROWS * N_BUCKETS, ROWS * N_BUCKETS + 1])
def test_forms_that_fill_up_a_batch_leave_vectors_and_gradients_alone(
    inventory: Inventory, n_forms: int
) -> None:
    torch.manual_seed(1)
    encoder = HighwayEncoder(inventory, encoder=CharCNN(inventory, dim=4, filters=(2,) * 6))
    words: Sequence[str] = inventory.words
    forms = FormTable(inventory, words).forms(torch.arange(n_forms).numpy() % len(words))
    gradients = []
    for is_bf16 in (True, False):
        encoder.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_bf16):
            vectors = encoder(forms)
        assert vectors.shape == (n_forms, encoder.dim)
        vectors.sum().backward()
        gradients.append([p.grad for p in encoder.parameters() if p.grad is not None])
    coarse, exact = (torch.cat([g.flatten() for g in each]) for each in gradients)
    assert float((coarse - exact).norm() / exact.norm()) < 0.05


@pytest.mark.parametrize("shape", [(BLOCK - 1, 3), (BLOCK, 5), (2 * BLOCK + 3, 2)])
def test_a_transpose_by_blocks_of_rows_is_the_transpose(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape)
    columns = transposed(matrix)
    assert torch.equal(columns, matrix.t())
    assert columns.is_contiguous()


@pytest.mark.parametrize(("left", "right"), [(3, 7), (7, 3), (5, 5)])
def test_a_product_summed_over_rows_is_that_of_columns(left: int, right: int) -> None:
    wide, narrow = torch.randn(70, left).double(), torch.randn(70, right).double()
    torch.testing.assert_close(summed_over_rows(wide, narrow), wide.t() @ narrow)
