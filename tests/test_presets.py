"""Every preset, full size, on the meta device: its parameters against counts made by hand."""

from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import build_model
from charlm.presets import CHAR_SMALL, PRESETS, preset
from charlm.text.inventory import N_MARKERS, Inventory
from charlm.training.recipe import build_recipe


def inventory_of_size(n_words: int, n_letters: int) -> Inventory:
    words = ("</s>", "<unk>", *(f"w{number}" for number in range(2, n_words)))
    letters = tuple(chr(ord("a") + number) for number in range(n_letters))
    return Inventory(words, (1,) * n_words, letters)


PTB = inventory_of_size(10_000, 46)
ARABIC = inventory_of_size(86_000, 132 - N_MARKERS)  # table 1 of Kim et al.: C = 132


def n_parameters(name: str, inventory: Inventory) -> dict[str, int]:
    with torch.device("meta"):
        model, _ = build_model(PRESETS[name], inventory)
    counts = model.n_parameters_by_part()
    assert sum(counts.values()) == sum(p.numel() for p in model.parameters())
    return counts


# With 46 letters and 6 markers of 15 numbers each. A filter of width w has 15·w + 1, a highway
# layer 2·(d² + d), an LSTM layer 4·h·(input + h) + 8·h, the softmax V·(h + 1).
CHAR_SMALL_ENCODER = 52 * 15 + 34_650 + 2 * (525**2 + 525)  # 34,650 = Σ 25w·(15w + 1), w = 1 … 6
CHAR_LARGE_ENCODER = 52 * 15 + 77_600 + 4 * (1100**2 + 1100)  # 50·16 + 100·31 + … + 200·106
COUNTS = {
    "char-small": {"encoder": CHAR_SMALL_ENCODER, "context": 1_714_800, "output": 3_010_000},
    "char-large": {"encoder": CHAR_LARGE_ENCODER, "context": 7_940_400, "output": 6_510_000},
    "word-small": {"encoder": 2_000_000, "context": 643_200, "output": 2_010_000},
    "word-large": {"encoder": 6_500_000, "context": 6_770_400, "output": 6_510_000},
}
TOTALS = {
    "char-small": 5_312_530,
    "char-large": 19_373_180,
    "word-small": 4_653_200,
    "word-large": 19_780_400,
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_on_the_penn_treebank_has_the_parameters_counted_by_hand(name: str) -> None:
    counts = n_parameters(name, PTB)
    assert counts == COUNTS[name]
    assert sum(counts.values()) == TOTALS[name]


@pytest.mark.parametrize(
    ("name", "total", "published"),
    [
        ("word-small", 35_129_200, 35e6),  # 86,000·200 + 643,200 + 86,000·201
        ("word-large", 118_656_400, 121e6),  # 86,000·650 + 6,770,400 + 86,000·651
        ("char-small", 28_189_730, 29e6),  # 5,312,530 + 76,000·301 + 80·15
        ("char-large", 68_850_380, 69e6),  # 19,373,180 + 76,000·651 + 80·15
    ],
)
def test_a_preset_on_arabic_has_the_papers_parameters_within_3_percent(
    name: str, total: int, published: float
) -> None:
    # The paper gives V as 86 k; no V between 85,500 and 86,499 rounds to all four of its figures.
    assert sum(n_parameters(name, ARABIC).values()) == total
    assert total == pytest.approx(published, rel=0.03)


KIM: dict[str, Any] = {  # Kim et al., section 3.1 and their code
    "epochs": 25,
    "batch_size": 20,
    "bptt": 35,
    "divisor": "streams",
    "clip": 5.0,
    "oov_input": "unk",
    "initialisation": {"type": "uniform", "range": 0.05},
    "optimiser": {"type": "sgd", "lr": 1.0},
    "schedule": {"type": "halving", "factor": 0.5, "least_gain": 1.0, "first_epoch": 3},
}


@pytest.mark.parametrize("name", ["char-small", "char-large", "word-small", "word-large"])
def test_the_presets_of_kim_et_al_are_trained_by_their_recipe(name: str) -> None:
    _, resolved = build_recipe(PRESETS[name]["recipe"])
    assert resolved == KIM
    context = PRESETS[name]["context"]
    assert (context["type"], context["layers"], context["dropout"]) == ("lstm", 2, 0.5)


def test_a_variant_leaves_its_parent_as_it_was() -> None:
    assert CHAR_SMALL["encoder"]["type"] == "highway"
    assert CHAR_SMALL["encoder"]["encoder"]["filters"] == [25, 50, 75, 100, 125, 150]
    assert CHAR_SMALL["context"]["dim"] == 300


def test_an_unknown_preset_is_answered_with_those_that_exist() -> None:
    with pytest.raises(ConfigError) as caught:
        preset("char-smal")
    assert str(caught.value) == (
        "unknown preset 'char-smal'; expected one of char-small, char-large, word-small, word-large"
    )


def test_a_preset_is_found_by_its_name() -> None:
    assert preset("char-small") == CHAR_SMALL
