"""Dropout masks from 16 random bits per number, and where they are used."""

import pytest
import torch

from charlm.model.contexts.ffnn import FeedForward
from charlm.model.contexts.lstm import LSTM
from charlm.model.contexts.recurrence import dropped
from charlm.model.kernels.dropout import quick_mask


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_a_number_falls_at_the_rate_and_what_is_kept_grows_by_its_inverse(
    rate: float, dtype: torch.dtype
) -> None:
    torch.manual_seed(1)
    like = torch.empty(333, 301, dtype=torch.float32 if dtype == torch.bfloat16 else dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        mask = quick_mask(like, rate)
    assert mask.dtype == dtype
    assert float((mask == 0).float().mean()) == pytest.approx(rate, abs=0.006)  # 4 sigma
    assert mask.unique().tolist() == [0.0, float(torch.tensor(1 / (1 - rate), dtype=dtype))]


def test_a_mask_is_that_of_torchs_generator_and_the_next_another() -> None:
    torch.manual_seed(1)
    first, second = (quick_mask(torch.empty(10, 10), 0.5) for _ in range(2))
    torch.manual_seed(1)
    assert torch.equal(quick_mask(torch.empty(10, 10), 0.5), first)
    assert not torch.equal(first, second)


def test_neighbours_fall_independently_of_each_other() -> None:
    torch.manual_seed(1)
    kept = quick_mask(torch.empty(100_000), 0.5) > 0
    for distance in range(1, 9):
        alike = (kept[distance:] == kept[:-distance]).float().mean()
        assert float(alike) == pytest.approx(0.5, abs=0.007)


def test_a_training_in_fp32_draws_as_torch_does() -> None:
    context, x = FeedForward(20), torch.ones(50, 20)
    torch.manual_seed(1)
    ours = dropped(context, x, rate=0.5)
    torch.manual_seed(1)
    assert torch.equal(ours, torch.nn.functional.dropout(x, 0.5))


@pytest.mark.bf16
def test_without_noise_a_training_draws_nothing() -> None:
    context = LSTM(8, dim=8, dropout=0.0)
    before = torch.get_rng_state()
    with torch.autocast("cpu", torch.bfloat16):
        context(torch.ones(2, 1, 8), context.initial_state(1))
    assert torch.equal(torch.get_rng_state(), before)
