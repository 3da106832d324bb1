"""The contract of encoders, for every entry of ENCODERS; a new one is tested once it is listed."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.model.build import ENCODER
from charlm.model.contract import Encoder
from charlm.model.encoders import ENCODERS
from charlm.model.forms import Forms
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

Spell = Callable[[Sequence[str]], Forms]

CNN = {"type": "char-cnn", "dim": 4, "widths": [1, 3, 5], "filters": [6, 7, 8]}
BOTH = {"word": {"type": "word", "dim": 21}, "char": CNN}
# Arguments that an encoder requires, or that keep it small; others take their defaults.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "char-cnn": CNN,
    "highway": {"layers": 2, "encoder": CNN},
    "mlp": {"layers": 2, "encoder": CNN},
    "project": {"dim": 5, "encoder": CNN},
    "type-dropout": {"encoder": CNN},
    "char-lstm": {"dim": 5, "letter_dim": 4, "hidden_dim": 6, "tables": "separate"},
    "char-ngram": {"dim": 6, "min_n": 2, "buckets": 97},
    **dict.fromkeys(["concat", "add", "average", "convex", "gate"], BOTH),
    "tensor": {**BOTH, "dim": 5, "rank": 4},
}
FORMS = ["ab", "</s>", "abacus", "<unk>", "a", "cab"]
LONG = "abc" * 20


def settings_of(name: str) -> dict[str, Any]:
    return {**ARGUMENTS.get(name, {}), "type": name}


@pytest.fixture(params=ENCODERS)
def encoder(
    request: pytest.FixtureRequest, build: Callable[..., Encoder], inventory: Inventory
) -> Encoder:
    return build(ENCODER, settings_of(request.param), leading=[inventory])


def test_an_encoder_gives_one_vector_of_its_width_a_form(encoder: Encoder, spell: Spell) -> None:
    assert encoder(spell(FORMS)).shape == (len(FORMS), encoder.dim)


@pytest.mark.parametrize("form", [*FORMS, LONG])
def test_a_form_alone_has_the_vector_that_it_has_in_company(
    encoder: Encoder, spell: Spell, form: str
) -> None:
    together = encoder(spell([*FORMS, LONG]))[[*FORMS, LONG].index(form)]
    torch.testing.assert_close(encoder(spell([form]))[0], together, rtol=0, atol=1e-4)


def test_the_order_of_forms_changes_no_vector(encoder: Encoder, spell: Spell) -> None:
    turned = encoder(spell(FORMS[::-1])).flip(0)
    torch.testing.assert_close(turned, encoder(spell(FORMS)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 40])
def test_further_padding_changes_no_vector(encoder: Encoder, spell: Spell, columns: int) -> None:
    forms = spell(FORMS)
    wider = torch.nn.functional.pad(forms.letters_NL, (0, columns))
    assert forms.morphs_NM is not None
    more_morphs = torch.nn.functional.pad(forms.morphs_NM, (0, columns))
    padded = encoder(Forms(forms.words_N, wider, more_morphs))
    torch.testing.assert_close(padded, encoder(forms), rtol=0, atol=1e-4)


def test_reads_spelling_says_whether_unknown_forms_differ(encoder: Encoder, spell: Spell) -> None:
    unk, one, other = encoder(spell(["<unk>", "ababa", "cccc"]))
    differ = [not torch.allclose(one, other, atol=1e-4), not torch.allclose(one, unk, atol=1e-4)]
    assert differ == [encoder.reads_spelling] * 2


def test_every_tap_has_a_row_a_form_and_the_last_is_the_vector(
    encoder: Encoder, spell: Spell
) -> None:
    taps = encoder.taps(spell(FORMS))
    assert taps
    assert {len(vectors) for vectors in taps.values()} == {len(FORMS)}
    torch.testing.assert_close(list(taps.values())[-1], encoder(spell(FORMS)))


def test_over_the_whole_vocabulary_every_parameter_has_a_gradient(
    encoder: Encoder, inventory: Inventory, spell: Spell
) -> None:
    torch.manual_seed(1)
    vectors = encoder(spell(inventory.words))
    (vectors * torch.randn(vectors.shape)).sum().backward()
    without = [n for n, p in encoder.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def gradients(encoder: Encoder, vectors: Tensor, weights: Tensor) -> dict[str, Tensor]:
    encoder.zero_grad()
    (vectors * weights).sum().backward()
    return {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}


def test_distinct_forms_and_the_whole_vocabulary_give_equal_vectors_and_gradients(
    encoder: Encoder, inventory: Inventory, spell: Spell
) -> None:
    words = torch.tensor([[3, 0, 3], [5, 4, 0]])  # ids by time and stream, with repetition
    distinct, where = words.unique(return_inverse=True)
    weights = torch.randn(2, 3, encoder.dim, generator=torch.Generator().manual_seed(2))
    gathered = encoder(spell([inventory.words[i] for i in distinct]))[where]
    whole = encoder(spell(inventory.words))[words]
    torch.testing.assert_close(gathered, whole, rtol=0, atol=1e-4)
    torch.testing.assert_close(
        gradients(encoder, gathered, weights), gradients(encoder, whole, weights)
    )


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoders_state_dict_round_trips(
    name: str, build: Callable[..., Encoder], inventory: Inventory, spell: Spell
) -> None:
    one = build(ENCODER, settings_of(name), leading=[inventory], seed=1)
    other = build(ENCODER, settings_of(name), leading=[inventory], seed=2)
    assert not torch.equal(other(spell(FORMS)), one(spell(FORMS)))
    other.load_state_dict(one.state_dict())
    assert torch.equal(other(spell(FORMS)), one(spell(FORMS)))


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoders_resolved_settings_rebuild_it(name: str, inventory: Inventory) -> None:
    part, resolved = build_part(ENCODER, settings_of(name), leading=[inventory])
    again, resolved_again = build_part(ENCODER, resolved, leading=[inventory])
    assert resolved_again == resolved
    shapes = {key: tensor.shape for key, tensor in part.state_dict().items()}
    assert {key: tensor.shape for key, tensor in again.state_dict().items()} == shapes
