"""The adaptive softmax against torch's forward pass, and its cutoffs by hand."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import OUTPUT
from charlm.model.outputs.adaptive import AdaptiveSoftmax, chosen_cutoffs
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

DIM = 16

Build = Callable[..., AdaptiveSoftmax]


@pytest.fixture
def output(build: Build, inventory: Inventory) -> AdaptiveSoftmax:
    settings = {"type": "adaptive", "cutoffs": [3, 5, 9], "div_value": 2}
    return build(OUTPUT, settings, leading=[DIM, inventory, None])


def test_log_probabilities_and_nll_are_those_of_torchs_own_module(
    output: AdaptiveSoftmax, inventory: Inventory
) -> None:
    h = torch.randn(40, DIM, generator=torch.Generator().manual_seed(1))
    words = torch.arange(40) % inventory.n_words
    torch.testing.assert_close(output.log_probs(h), output.words.log_prob(h))
    torch.testing.assert_close(output.nll(h, words), -output.words(h, words).output)


@pytest.mark.parametrize(
    ("counts", "cutoffs"),
    [
        ([50, 30, 10, 5, 5], (2, 4)),  # 80 of 100 in two words, 95 in four
        ([50, 29, 10, 6, 5], (3, 4)),
        ([99, 1, 0], (1,)),  # one word covers both shares
        ([1, 1], (1,)),  # never all words
        ([0, 0, 0], (1,)),
        ([10] * 10, (8, 9)),
    ],
)
def test_cutoffs_are_chosen_where_words_make_up_80_and_95_per_cent(
    counts: list[int], cutoffs: tuple[int, ...]
) -> None:
    assert chosen_cutoffs(counts) == cutoffs


@pytest.mark.parametrize(("dim", "cutoffs"), [(16, (2, 4)), (15, (2,))])
def test_chosen_cutoffs_leave_out_a_tail_without_width(dim: int, cutoffs: tuple[int, ...]) -> None:
    inventory = Inventory(("</s>", "<unk>", "a", "b", "c"), (50, 30, 10, 5, 5), ("a",))
    with torch.device("meta"):
        built, resolved = build_part(OUTPUT, {"type": "adaptive"}, leading=[dim, inventory, None])
    assert built.cutoffs == cutoffs
    assert resolved == {"type": "adaptive", "cutoffs": [], "div_value": 4.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"cutoffs": [5, 3]},
            "option 'cutoffs' of output 'adaptive' is [5, 3]; "
            "expected rising numbers below the 13 words, or [], to have them chosen",
        ),
        (
            {"cutoffs": [3, 3]},
            "option 'cutoffs' of output 'adaptive' is [3, 3]; "
            "expected rising numbers below the 13 words, or [], to have them chosen",
        ),
        (
            {"cutoffs": [13]},
            "option 'cutoffs' of output 'adaptive' is [13]; "
            "expected rising numbers below the 13 words, or [], to have them chosen",
        ),
        (
            {"cutoffs": [3, 5, 9]},
            "option 'div_value' of output 'adaptive' is 4: of 16 nothing is left for tail 3; "
            "expected a smaller one",
        ),
        (
            {"div_value": 20},
            "option 'div_value' of output 'adaptive' is 20: of 16 nothing is left for tail 1; "
            "expected a smaller one",
        ),
    ],
)
def test_what_makes_no_tails_is_refused(
    inventory: Inventory, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught, torch.device("meta"):
        build_part(OUTPUT, {"type": "adaptive", **options}, leading=[DIM, inventory, None])
    assert str(caught.value) == message
