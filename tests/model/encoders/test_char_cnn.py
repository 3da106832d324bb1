"""The character CNN against a slow loop over characters, written from eq. 5 and 6 of the paper."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import ENCODER
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import PAD, WORD_END, WORD_START, Inventory

Build = Callable[..., CharCNN]
Spell = Callable[[Sequence[str]], Forms]

SETTINGS = {"type": "char-cnn", "dim": 3, "widths": [2, 1, 4], "filters": [4, 2, 3]}


@pytest.fixture
def encoder(build: Build, inventory: Inventory) -> CharCNN:
    return build(ENCODER, SETTINGS, leading=[inventory])


def slow_vector(encoder: CharCNN, letters: list[int]) -> list[float]:
    """tanh of each filter's largest response over windows that start at 0 … the form's length.

    What lies behind the form is the padding character. The last window is padding alone.
    """
    state = {name: tensor.tolist() for name, tensor in encoder.state_dict().items()}
    table: list[list[float]] = state["letters.weight"]
    dim = len(table[0])
    vector = []
    for number in range(len(encoder.filters)):
        matrix, biases = state[f"filters.{number}.weight"], state[f"filters.{number}.bias"]
        width = len(matrix[0]) // dim
        padded = letters + [PAD] * width
        for row, bias in zip(matrix, biases, strict=True):
            responses = []
            for start in range(len(letters) + 1):
                response = 0.0
                for place in range(width):
                    for d in range(dim):
                        response += row[place * dim + d] * table[padded[start + place]][d]
                responses.append(response)
            vector.append(math.tanh(max(responses) + bias))
    return vector


@pytest.mark.parametrize(
    "forms",
    [
        ["a"],
        ["</s>", "<unk>"],
        ["abcabc", "a", "cab"],
        ["a", "a" * 64 + "c", "ab", "bac", "</s>", "uuuu", "abacus", "zz"],
    ],
    ids=len,
)
@pytest.mark.parametrize("padding_vector", [0.0, 0.7])
def test_the_cnn_equals_a_slow_loop_over_characters(
    encoder: CharCNN,
    inventory: Inventory,
    spell: Spell,
    forms: list[str],
    padding_vector: float,
) -> None:
    with torch.no_grad():
        encoder.letters.weight[PAD] = padding_vector
    expected = torch.tensor([slow_vector(encoder, inventory.spelling(form)) for form in forms])
    torch.testing.assert_close(encoder(spell(forms)), expected, rtol=0, atol=1e-5)


START, A, B, END = 0.1, 0.2, 0.3, 0.4  # the letters of the hand calculations, one number each


def filter_of(inventory: Inventory, weights: list[float]) -> CharCNN:
    """One filter with these weights and bias 0.05 over letters of one number."""
    encoder = CharCNN(inventory, dim=1, widths=(len(weights),), filters=(1,))
    state: dict[str, Any] = encoder.state_dict()
    a, b = inventory.spelling("ab")[1:-1]
    values = {WORD_START: START, a: A, b: B, WORD_END: END}
    letters = [[values.get(letter, 0.0)] for letter in range(inventory.n_characters)]
    state["letters.weight"] = torch.tensor(letters)
    state["filters.0.weight"] = torch.tensor([weights])
    state["filters.0.bias"] = torch.tensor([0.05])
    encoder.load_state_dict(state)
    return encoder


@pytest.mark.parametrize(
    ("weights", "highest"),
    [
        ([2.0], 2 * END),  # the end-of-word character, the last window within the form
        ([-2.0], 0.0),  # only the window over padding is not negative
        ([-1.0, 1.0], B - A),  # within: all neighbours differ by 0.1
        ([1.0, -1.0], END),  # the window that straddles the end: END − 0
        ([-1.0, -1.0, -1.0], 0.0),  # padding alone
        ([-1.0, 0.5, 0.5], -START + (A + B) / 2),  # the first window, before "a b end"'s equal
    ],
    ids=str,
)
def test_the_winning_window_of_ab_is_the_one_found_by_hand(
    inventory: Inventory, spell: Spell, weights: list[float], highest: float
) -> None:
    vector = filter_of(inventory, weights)(spell(["ab"]))
    assert vector.item() == pytest.approx(math.tanh(highest + 0.05))


@pytest.mark.parametrize(
    ("weights", "slope"),
    [
        ([2.0], 0.0),  # no padding in the winning window
        ([1.0, -1.0], -1.0),  # the straddling window holds it once
        ([-2.0], -2.0),  # padding wins
        (
            [-2.0, -3.0],
            -5.0,
        ),  # padding wins and holds it twice, however many such windows there are
    ],
    ids=str,
)
def test_the_padding_vector_has_the_gradient_of_the_winning_window(
    inventory: Inventory, spell: Spell, weights: list[float], slope: float
) -> None:
    encoder = filter_of(inventory, weights)
    vector = encoder(spell(["ab", "abc" * 20]))[0]
    vector.sum().backward()
    assert encoder.letters.weight.grad is not None
    expected = slope * (1 - vector.item() ** 2)
    assert encoder.letters.weight.grad[PAD].item() == pytest.approx(expected)


def test_after_a_step_the_padding_vector_is_0_and_nothing_else_has_moved(
    encoder: CharCNN, spell: Spell
) -> None:
    encoder(spell(["ab", "cab"])).sum().backward()
    torch.optim.SGD(encoder.parameters(), lr=1.0).step()
    stepped = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    assert stepped["letters.weight"][PAD].any()
    encoder.after_step()
    stepped["letters.weight"][PAD] = 0.0
    torch.testing.assert_close(dict(encoder.state_dict()), stepped, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("widths", "filters", "found"),
    [((1, 2), (3,), "2 widths and 1 filters"), ((), (), "0 widths and 0 filters")],
)
def test_widths_without_as_many_filters_are_refused(
    inventory: Inventory, widths: tuple[int, ...], filters: tuple[int, ...], found: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        CharCNN(inventory, widths=widths, filters=filters)
    assert str(caught.value) == (
        f"encoder 'char-cnn' has {found}; expected as many of both, 1 to 64"
    )


@pytest.mark.parametrize("times", [1, 321], ids=["few", "many"])
def test_all_forms_at_once_as_on_a_gpu_give_the_same_as_buckets(
    encoder: CharCNN, spell: Spell, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """There no length is asked for; padded forms, however wide, change nothing either."""
    words = [word * (1 + number % 3) for number in range(times) for word in ("abc", "a", "uuuu")]
    forms, encoder = spell([*words, "</s>"]), encoder.double()
    found = []
    for given in (forms, forms.padded()):
        vectors_NE = encoder(given)[: len(forms.words_N)]
        gradients = torch.autograd.grad(vectors_NE.square().sum(), list(encoder.parameters()))
        found.append((vectors_NE, *gradients))
        monkeypatch.setattr(CharCNN, "_in_buckets", CharCNN._all_at_once)
    for bucketed, at_once in zip(*found, strict=True):
        torch.testing.assert_close(at_once, bucketed, rtol=1e-12, atol=1e-12)
