"""The tensor product against sums over pairs of numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import ENCODER
from charlm.model.encoders.tensor import TensorEncoder
from charlm.model.forms import Forms
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., TensorEncoder]
Spell = Callable[[Sequence[str]], Forms]

SIDES: dict[str, Any] = {
    "type": "tensor",
    "dim": 3,
    "word": {"type": "word", "dim": 4},
    "char": {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 3]},
}
FORMS = ["a", "cab", "<unk>", "zz", "</s>"]


def tensor_of(encoder: TensorEncoder) -> torch.Tensor:
    """T_oab: the full tensor as it is stored, or Σ_r W_or·U_ra·V_rb."""
    state = encoder.state_dict()
    if "full.weight" in state:
        return state["full.weight"].view(3, 5, 4).transpose(1, 2)
    names = ("out.weight", "of_word.weight", "of_char.weight")
    return torch.einsum("or,ra,rb->oab", *(state[name] for name in names))


@pytest.mark.parametrize("rank", [0, 1, 2, 7])
def test_a_number_of_the_product_is_a_weighted_sum_over_all_pairs(
    build: Build, inventory: Inventory, spell: Spell, rank: int
) -> None:
    encoder = build(ENCODER, {**SIDES, "rank": rank}, leading=[inventory]).double()
    taps = encoder.taps(spell(FORMS))
    assert list(taps) == ["word", "char-cnn", "tensor"]
    weights = tensor_of(encoder).tolist()
    expected = [
        [sum(t[a][b] * word[a] * char[b] for a in range(4) for b in range(5)) for t in weights]
        for word, char in zip(taps["word"].tolist(), taps["char-cnn"].tolist(), strict=True)
    ]
    torch.testing.assert_close(encoder(spell(FORMS)), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(("rank", "weights"), [(0, 4 * 5 * 3), (2, 2 * (4 + 5 + 3))])
def test_a_tensor_has_as_many_weights_as_its_rank_says(
    build: Build, inventory: Inventory, rank: int, weights: int
) -> None:
    encoder = build(ENCODER, {**SIDES, "rank": rank}, leading=[inventory])
    own = [p.numel() for n, p in encoder.named_parameters() if not n.startswith("sides.")]
    assert sum(own) == weights


@pytest.mark.parametrize("rank", [0, 2])
def test_one_side_alone_is_multiplied_by_ones(
    build: Build, inventory: Inventory, spell: Spell, rank: int
) -> None:
    encoder = build(ENCODER, {**SIDES, "rank": rank}, leading=[inventory])
    word_NE = encoder.taps(spell(FORMS))["word"]
    encoder.use_side("word")
    expected = torch.einsum("oab,na->no", tensor_of(encoder), word_NE)
    torch.testing.assert_close(encoder(spell(FORMS)), expected)


def test_a_full_tensor_too_large_for_any_model_is_refused(inventory: Inventory) -> None:
    settings = {**SIDES, "rank": 0, "dim": 200, "word": {"type": "word", "dim": 20_000}}
    with torch.device("meta"), pytest.raises(ConfigError) as caught:
        build_part(ENCODER, settings, leading=[inventory])
    assert str(caught.value) == (
        "encoder 'tensor': rank 0 makes 20000 x 5 x 200 weights; expected at most 16777216; "
        "set its rank, as 200"
    )
