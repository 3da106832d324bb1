"""The gate of Miyamoto and Cho against eq. 3 and 7, number by number."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import ENCODER
from charlm.model.encoders.gate import GateEncoder
from charlm.model.forms import Forms
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., GateEncoder]
Spell = Callable[[Sequence[str]], Forms]

SIDES: dict[str, Any] = {
    "type": "gate",
    "word": {"type": "word", "dim": 4},
    "char": {"type": "char-lstm", "dim": 4, "letter_dim": 3, "hidden_dim": 3},
}
FORMS = ["a", "cab", "<unk>", "zz", "ababab", "</s>"]


def test_the_adaptive_gate_equals_its_equations_over_single_numbers(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, SIDES, leading=[inventory])
    taps = {name: tap.tolist() for name, tap in encoder.taps(spell(FORMS)).items()}
    assert list(taps) == ["word", "forward", "backward", "char-lstm", "gate", "gated"]
    (v,), (b,) = encoder.gate.weight.tolist(), encoder.gate.bias.tolist()
    named = (taps[name] for name in ("word", "char-lstm", "gate", "gated"))
    for word, char, gate, gated in zip(*named, strict=True):
        score = sum(v_i * w for v_i, w in zip(v, word, strict=True)) + b
        g = 1 / (1 + math.exp(-score))
        assert gate == [pytest.approx(g, abs=1e-6)]
        expected = [(1 - g) * w + g * c for w, c in zip(word, char, strict=True)]
        assert gated == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("g", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_fixed_gate_gives_the_char_side_its_share(
    build: Build, inventory: Inventory, spell: Spell, g: float
) -> None:
    encoder = build(ENCODER, {**SIDES, "kind": "fixed", "value": g}, leading=[inventory])
    taps = encoder.taps(spell(FORMS))
    assert taps["gate"].tolist() == [[g]] * len(FORMS)
    expected = (1 - g) * taps["word"] + g * taps["char-lstm"]
    torch.testing.assert_close(encoder(spell(FORMS)), expected)


@pytest.mark.parametrize(("g", "tap"), [(0, "word"), (1, "char-lstm")])
def test_a_gate_at_0_and_1_equals_its_two_sides_to_the_bit(
    build: Build, inventory: Inventory, spell: Spell, g: int, tap: str
) -> None:
    fixed = build(ENCODER, {**SIDES, "kind": "fixed", "value": g}, leading=[inventory])
    assert torch.equal(fixed(spell(FORMS)), fixed.taps(spell(FORMS))[tap])
    adaptive = build(ENCODER, SIDES, leading=[inventory])
    state = adaptive.state_dict()
    state["gate.bias"].fill_(1000.0 if g else -1000.0)
    assert torch.equal(adaptive(spell(FORMS)), adaptive.taps(spell(FORMS))[tap])


def test_a_fixed_gate_has_no_parameters_but_those_of_its_sides(
    build: Build, inventory: Inventory
) -> None:
    fixed = build(ENCODER, {**SIDES, "kind": "fixed"}, leading=[inventory])
    assert {name.partition(".")[0] for name, _ in fixed.named_parameters()} == {"sides"}


def test_all_forms_outside_the_vocabulary_share_the_gate_of_unk_and_no_vector(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, SIDES, leading=[inventory])
    taps = encoder.taps(spell(["<unk>", "zz", "ababab", "a"]))
    unk, zz, ababab, a = taps["gate"].flatten().tolist()
    assert unk == zz == ababab != a
    assert len({tuple(row) for row in taps["gated"].tolist()}) == 4


@pytest.mark.parametrize("kind", ["adaptive", "fixed"])
def test_a_word_side_that_reads_spelling_is_refused(inventory: Inventory, kind: str) -> None:
    settings = {**SIDES, "kind": kind, "word": SIDES["char"]}
    with pytest.raises(ConfigError) as caught:
        build_part(ENCODER, settings, leading=[inventory])
    assert str(caught.value) == (
        "encoder 'gate': its word side reads spelling; expected an encoder that does not; "
        "use --set encoder.word.type=word"
    )
