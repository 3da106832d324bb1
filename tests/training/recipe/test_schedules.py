"""Rates of epochs and steps by hand, from the papers and the code published with them."""

import math
from typing import Any

import pytest

from charlm.settings import Family, build_part
from charlm.training.recipe.schedules import (
    SCHEDULES,
    Constant,
    Cosine,
    Divide,
    Halving,
    Linear,
    Pretraining,
    Schedule,
)

FAMILY = Family("schedule", Schedule, SCHEDULES)


def rates(schedule: Schedule, rate: float, n_epochs: int) -> list[float]:
    """The rate of every epoch, as the loop asks for it."""
    found = [schedule.first_rate(rate)]
    for n_done in range(1, n_epochs):
        found.append(schedule.next_rate(found[-1], [100.0] * n_done))
    return found


def factors(schedule: Schedule, n_steps: int) -> list[float]:
    return [schedule.step_factor(step, n_steps) for step in range(n_steps)]


@pytest.mark.parametrize("schedule", [Halving(), Constant(), Divide()])
def test_a_schedule_of_epochs_leaves_steps_and_sides_alone(schedule: Schedule) -> None:
    assert schedule.first_rate(0.7) == 0.7
    assert factors(schedule, 5) == [1.0] * 5
    assert [schedule.side(epoch) for epoch in range(9)] == ["both"] * 9


@pytest.mark.parametrize("schedule", [Cosine(), Linear()])
def test_a_schedule_of_steps_leaves_the_rate_of_epochs_alone(schedule: Schedule) -> None:
    assert rates(schedule, 0.7, 4) == [0.7] * 4
    assert schedule.side(0) == "both"


@pytest.mark.parametrize("kind", SCHEDULES)
def test_every_schedule_is_built_from_its_settings(kind: str) -> None:
    schedule, settings = build_part(FAMILY, {"type": kind})
    assert isinstance(schedule, Schedule)
    assert build_part(FAMILY, settings)[1] == settings


@pytest.mark.parametrize(
    ("ppls", "rate"),
    [
        ([200.0], 1.0),
        ([200.0, 199.5], 1.0),  # the rate can be halved from the third epoch on
        ([200.0, 150.0, 149.5], 0.5),
        ([200.0, 150.0, 149.0], 1.0),  # a gain of exactly 1.0 is enough
        ([200.0, 150.0, 149.0009765625], 0.5),
        ([200.0, 150.0, 160.0], 0.5),
        ([100.0, 150.0, 148.0], 1.0),  # compared with the epoch before, not with the best
        ([100.0, 150.0, 160.0, 158.0], 1.0),
        ([100.0, 90.0, 80.0, 80.0], 0.5),
    ],
)
def test_the_rate_is_halved_when_an_epoch_gains_less_than_one(
    ppls: list[float], rate: float
) -> None:
    assert Halving().next_rate(1.0, ppls) == rate


def test_the_rate_goes_on_from_where_it_is() -> None:
    ppls, rate, rates = [300.0, 200.0, 199.5, 150.0, 149.9, 150.0], 1.0, []
    for n in range(1, len(ppls) + 1):
        rate = Halving().next_rate(rate, ppls[:n])
        rates.append(rate)
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25, 0.125]


def test_the_options_of_halving_change_factor_gain_and_first_epoch() -> None:
    schedule = Halving(factor=0.1, least_gain=5.0, first_epoch=0)
    assert schedule.next_rate(2.0, [100.0]) == 2.0  # there is no epoch before the first
    assert schedule.next_rate(2.0, [100.0, 96.0]) == pytest.approx(0.2)
    assert schedule.next_rate(2.0, [100.0, 95.0]) == 2.0


def test_a_share_of_the_perplexity_before_is_the_least_gain_where_it_is_more() -> None:
    schedule = Halving(least_gain=0.5, least_gain_share=0.01, first_epoch=0)
    assert schedule.next_rate(1.0, [200.0, 198.0]) == 1.0
    assert schedule.next_rate(1.0, [200.0, 198.5]) == 0.5
    assert schedule.next_rate(1.0, [30.0, 29.5]) == 1.0
    assert schedule.next_rate(1.0, [30.0, 29.6]) == 0.5


def test_a_constant_rate_stays() -> None:
    assert Constant().next_rate(0.3, [1.0, 2.0, 3.0, 4.0]) == 0.3


def test_the_rate_is_divided_after_each_epoch_from_the_kth_on() -> None:
    # Miyamoto & Cho, section 3: rate 1 in the first k = 4 epochs, then divided by l = 2 each.
    assert rates(Divide(), 1.0, 7) == [1, 1, 1, 1, 1 / 2, 1 / 4, 1 / 8]


def test_zarembas_large_model_has_its_full_rate_for_fifteen_epochs() -> None:
    # In their loop, epoch is 1.0 when the first has ended; if it is over 14, the rate is divided.
    rate, expected = 1.0, [1.0]
    for epoch in range(1, 20):
        rate = rate / 1.15 if epoch > 14 else rate
        expected.append(rate)
    assert rates(Divide(divisor=1.15, first_epoch=15), 1.0, 20) == expected


def published(n_epochs: int, *, k: int, divisor: float, m: int) -> tuple[list[float], list[str]]:
    """Rates and sides as Miyamoto & Cho's training loop goes through them."""
    decayed, found, sides = 1.0, [], []
    for epoch in range(n_epochs):
        if epoch >= k:
            decayed /= divisor
        side = "word" if epoch < m else "char" if epoch < 2 * m else "both"
        sides.append(side)
        found.append({"word": 1.0, "char": 0.1, "both": decayed}[side])
    return found, sides


@pytest.mark.parametrize(
    ("k", "divisor", "m"),
    [(7, 2.1, 2), (4, 1.4, 2), (7, 2.1, 1), (2, 3.0, 3), (1, 2.0, 1), (4, 2.0, 0), (1, 2.0, 0)],
)
def test_pretraining_goes_through_the_rates_and_sides_of_the_published_loop(
    k: int, divisor: float, m: int
) -> None:
    schedule = Pretraining(epochs=m, divisor=divisor, first_epoch=k)
    expected, sides = published(12, k=k, divisor=divisor, m=m)
    assert rates(schedule, 1.0, 12) == pytest.approx(expected, rel=1e-14)
    assert [schedule.side(epoch) for epoch in range(12)] == sides


def test_the_third_phase_has_the_optimisers_rate_to_the_bit() -> None:
    assert rates(Pretraining(), 1.0, 8) == [1.0, 1.0, 0.1, 0.1, 1.0, 1.0, 1.0, 1 / 2.1]


def test_the_phases_rates_are_multiples_of_the_optimisers() -> None:
    schedule = Pretraining(epochs=1, word_factor=2.0, char_factor=0.5, divisor=4.0, first_epoch=4)
    assert rates(schedule, 0.25, 6) == [0.5, 0.125, 0.25, 0.25, 0.0625, 0.015625]


def test_a_rate_that_was_divided_too_often_is_zero_and_no_error() -> None:
    schedule = Pretraining(epochs=2, divisor=1e6, first_epoch=1)
    assert rates(schedule, 1.0, 200)[-1] == 0.0


def test_cosine_climbs_in_equal_steps_and_falls_along_half_a_cosine() -> None:
    expected = [0.25, 0.5, 0.75, 1.0]
    expected += [(1 + math.cos(math.pi * n / 6)) / 2 for n in range(6)]
    assert factors(Cosine(warm_up=4), 10) == pytest.approx(expected)
    assert factors(Cosine(warm_up=0.4), 10) == factors(Cosine(warm_up=4), 10)
    assert Cosine(warm_up=4).step_factor(7, 10) == pytest.approx(0.5)


def test_cosine_falls_to_its_floor() -> None:
    schedule = Cosine(warm_up=0, floor=0.2)
    assert schedule.step_factor(0, 8) == 1.0
    assert schedule.step_factor(4, 8) == pytest.approx(0.6)
    assert schedule.step_factor(8, 8) == pytest.approx(0.2)
    assert schedule.step_factor(80, 8) == pytest.approx(0.2)


def test_linear_falls_in_equal_steps_and_its_last_step_is_not_nothing() -> None:
    assert factors(Linear(warm_up=2), 7) == pytest.approx([0.5, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2])
    assert factors(Linear(warm_up=1), 3) == [1.0, 1.0, 0.5]  # one step, and not all of them
    assert factors(Linear(warm_up=9), 2) == [0.5, 1.0]  # no longer than the training
    assert Linear(warm_up=2).step_factor(7, 7) == 0.0


def test_linear_holds_the_full_rate_until_its_share_of_the_steps() -> None:
    # Warm-up of 1 of 20 steps, constant to 55 %, then 9 steps down to zero.
    found = factors(Linear(warm_up=0.05, hold=0.55), 20)
    assert found == pytest.approx([1.0] * 12 + [1 - n / 9 for n in range(1, 9)])


@pytest.mark.parametrize("kind", [Cosine, Linear])
@pytest.mark.parametrize("warm_up", [0.0, 0.5, 1, 3, 1000])
@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_short_trainings_have_factors_from_zero_to_one(
    kind: Any, warm_up: float, n_steps: int
) -> None:
    assert all(0.0 < factor <= 1.0 for factor in factors(kind(warm_up=warm_up), n_steps))
    assert 0.0 <= kind(warm_up=warm_up).step_factor(n_steps + 5, n_steps) <= 1.0
