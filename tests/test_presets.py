"""Every preset in full size on the meta device: its number of parameters against hand counts."""

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import build_model
from charlm.presets import PRESETS, preset
from charlm.presets.kim import CHAR_SMALL
from charlm.presets.listing import FIGURES
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import N_MARKERS, Inventory

N_MORPHS = 5_000


def inventory_of_size(n_words: int, n_letters: int) -> Inventory:
    words = ("</s>", "<unk>", *(f"w{number}" for number in range(2, n_words)))
    letters = tuple(chr(0x4E00 + number) for number in range(n_letters))
    names = tuple(f"m{number}" for number in range(N_MORPHS))
    morphs = MorphModel(names, (1.0,) * N_MORPHS, {})
    return Inventory(words, (1,) * n_words, letters, morphs=morphs)


PTB = inventory_of_size(10_000, 46)
ARABIC = inventory_of_size(86_000, 132 - N_MARKERS)  # table 1 of Kim et al.: C = 132


def n_parameters(name: str, inventory: Inventory) -> dict[str, int]:
    with torch.device("meta"):
        model, _ = build_model(PRESETS[name], inventory)
    counts = model.n_parameters_by_part()
    assert sum(counts.values()) == sum(p.numel() for p in model.parameters())
    return counts


# By hand: V = 10,000 words, 46 letters and 6 markers, 5,000 morphs and 3 markers.
def words(dim: int) -> int:
    return 10_000 * dim


def morphs(dim: int) -> int:
    return (10_000 + 5_003) * dim


def highway(dim: int, layers: int) -> int:
    return layers * 2 * (dim**2 + dim)


def linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def lstm(inputs: int, dim: int, layers: int) -> int:
    return 4 * dim * (inputs + dim) + 8 * dim + (layers - 1) * (8 * dim**2 + 8 * dim)


# A filter of width w over letters of d numbers has d·w + 1 parameters.
CNN_SMALL = 52 * 15 + sum(25 * w * (15 * w + 1) for w in range(1, 7))
FILTERS = {1: 50, 2: 100, 3: 150, 4: 200, 5: 200, 6: 200, 7: 200}
CNN_LARGE = 52 * 15 + sum(count * (15 * w + 1) for w, count in FILTERS.items())
SMALL, LARGE = CNN_SMALL + highway(525, 1), CNN_LARGE + highway(1100, 2)
MODERN = CNN_SMALL + highway(525, 1) + linear(525, 268)
# Two tables of 52 letters, two LSTMs of 200, and a map from both final states.
C2W = 2 * 52 * 200 + 2 * lstm(200, 200, 1) + 2 * 200 * 200 + 200
C2W_HALF = 2 * 52 * 200 + 2 * lstm(200, 200, 1) + 2 * 200 * 100 + 100
SOFTMAX = {dim: linear(dim, 10_000) for dim in (200, 300, 400, 650, 1500)}
SIDES_650 = words(650) + LARGE + linear(1100, 650)
COUNTS = {
    "char-small": (SMALL, lstm(525, 300, 2), SOFTMAX[300]),
    "char-large": (LARGE, lstm(1100, 650, 2), SOFTMAX[650]),
    "word-small": (words(200), lstm(200, 200, 2), SOFTMAX[200]),
    "word-large": (words(650), lstm(650, 650, 2), SOFTMAX[650]),
    "morph-small": (morphs(200), lstm(200, 200, 2), SOFTMAX[200]),
    "morph-large": (morphs(650), lstm(650, 650, 2), SOFTMAX[650]),
    "char-small-highway0": (CNN_SMALL, lstm(525, 300, 2), SOFTMAX[300]),
    "char-small-highway2": (CNN_SMALL + highway(525, 2), lstm(525, 300, 2), SOFTMAX[300]),
    "char-small-mlp": (CNN_SMALL + linear(525, 525), lstm(525, 300, 2), SOFTMAX[300]),
    "char-large-highway0": (CNN_LARGE, lstm(1100, 650, 2), SOFTMAX[650]),
    "char-large-highway1": (CNN_LARGE + highway(1100, 1), lstm(1100, 650, 2), SOFTMAX[650]),
    "char-large-mlp": (CNN_LARGE + linear(1100, 1100), lstm(1100, 650, 2), SOFTMAX[650]),
    "word-char-concat": (
        words(650) + CNN_LARGE + highway(1750, 2),
        lstm(1750, 650, 2),
        SOFTMAX[650],
    ),
    "word-char-add": (SIDES_650, lstm(650, 650, 2), SOFTMAX[650]),
    "word-char-average": (SIDES_650, lstm(650, 650, 2), SOFTMAX[650]),
    "word-char-convex": (SIDES_650 + 1, lstm(650, 650, 2), SOFTMAX[650]),
    "word-char-tensor": (  # three maps to and from 650 products
        words(650) + LARGE + 650 * 650 + 1100 * 650 + 650 * 650,
        lstm(650, 650, 2),
        SOFTMAX[650],
    ),
    "miyamoto-word": (words(200), lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-char": (C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-concat": (words(200) + C2W + linear(400, 200), lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-concat-half": (words(100) + C2W_HALF, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-concat-pretrained": (
        words(200) + C2W + linear(400, 200),
        lstm(200, 200, 2),
        SOFTMAX[200],
    ),
    "miyamoto-concat-half-pretrained": (words(100) + C2W_HALF, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-gate": (words(200) + C2W + 201, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-gate-pretrained": (words(200) + C2W + 201, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-fixed25": (words(200) + C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-fixed50": (words(200) + C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-fixed75": (words(200) + C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-fixed25-pretrained": (words(200) + C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-fixed50-pretrained": (words(200) + C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "miyamoto-fixed75-pretrained": (words(200) + C2W, lstm(200, 200, 2), SOFTMAX[200]),
    "nnlm-5gram": (words(100), linear(4 * 100, 300), SOFTMAX[300]),
    "nnlm-5gram-direct": (words(100), linear(4 * 100, 300), SOFTMAX[400]),
    "rnn": (words(200), 2 * 200 * 200 + 2 * 200, SOFTMAX[200]),
    "gru": (words(200), 2 * 3 * (2 * 200 * 200 + 200), SOFTMAX[200]),
    "deep-rnn": (words(200), 3 * (2 * 200 * 200 + 2 * 200), SOFTMAX[200]),
    "deep-transition": (words(200), 4 * 200 * 200 + 3 * 200, SOFTMAX[200]),
    "word-small-selfnorm": (words(200), lstm(200, 200, 2), SOFTMAX[200]),
    "word-small-nce": (words(200), lstm(200, 200, 2), SOFTMAX[200]),
    "zaremba-medium": (words(650), lstm(650, 650, 2), SOFTMAX[650]),
    "zaremba-large": (words(1500), lstm(1500, 1500, 2), SOFTMAX[1500]),
    "mlbl": (morphs(200), 4 * 200, morphs(200) + 10_000),
    "char-modern": (
        MODERN,
        lstm(268, 1152, 1),
        6 * 1152 + linear(1152, 6 * 268) + linear(268, 10_000),
    ),
    # The output has the input's vectors, a map to their width and a bias.
    "word-char-modern": (words(268) + MODERN, lstm(268, 1152, 1), 1152 * 268 + 10_000),
    "word-ngram-modern": (
        words(268) + 20_000 * 268,
        lstm(268, 1152, 1),
        1152 * 268 + 10_000,
    ),
    "mixture-modern": (
        words(268) + 20_000 * 268,
        lstm(268, 1152, 1),
        6 * 1152 + linear(1152, 6 * 268) + 10_000,
    ),
    # One bias for each gate; each of the five rounds has two matrices of rank 96.
    "mogrifier-modern": (
        words(268) + 20_000 * 268,
        4 * 1312 * (268 + 1312 + 1) + 5 * 96 * (268 + 1312),
        6 * 1312 + linear(1312, 6 * 268) + 10_000,
    ),
}
# From the papers, in millions.
PUBLISHED = {
    **{"char-small": 5, "char-large": 19, "word-small": 5, "word-large": 20},
    **{"zaremba-medium": 20, "zaremba-large": 66},
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_on_the_penn_treebank_has_the_parameters_counted_by_hand(name: str) -> None:
    counts = n_parameters(name, PTB)
    assert name in COUNTS, f"count the parameters of its parts by hand; built, they are {counts}"
    assert counts == dict(zip(("encoder", "context", "output"), COUNTS[name], strict=True))
    if not name.startswith(("morph", "mlbl")):  # listed with the actual number of morphs, 4,997
        assert FIGURES[name].n_parameters == sum(counts.values())
    assert round(sum(counts.values()) / 1e6) == PUBLISHED.get(
        name, round(sum(counts.values()) / 1e6)
    )


@pytest.mark.parametrize("name", [name for name in PRESETS if name.endswith("-modern")])
def test_a_modern_preset_is_not_larger_than_24_million(name: str) -> None:
    assert sum(n_parameters(name, PTB).values()) < 24e6


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


@pytest.mark.parametrize("name", ["char-small", "char-large", "word-small", "word-large"])
def test_the_presets_of_kim_et_al_have_two_layers_and_dropout_of_a_half(name: str) -> None:
    context = PRESETS[name]["context"]
    assert (context["type"], context["layers"], context["dropout"]) == ("lstm", 2, 0.5)


@pytest.mark.parametrize(
    ("parent", "divisor", "first_epoch"),
    [
        ("miyamoto-gate", 2.1, 7),
        ("miyamoto-fixed25", 2.1, 7),
        ("miyamoto-fixed50", 2.1, 7),
        ("miyamoto-fixed75", 2.1, 7),
        ("miyamoto-concat", 1.4, 4),
        ("miyamoto-concat-half", 1.4, 4),
    ],
)
def test_each_mixture_of_miyamoto_and_cho_is_there_pre_trained_with_its_own_division(
    parent: str, divisor: float, first_epoch: int
) -> None:
    found = PRESETS[f"{parent}-pretrained"]
    assert found["encoder"] == PRESETS[parent]["encoder"]
    assert found["recipe"]["schedule"] == {
        "type": "pretraining",
        "epochs": 2,
        "divisor": divisor,
        "first_epoch": first_epoch,
    }


def test_a_variant_leaves_its_parent_as_it_was() -> None:
    assert CHAR_SMALL["encoder"]["type"] == "highway"
    assert CHAR_SMALL["encoder"]["encoder"]["filters"] == [25, 50, 75, 100, 125, 150]
    assert CHAR_SMALL["context"]["dim"] == 300


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("char-smal", "did you mean char-small? "),
        ("Char_Large", "did you mean char-large? "),
        ("miyamoto-gated", "did you mean miyamoto-gate? "),
        ("transformer", ""),
        ("botha", "did you mean mlbl? "),
        ("mogrifier", "did you mean mogrifier-modern? "),
        (
            "melis",
            "did you mean char-modern, word-char-modern, word-ngram-modern, mixture-modern or "
            "another? ",
        ),
        ("mlp", "did you mean char-small-mlp, char-large-mlp? "),
        (
            "kim",
            "did you mean char-small, char-large, word-small, word-large or one of 13 others? ",
        ),
        (
            "concat",
            "did you mean word-char-concat, miyamoto-concat, miyamoto-concat-half, "
            "miyamoto-concat-pretrained or another? ",
        ),
    ],
)
def test_an_unknown_preset_is_answered_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        preset(name)
    expected = f"unknown preset {name!r}; {hint}`charlm train --list` shows all"
    assert str(caught.value) == expected


def test_a_preset_is_found_by_its_name() -> None:
    assert preset("char-small") == CHAR_SMALL
