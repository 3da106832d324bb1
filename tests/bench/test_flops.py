"""Operations counted by hand, for a model small enough to do so."""

import torch

from charlm.bench.flops import forward_flops
from charlm.model.build import build_model
from charlm.model.forms import FormTable
from charlm.text.vocabulary.vocabulary import inventory_of

SETTINGS = {
    "encoder": {
        "type": "highway",
        "layers": 2,
        "encoder": {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [4, 5]},
    },
    "context": {"type": "lstm", "dim": 6, "layers": 2},
    "output": {"type": "softmax"},
}


def test_the_operations_of_a_toy_are_those_of_a_hand_calculation() -> None:
    inventory = inventory_of([["ab", "<unk>"], ["abc", "ab"]])
    model, _ = build_model(SETTINGS, inventory)
    ab, abc = (inventory.word_ids[word] for word in ("ab", "abc"))
    forms = FormTable(inventory, inventory.words).forms(torch.tensor([ab, abc]).numpy())
    windows = (4 + 1) + (5 + 1)  # letters with start and end, and one window beyond
    cnn = 2 * windows * (1 * 3 * 4 + 2 * 3 * 5)
    highway = 2 * 2 * (2 * 9 * 9) * 2  # forms × layers × matrices × (a product and a sum)
    lstm = 10 * 2 * 4 * 6 * ((9 + 6) + (6 + 6))
    softmax = 10 * 2 * 6 * inventory.n_words
    assert forward_flops(model, forms, n_positions=10) == cnn + highway + lstm + softmax
