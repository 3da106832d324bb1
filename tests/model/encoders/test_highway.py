"""Highway layers, and the MLP in their place, against loops over eq. 8, number by number."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from charlm.model.build import ENCODER
from charlm.model.contract import Encoder
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., Encoder]
Spell = Callable[[Sequence[str]], Forms]

INNER = {"type": "word", "dim": 4}
FORMS = ["a", "cab", "<unk>", "</s>"]


def affine(state: dict[str, Any], name: str, y: list[float]) -> list[float]:
    weight, bias = state[f"{name}.weight"].tolist(), state[f"{name}.bias"].tolist()
    return [
        sum(w * x for w, x in zip(row, y, strict=True)) + b
        for row, b in zip(weight, bias, strict=True)
    ]


def slow_highway(state: dict[str, Any], layer: int, y: list[float]) -> list[float]:
    """z = t ⊙ ReLU(W_H y + b_H) + (1 − t) ⊙ y, t = σ(W_T y + b_T − 2)."""
    new = [max(0.0, x) for x in affine(state, f"layers.{layer}.transform", y)]
    gates = [1 / (1 + math.exp(-(x - 2))) for x in affine(state, f"layers.{layer}.gate", y)]
    return [t * h + (1 - t) * x for t, h, x in zip(gates, new, y, strict=True)]


def slow_mlp(state: dict[str, Any], layer: int, y: list[float]) -> list[float]:
    return [max(0.0, x) for x in affine(state, f"layers.{layer}", y)]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("name", "slow"), [("highway", slow_highway), ("mlp", slow_mlp)])
def test_the_wrapper_equals_its_equation_over_single_numbers(
    build: Build,
    inventory: Inventory,
    spell: Spell,
    name: str,
    slow: Callable[..., list[float]],
    layers: int,
) -> None:
    settings = {"type": name, "layers": layers, "encoder": INNER}
    encoder = build(ENCODER, settings, leading=[inventory])
    state = encoder.state_dict()
    expected = []
    for word in spell(FORMS).words_N:
        y = state["encoder.table.weight"][word].tolist()
        for layer in range(layers):
            y = slow(state, layer, y)
        expected.append(y)
    torch.testing.assert_close(encoder(spell(FORMS)), torch.tensor(expected))


def wrapped(*names: str) -> dict[str, Any]:
    """Word vectors wrapped by these, from within; each of two layers."""
    settings: dict[str, Any] = INNER
    for name in names:
        settings = {"type": name, "layers": 2, "encoder": settings}
    return settings


@pytest.mark.parametrize(
    ("names", "taps"),
    [
        (["highway"], ["word", "transform.1", "highway.1", "transform", "highway"]),
        (["mlp"], ["word", "mlp"]),
        (
            ["mlp", "highway"],
            ["word", "mlp", "transform.1", "highway.1", "transform", "highway"],
        ),
        (["mlp", "mlp"], ["inner.word", "inner.mlp", "mlp"]),
        (
            ["highway", "highway"],
            [
                *("inner.word", "inner.transform.1", "inner.highway.1"),
                *("inner.transform", "inner.highway"),
                *("transform.1", "highway.1", "transform", "highway"),
            ],
        ),
        (["mlp", "mlp", "mlp"], ["inner.inner.word", "inner.inner.mlp", "inner.mlp", "mlp"]),
    ],
    ids=str,
)
def test_wrappers_of_wrappers_keep_every_tap_and_end_in_the_vector(
    build: Build, inventory: Inventory, spell: Spell, names: list[str], taps: list[str]
) -> None:
    encoder = build(ENCODER, wrapped(*names), leading=[inventory])
    found = encoder.taps(spell(FORMS))
    assert list(found) == taps
    torch.testing.assert_close(list(found.values())[-1], encoder(spell(FORMS)))


def test_the_tap_of_the_gate_is_the_share_that_is_transformed(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(
        ENCODER, {"type": "highway", "layers": 1, "encoder": INNER}, leading=[inventory]
    )
    taps = encoder.taps(spell(FORMS))
    state = encoder.state_dict()
    y = taps["word"]
    shares = torch.sigmoid(y @ state["layers.0.gate.weight"].T + state["layers.0.gate.bias"] - 2)
    torch.testing.assert_close(taps["transform"], shares)
