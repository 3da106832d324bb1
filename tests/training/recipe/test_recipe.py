"""Recipes: what they accept, and their defaults."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charlm.errors import ConfigError
from charlm.presets import PRESETS
from charlm.text.vocabulary.encoding import EncodedText
from charlm.training.recipe.recipe import build_recipe

PLAIN_SGD = {"type": "sgd", "lr": 1.0, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}


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
            "recipe has no option 'epoch'; did you mean recipe.epochs? it takes epochs, "
            "batch_size, bptt, divisor, clip, "
            "oov_input, input_noise, activation_penalty, temporal_penalty, past_decode_penalty, "
            "patience, temperature, initialisation, criterion, optimiser, schedule, averaging, "
            "batching",
        ),
        (
            {"momentum": 0.9},
            "recipe has no option 'momentum'; did you mean recipe.optimiser.momentum? it takes "
            "epochs, batch_size, bptt, divisor, clip, oov_input, input_noise, activation_penalty, "
            "temporal_penalty, past_decode_penalty, patience, temperature, initialisation, "
            "criterion, optimiser, schedule, averaging, batching",
        ),
        (
            {"optimiser": "adam"},
            "optimiser: found 'adam'; expected an object with a type; "
            "say recipe.optimiser.type=adam",
        ),
        (
            {"optimiser": {"type": "adamm"}},
            "unknown optimiser 'adamm'; did you mean adam? expected one of sgd, "
            "adam, adamw, nadam, radam, rmsprop, "
            "adagrad, adadelta",
        ),
    ],
)
def test_a_recipe_that_cannot_be_made_is_one_line(settings: Any, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_recipe(settings)
    assert str(caught.value) == line


def test_an_option_of_the_part_that_a_recipe_leaves_out_is_that_of_its_default() -> None:
    recipe, resolved = build_recipe({"batching": {"reset": 0.25}, "optimiser": {"lr": 0.5}})
    assert resolved["batching"] == {"type": "streams", "shuffle": "none", "reset": 0.25}
    assert recipe.optimiser.lr == 0.5


@pytest.mark.parametrize(
    ("recipe", "n_tokens", "n_processes", "size"),
    [
        ({}, 930_000, 1, 64),  # 133, limited to 64
        ({}, 300_000, 1, 40),  # 42.9
        ({}, 100_000, 1, 16),  # 14.3
        ({}, 100_000, 3, 15),
        ({}, 50, 1, 8),
        ({}, 50, 3, 6),
        ({}, 50, 12, 12),
        ({"bptt": 70}, 300_000, 1, 24),  # 21.4
        ({"batching": {"type": "sentences"}}, 100_000, 1, 24),  # 5,000 sentences: 25
    ],
)
def test_the_streams_that_are_left_to_the_text_give_an_epoch_200_steps(
    recipe: dict[str, Any], n_tokens: int, n_processes: int, size: int
) -> None:
    text = EncodedText(np.zeros(n_tokens, np.int32), (), n_sentences=n_tokens // 20, sha256="")
    built, _ = build_recipe({"batch_size": 0, **recipe})
    assert built.batch_size_for(text, n_processes=n_processes) == size


@pytest.mark.parametrize(("n_tokens", "noise"), [(50, 0.2), (150_000, 0.2), (150_001, 0.0)])
def test_noise_that_is_left_to_the_text_is_for_little_of_it(n_tokens: int, noise: float) -> None:
    text = EncodedText(np.zeros(n_tokens, np.int32), (), n_sentences=1, sha256="")
    built, _ = build_recipe({"input_noise": -1})
    assert built.input_noise_for(text) == noise


def test_a_negative_share_of_noise_is_the_text_s_or_none(
    train_toy: Callable[..., object], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        train_toy(overrides=["recipe.input_noise=-0.5"])
    assert str(caught.value) == (
        "option 'input_noise' of recipe: -0.5; expected 0 to 0.999, or -1, which leaves it to the "
        "length of the text"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["cross-entropy", "self-normalised", "nce", "sampled-softmax"])
def test_past_decoding_takes_from_a_sampled_criterion_what_it_spares(kind: str) -> None:
    recipe, _ = build_recipe({"criterion": {"type": kind}, "past_decode_penalty": 0.1})
    told = (
        "recipe.past_decode_penalty=0.1 sums over all words at each step, so that a criterion that "
        "samples them saves little; take 0 for its speed"
    )
    assert recipe.whole_sums() == (told if kind in ("nce", "sampled-softmax") else "")
    alone, _ = build_recipe({"criterion": {"type": kind}})
    assert not alone.whole_sums()
