"""The linear map after an encoder, number by number."""

from collections.abc import Callable, Sequence

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


@pytest.mark.parametrize("bias", [True, False])
def test_the_map_is_linear_in_each_number(
    build: Build, inventory: Inventory, spell: Spell, bias: bool
) -> None:
    settings = {"type": "project", "dim": 3, "bias": bias, "encoder": INNER}
    encoder = build(ENCODER, settings, leading=[inventory])
    state = encoder.state_dict()
    biases = state["map.bias"].tolist() if bias else [0.0] * 3
    expected = [
        [
            sum(w * y for w, y in zip(row, vector, strict=True)) + b
            for row, b in zip(state["map.weight"].tolist(), biases, strict=True)
        ]
        for vector in encoder.taps(spell(FORMS))["word"].tolist()
    ]
    torch.testing.assert_close(encoder(spell(FORMS)), torch.tensor(expected))
    assert ("map.bias" in state) is bias


@pytest.mark.parametrize("name", ["project", "type-dropout", "highway", "mlp"])
def test_a_step_and_a_side_pass_through_a_wrapper(
    build: Build, inventory: Inventory, spell: Spell, name: str
) -> None:
    cnn = {"type": "char-cnn", "dim": 3, "widths": [2], "filters": [4]}
    inner = {"type": "gate", "word": INNER, "char": cnn}
    encoder = build(ENCODER, {"type": name, "encoder": inner}, leading=[inventory])
    assert encoder.reads_spelling
    table = encoder.state_dict()["encoder.sides.char.letters.weight"]
    table += 1.0
    encoder.after_step()
    assert not table[0].any()
    encoder.use_side("word")
    taps = encoder.taps(spell(FORMS))
    assert torch.equal(taps["gated"], taps["word"])
