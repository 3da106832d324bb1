"""Word-type dropout: which rows are dropped, how the others are scaled, and when."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from charlm.model.build import ENCODER
from charlm.model.encoders.type_dropout import TypeDropout
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., TypeDropout]
Spell = Callable[[Sequence[str]], Forms]

INNER: dict[str, Any] = {"type": "word", "dim": 4}


@pytest.fixture
def encoder(build: Build, inventory: Inventory) -> TypeDropout:
    settings = {"type": "type-dropout", "p": 0.25, "encoder": INNER}
    return build(ENCODER, settings, leading=[inventory])


def many(spell: Spell) -> Forms:
    return spell(["a", "cab", "bb", "c"] * 1_000)


def test_in_training_whole_rows_go_and_the_others_grow_by_a_third(
    encoder: TypeDropout, spell: Spell
) -> None:
    whole = encoder(many(spell))
    torch.manual_seed(3)
    thinned = encoder.train()(many(spell))
    left = thinned.any(dim=1)
    torch.testing.assert_close(thinned[left], whole[left] / 0.75)
    assert (~left).float().mean().item() == pytest.approx(0.25, abs=0.03)  # 4 standard errors


def test_in_evaluation_nothing_goes_and_no_random_number_is_drawn(
    encoder: TypeDropout, spell: Spell
) -> None:
    torch.manual_seed(3)
    vectors = encoder(many(spell))
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(1), drawn)
    assert torch.equal(vectors, encoder.encoder(many(spell)))


def test_the_last_tap_is_thinned_as_the_vectors_are_and_no_other_is(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    inner = {"type": "mlp", "encoder": INNER}
    settings = {"type": "type-dropout", "p": 0.5, "encoder": inner}
    encoder = build(ENCODER, settings, leading=[inventory]).train()
    forms = many(spell)
    torch.manual_seed(3)
    vectors = encoder(forms)
    torch.manual_seed(3)
    taps = encoder.taps(forms)
    assert list(taps) == ["word", "mlp"]
    assert torch.equal(taps["mlp"], vectors)
    assert bool(taps["word"].any(dim=1).all())


def test_a_dropped_form_has_no_gradient(build: Build, inventory: Inventory, spell: Spell) -> None:
    settings = {"type": "type-dropout", "p": 0.5, "encoder": INNER}
    encoder = build(ENCODER, settings, leading=[inventory]).train()
    forms = spell(inventory.words)
    torch.manual_seed(1)
    vectors = encoder(forms)
    vectors.sum().backward()
    table = encoder.encoder.get_parameter("table.weight")
    assert table.grad is not None
    left = vectors.any(dim=1)
    assert 0 < int(left.sum()) < inventory.n_words
    assert torch.equal(table.grad.any(dim=1), left)
