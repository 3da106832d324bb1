"""Averaged weights against sums written out, and the trigger against the published loop."""

from itertools import accumulate, product
from math import comb
from operator import mul

import pytest
import torch

from charlm.settings import Family, build_part
from charlm.training.recipe.averaging import (
    AVERAGINGS,
    Averages,
    Averaging,
    Exponential,
    NoAveraging,
    NonMonotonic,
)

FAMILY = Family("averaging", Averaging, AVERAGINGS)


def averaged(averaging: Averaging, values: list[float]) -> list[float]:
    """The averages after each value, moved as the trainer moves them, from a wild start."""
    average, found = torch.tensor(1e3, dtype=torch.float64), []
    for n, value in enumerate(values):
        average.lerp_(torch.tensor(value, dtype=torch.float64), averaging.weight(n))
        found.append(float(average))
    return found


def triggered(ppls: list[float], *, window: int) -> bool:
    """Whether Merity et al.'s training has switched: their loop, with its list of earlier ones."""
    earlier: list[float] = []
    for ppl in ppls:
        if len(earlier) > window and ppl > min(earlier[: len(earlier) - window]):
            return True
        earlier.append(ppl)
    return False


def test_no_averaging_never_begins_and_would_be_the_weights_themselves() -> None:
    assert not NoAveraging().begins([])
    assert not NoAveraging().begins([3.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    assert averaged(NoAveraging(), [1.0, 5.0, 2.0]) == [1.0, 5.0, 2.0]


@pytest.mark.parametrize("window", [0, 2, 5])
def test_nt_asgd_tells_how_many_epochs_it_needs_at_least(window: int) -> None:
    worse_and_worse = [float(epoch) for epoch in range(20)]
    averaging = NonMonotonic(window=window)
    first = next(n for n in range(20) if averaging.begins(worse_and_worse[:n])) + 1
    assert averaging.left_out(n_epochs=first, n_pretraining=0, patience=0) == ""
    assert averaging.left_out(n_epochs=first - 1, n_pretraining=0, patience=0) == (
        f"no weights are averaged: with recipe.averaging.window={window} epoch {first} is the "
        f"first that can be, and --epochs is {first - 1}"
    )


def test_epochs_of_pre_training_do_not_count_towards_the_first_averaged_one() -> None:
    averaging = NonMonotonic(window=5)
    assert "epoch 12 is the first" in averaging.left_out(n_epochs=11, n_pretraining=4, patience=0)
    assert averaging.left_out(n_epochs=12, n_pretraining=4, patience=0) == ""


def test_nt_asgd_is_the_mean_of_all_weights_since_it_began() -> None:
    values = [1.0, 5.0, 2.0, -4.0, 8.0]
    means = [total / n for n, total in enumerate(accumulate(values), 1)]
    assert averaged(NonMonotonic(), values) == pytest.approx(means)


def test_ema_is_the_mean_at_first_and_then_forgets_at_its_decay() -> None:
    values = [4.0, 8.0, 0.0, 2.0, 10.0, 6.0]
    # decay .75 remembers four: 4, 6, 4, 3.5, then ¾ of the old and ¼ of the new.
    expected = [4.0, 6.0, 4.0, 3.5, 0.75 * 3.5 + 2.5, 0.75 * (0.75 * 3.5 + 2.5) + 1.5]
    assert averaged(Exponential(decay=0.75), values) == pytest.approx(expected)


def test_ema_weighs_few_steps_by_a_polynomial_of_its_degree() -> None:
    values = [4.0, 8.0, 0.0, 2.0, 10.0, 6.0]
    shares = [comb(i + 8, 9) for i in range(1, len(values) + 1)]  # of i (i + 1) … (i + 8)
    expected = [
        sum(map(mul, shares, values[:n])) / sum(shares[:n]) for n in range(1, len(values) + 1)
    ]
    assert averaged(Exponential(decay=0.9999, degree=9), values) == pytest.approx(expected)


def test_ema_forgets_at_its_decay_where_that_is_slower() -> None:
    # Decay .5: by 10/11, 10/12 … at first, 10/19 the last of them; then half of the old is kept.
    values = [0.0] * 9 + [1.0, 5.0, 2.0]
    found = averaged(Exponential(decay=0.5, degree=9), values)
    assert found[8:] == pytest.approx(
        [0.0, 10 / 19, (10 / 19 + 5) / 2, ((10 / 19 + 5) / 2 + 2) / 2]
    )


def test_ema_begins_with_the_first_step() -> None:
    assert Exponential().begins([])
    assert Exponential().begins([100.0, 90.0])


@pytest.mark.parametrize("window", [0, 1, 2])
def test_nt_asgd_begins_when_the_published_loop_does_and_never_stops(window: int) -> None:
    averaging = NonMonotonic(window=window)
    for ppls in product((1.0, 2.0, 3.0), repeat=5):
        found = [averaging.begins(ppls[:n]) for n in range(6)]
        assert found == [triggered(list(ppls[:n]), window=window) for n in range(6)]
        assert found == sorted(found)


@pytest.mark.parametrize("kind", AVERAGINGS)
def test_every_averaging_is_built_from_its_settings_and_forgets_where_it_started(
    kind: str,
) -> None:
    averaging, settings = build_part(FAMILY, {"type": kind})
    assert build_part(FAMILY, settings)[1] == settings
    assert averaged(averaging, [7.0]) == [7.0]
    assert all(0.0 < averaging.weight(n) <= 1.0 for n in (0, 1, 10, 10**9))


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
        assert parameter.item() == 2.0  # there is no average yet
    averages.update(1.0)
    parameter.data.fill_(7.0)
    with pytest.raises(RuntimeError), averages.in_place():
        assert parameter.item() == 2.0
        raise RuntimeError
    assert parameter.item() == 7.0


@pytest.mark.parametrize("window", [0, 5])
def test_nt_asgd_tells_if_patience_ends_the_training_first(window: int) -> None:
    averaging = NonMonotonic(window=window)
    rising = [9.0, *(10.0 + epoch for epoch in range(window + 1))]  # the best epoch comes first
    assert averaging.begins(rising) and not averaging.begins(rising[:-1])
    least = len(rising)  # epochs after the best one until the first averaged epoch is done
    for patience in (0, least):
        assert not averaging.left_out(n_epochs=99, n_pretraining=0, patience=patience)
    assert averaging.left_out(n_epochs=99, n_pretraining=0, patience=least - 1) == (
        f"recipe.patience={least - 1} may end the training before weights are averaged, which "
        f"recipe.averaging.window={window} begins after {window + 1} epochs without improvement; "
        f"take {least} or more, or 0"
    )
