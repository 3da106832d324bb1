"""What a recipe may say, and its parts: rates over epochs, initial draws."""

from typing import Any

import pytest
import torch
from torch import nn

from charlm.errors import ConfigError
from charlm.presets import PRESETS
from charlm.training.recipe.initialisation import Uniform
from charlm.training.recipe.recipe import build_recipe
from charlm.training.recipe.schedules import Constant, Halving

PLAIN_SGD = {"type": "sgd", "lr": 1.0, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}


@pytest.mark.parametrize(
    ("ppls", "rate"),
    [
        ([200.0], 1.0),
        ([200.0, 199.5], 1.0),  # the third epoch is the first that may halve
        ([200.0, 150.0, 149.5], 0.5),
        ([200.0, 150.0, 149.0], 1.0),  # a gain of exactly 1.0 is enough
        ([200.0, 150.0, 149.0009765625], 0.5),
        ([200.0, 150.0, 160.0], 0.5),
        ([100.0, 150.0, 148.0], 1.0),  # against the epoch before, not against the best
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


@pytest.mark.parametrize("name", ["char-small", "char-large", "word-small", "word-large"])
def test_the_presets_of_kim_et_al_have_their_recipe(name: str) -> None:
    recipe, resolved = build_recipe(PRESETS[name]["recipe"])
    assert resolved == {
        "epochs": 25,
        "batch_size": 20,
        "bptt": 35,
        "divisor": "streams",
        "clip": 5.0,
        "oov_input": "unk",
        "input_noise": 0.0,
        "initialisation": {"type": "uniform", "range": 0.05, "biases": "drawn"},
        "optimiser": PLAIN_SGD,
        "schedule": {
            "type": "halving",
            "factor": 0.5,
            "least_gain": 1.0,
            "least_gain_share": 0.0,
            "first_epoch": 3,
        },
        "criterion": {"type": "cross-entropy"},
        "averaging": {"type": "none"},
        "batching": {"type": "streams", "shuffle": "none", "reset": 0.0},
        "activation_penalty": 0.0,
        "temporal_penalty": 0.0,
        "past_decode_penalty": 0.0,
        "patience": 0,
        "temperature": "one",
    }
    assert (recipe.epochs, recipe.clip, recipe.optimiser.lr) == (25, 5.0, 1.0)


def test_what_a_recipe_leaves_out_is_filled_in_and_kept_when_read_again() -> None:
    _, resolved = build_recipe({"clip": 3, "optimiser": {"type": "sgd"}})
    assert resolved["clip"] == 3.0
    assert resolved["optimiser"] == PLAIN_SGD
    assert resolved["oov_input"] == "spelling"
    assert build_recipe(resolved)[1] == resolved


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (None, "recipe: found None; expected an object"),
        (
            {"epoch": 3},
            "recipe has no option 'epoch'; it takes epochs, batch_size, bptt, divisor, clip, "
            "oov_input, input_noise, activation_penalty, temporal_penalty, past_decode_penalty, "
            "patience, temperature, initialisation, criterion, optimiser, schedule, averaging, "
            "batching",
        ),
        ({"epochs": 0}, "option 'epochs' of recipe is 0; expected 1 to 100000"),
        ({"epochs": 2.5}, "option 'epochs' of recipe is 2.5; expected a whole number"),
        ({"clip": -1}, "option 'clip' of recipe is -1; expected 0.0 to 1000000000.0"),
        (
            {"divisor": "words"},
            "option 'divisor' of recipe is 'words'; expected one of 'streams', 'tokens'",
        ),
        (
            {"optimiser": {"type": "adamm"}},
            "unknown optimiser 'adamm'; expected one of sgd, adam, adamw, nadam, radam, rmsprop, "
            "adagrad, adadelta",
        ),
        (
            {"optimiser": {"type": "sgd", "lr": float("nan")}},
            "option 'lr' of optimiser 'sgd' is nan; expected 0.0 to 1000000.0",
        ),
        (
            {"optimiser": {"type": "adam", "betas": 0.9}},
            "option 'betas' of optimiser 'adam' is 0.9; expected a list of at most 64, as "
            "[0.9, 0.999]",
        ),
        (
            {"schedule": {"type": "constant", "factor": 0.5}},
            "schedule 'constant' has no option 'factor'; it takes none",
        ),
    ],
)
def test_a_recipe_that_cannot_be_made_is_one_line(settings: Any, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_recipe(settings)
    assert str(caught.value) == line


def test_uniform_draws_every_parameter_biases_included_within_its_range() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(40, 30), nn.Embedding(50, 20, padding_idx=0))
    Uniform(range=0.2).apply(model)
    for parameter in model.parameters():
        assert parameter.abs().max() <= 0.2
        assert parameter.abs().max() > 0.15
        assert abs(float(parameter.detach().mean())) < 0.1


def test_an_option_of_the_part_that_a_recipe_leaves_out_is_that_of_its_default() -> None:
    recipe, resolved = build_recipe({"batching": {"reset": 0.25}, "optimiser": {"lr": 0.5}})
    assert resolved["batching"] == {"type": "streams", "shuffle": "none", "reset": 0.25}
    assert recipe.optimiser.lr == 0.5
