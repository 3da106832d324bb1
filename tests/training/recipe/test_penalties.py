"""Penalties by hand, and averages of weights in a model for a while."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from charlm.training.recipe.averages import Averages
from charlm.training.recipe.penalties import activation_penalty, temporal_penalty

H = torch.tensor([[[1.0, 3.0], [2.0, 0.0]], [[2.0, 3.0], [9.0, 9.0]], [[2.0, 5.0], [9.0, 9.0]]])
EXISTS = torch.tensor([[True, True], [True, False], [True, False]])  # three steps of two streams


def test_the_activation_penalty_is_the_mean_square_where_there_is_a_word() -> None:
    squares = [(1 + 9) / 2, (4 + 0) / 2, (4 + 9) / 2, (4 + 25) / 2]
    assert activation_penalty(H, EXISTS).item() == pytest.approx(sum(squares) / 4)


def test_the_temporal_penalty_is_the_mean_square_change_between_words_of_a_stream() -> None:
    changes = [(1 + 0) / 2, (0 + 4) / 2]
    assert temporal_penalty(H, EXISTS).item() == pytest.approx(sum(changes) / 2)


def test_a_single_step_changes_nothing() -> None:
    assert temporal_penalty(H[:1], EXISTS[:1]).item() == 0.0
    assert temporal_penalty(H[:1], None).item() == 0.0


@pytest.mark.parametrize("penalty", [activation_penalty, temporal_penalty])
def test_where_every_place_has_a_word_none_is_looked_for(
    penalty: Callable[[Tensor, Tensor | None], Tensor],
) -> None:
    h_TBH = torch.randn(35, 20, 50, generator=torch.Generator().manual_seed(1))
    everywhere = torch.ones(35, 20, dtype=torch.bool)
    assert torch.equal(penalty(h_TBH, None), penalty(h_TBH, everywhere))


def test_averages_are_those_of_the_updates_by_hand() -> None:
    parameter = torch.tensor([2.0], requires_grad=True)
    averages = Averages([parameter])
    for value, weight in ((2.0, 1.0), (4.0, 1 / 2), (9.0, 1 / 3)):
        parameter.data.fill_(value)
        averages.update(weight)
    assert averages.values[0].item() == pytest.approx(5.0)


def test_averages_stand_in_the_model_for_a_while() -> None:
    parameter = torch.tensor([2.0], requires_grad=True)
    averages = Averages([parameter])
    with averages.in_place():
        assert parameter.item() == 2.0  # there are none yet
    averages.update(1.0)
    parameter.data.fill_(7.0)
    with pytest.raises(RuntimeError), averages.in_place():
        assert parameter.item() == 2.0
        raise RuntimeError
    assert parameter.item() == 7.0
