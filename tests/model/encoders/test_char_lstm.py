"""The character LSTM against a loop over the equations, one form and direction at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.model.build import ENCODER
from charlm.model.encoders.char_lstm import CharLSTM
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., CharLSTM]
Spell = Callable[[Sequence[str]], Forms]

SIZES = {"type": "char-lstm", "dim": 3, "letter_dim": 4, "hidden_dim": 5}
FORMS = ["a", "abc" * 20, "</s>", "ab", "<unk>", "abacus", "cab", "zz"]


def slow_state(state: dict[str, Tensor], direction: int, x_LE: Tensor) -> Tensor:
    """h after the last row of x: torch's order of gates is input, forget, candidate, output."""
    name = f"readers.{direction}"
    w_x, w_h = state[f"{name}.weight_ih_l0"], state[f"{name}.weight_hh_l0"]
    b = state[f"{name}.bias_ih_l0"] + state[f"{name}.bias_hh_l0"]
    h = c = torch.zeros(w_h.shape[1], dtype=torch.float64)
    for x in x_LE:
        i, f, g, o = (w_x @ x + w_h @ h + b).chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def slow_vector(state: dict[str, Tensor], letters: list[int]) -> Tensor:
    """W_f h_f + W_b h_b + b, eq. 2 of Miyamoto and Cho."""
    tables = [state[name] for name in state if name.startswith("letters.")]
    onward = slow_state(state, 0, tables[0][letters])
    backward = slow_state(state, 1, tables[-1][letters[::-1]])
    w_f, w_b = state["combination.weight"].chunk(2, dim=1)
    return w_f @ onward + w_b @ backward + state["combination.bias"]


@pytest.mark.parametrize("tables", ["shared", "separate"])
@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize("forms", [["a"], ["<unk>", "</s>"], FORMS], ids=len)
def test_the_vectors_are_those_of_a_loop_over_letters(
    build: Build,
    inventory: Inventory,
    spell: Spell,
    tables: str,
    markers: bool,
    forms: list[str],
) -> None:
    settings = {**SIZES, "tables": tables, "markers": markers}
    encoder = build(ENCODER, settings, leading=[inventory]).double()
    state = encoder.state_dict()
    spelled = [inventory.spelling(form) for form in forms]
    read = spelled if markers else [letters[1:-1] for letters in spelled]
    expected = torch.stack([slow_vector(state, letters) for letters in read])
    torch.testing.assert_close(encoder(spell(forms)), expected)


@pytest.mark.parametrize(("tables", "n_tables"), [("shared", 1), ("separate", 2)])
def test_separate_tables_are_one_for_each_direction(
    build: Build, inventory: Inventory, tables: str, n_tables: int
) -> None:
    encoder = build(ENCODER, {**SIZES, "tables": tables}, leading=[inventory])
    assert len(encoder.letters) == n_tables


def test_padding_has_no_gradient_and_without_markers_they_have_none(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, {**SIZES, "markers": False}, leading=[inventory])
    encoder(spell(FORMS)).sum().backward()
    (gradient,) = (parameter.grad for parameter in encoder.letters.parameters())
    assert gradient is not None
    assert gradient.any(dim=1).tolist() == [False] * 3 + [True] * (inventory.n_characters - 3)


@pytest.mark.bf16
def test_under_autocast_the_vectors_are_near_those_in_full_precision(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, SIZES, leading=[inventory]).train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors = encoder(spell(FORMS))
    vectors.float().sum().backward()
    torch.testing.assert_close(vectors.float(), encoder(spell(FORMS)), rtol=0, atol=0.03)


@pytest.mark.parametrize("markers", [True, False])
def test_rows_of_padding_alone_disturb_no_other(
    build: Build, inventory: Inventory, spell: Spell, markers: bool
) -> None:
    encoder = build(ENCODER, {**SIZES, "markers": markers}, leading=[inventory])
    forms = spell(["ab", "cab"])
    empty: dict[str, Any] = {
        "words_N": torch.cat([forms.words_N, forms.words_N]),
        "letters_NL": torch.cat([forms.letters_NL, torch.zeros_like(forms.letters_NL)]),
    }
    filled = encoder(forms._replace(**empty))
    torch.testing.assert_close(filled[:2], encoder(forms))


def test_the_taps_of_both_directions_combine_to_the_vectors(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, SIZES, leading=[inventory]).eval()
    taps = encoder.taps(spell(FORMS))
    joined = torch.cat([taps["forward"], taps["backward"]], dim=1)
    torch.testing.assert_close(encoder.combination(joined), taps["char-lstm"])
    alone = encoder.taps(spell([FORMS[0]]))
    torch.testing.assert_close(alone["forward"][0], taps["forward"][0], rtol=0, atol=1e-5)
