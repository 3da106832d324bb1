"""Steps of Kim et al.'s recipe against steps computed word by word, in float64.

The slow model shares no code with charlm: it has no batches, no table of forms and no torch LSTM.
It keeps only the names of the parameters.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm.text.vocabulary.encoding import EncodedText, FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of
from charlm.training.loop.trainer import Trainer

MakeTrainer = Callable[..., Trainer]

SENTENCES = [
    ["a", "abc"],
    ["c", "ab", "ab", "b"],
    ["cb", "a", "abc", "c"],
    ["b"],
    ["a", "ab", "cb"],
]
SETTINGS = {
    "encoder": {
        "type": "highway",
        "encoder": {"type": "char-cnn", "dim": 3, "widths": [1, 2, 3], "filters": [2, 3, 2]},
    },
    "context": {"type": "lstm", "dim": 4, "layers": 2, "dropout": 0.0},
    "output": {"type": "softmax"},
}
RATE, N_STREAMS, BPTT = 0.7, 3, 4
PADDING_ROW = "encoder.encoder.letters.weight"


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of(SENTENCES, min_count=1, min_char_count=1)


@pytest.fixture
def trainer_of(inventory: Inventory, new_trainer: MakeTrainer) -> MakeTrainer:
    """A trainer on the sentences, whose recipe holds what is given."""
    ids = np.concatenate(encode_sentences(SENTENCES, FormIds(inventory)))
    assert len(ids) == 19  # streams of 7, 7 and 5 tokens
    text = EncodedText(ids, (), len(SENTENCES), "")

    def make(**recipe: Any) -> Trainer:
        settings = {
            "batch_size": N_STREAMS,
            "bptt": BPTT,
            "optimiser": {"type": "sgd", "lr": RATE},
            "initialisation": {"type": "uniform", "range": 0.8},
        }
        return new_trainer(SETTINGS, {**settings, **recipe}, inventory=inventory, text=text)

    return make


class SlowModel:
    """The equations of the paper for one stream and one word at a time."""

    def __init__(self, weights: dict[str, Tensor], inventory: Inventory) -> None:
        self.w = {name: w.double().requires_grad_() for name, w in weights.items()}
        self.inventory = inventory

    def vector(self, form: str) -> Tensor:
        table = self.w[PADDING_ROW]
        letters = [*self.inventory.spelling(form), 0, 0, 0, 0]
        strongest = []
        for number, width in enumerate([1, 2, 3]):
            weight = self.w[f"encoder.encoder.filters.{number}.weight"]
            bias = self.w[f"encoder.encoder.filters.{number}.bias"]
            windows = [
                torch.cat([table[letter] for letter in letters[start : start + width]])
                for start in range(len(letters) - 3)  # the last window is all padding
            ]
            strongest.append(
                torch.tanh(torch.stack([weight @ x + bias for x in windows])).max(0)[0]
            )
        y = torch.cat(strongest)
        gate = torch.sigmoid(self.affine("encoder.layers.0.gate", y) - 2)
        return gate * torch.relu(self.affine("encoder.layers.0.transform", y)) + (1 - gate) * y

    def affine(self, name: str, x: Tensor) -> Tensor:
        return self.w[f"{name}.weight"] @ x + self.w[f"{name}.bias"]

    def lstm(self, layer: int, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        h, c = state
        p = f"context.layers.{layer}."
        gates = self.w[f"{p}weight_ih_l0"] @ x + self.w[f"{p}bias_ih_l0"]
        gates = gates + self.w[f"{p}weight_hh_l0"] @ h + self.w[f"{p}bias_hh_l0"]
        i, f, g, o = gates.split(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def nll(self, form: str, target: str, state: list[Any]) -> Tensor:
        x = self.vector(form)
        for layer in range(2):
            state[layer] = self.lstm(layer, x, state[layer])
            x = state[layer][0]
        scores = self.affine("output.words", x)
        return torch.logsumexp(scores, 0) - scores[self.inventory.words.index(target)]


def slow_steps(
    weights: dict[str, Tensor],
    inventory: Inventory,
    *,
    clip: float,
    divisor: str,
    norm_has_padding: bool = True,
) -> tuple[dict[str, Tensor], list[float]]:
    """The weights after an epoch of two steps, and the norm of the gradient at each."""
    tokens = [word for words in SENTENCES for word in (*words, "</s>")]
    zero = torch.zeros(4, dtype=torch.float64)
    states = [[(zero, zero), (zero, zero)] for _ in range(N_STREAMS)]
    norms = []
    for first, last in ((0, 4), (4, 7)):
        model = SlowModel(weights, inventory)
        total, n_tokens = torch.zeros((), dtype=torch.float64), 0
        for stream, state in enumerate(states):
            for place in range(7 * stream + first, min(7 * stream + last, len(tokens))):
                before = tokens[place - 1] if place else "</s>"
                total = total + model.nll(before, tokens[place], state)
                n_tokens += 1
        (total / {"streams": N_STREAMS, "tokens": n_tokens}[divisor]).backward()
        states = [[(h.detach(), c.detach()) for h, c in state] for state in states]
        gradients = {name: w.grad for name, w in model.w.items()}
        counted = [g.clone() for g in gradients.values() if g is not None]
        if not norm_has_padding:
            names = list(gradients)
            counted[names.index(PADDING_ROW)][0] = 0
        norms.append(math.sqrt(sum(float((g**2).sum()) for g in counted)))
        scale = min(1.0, clip / norms[-1]) if clip else 1.0
        weights = {
            name: (w - RATE * scale * g).detach()
            for (name, w), g in zip(model.w.items(), gradients.values(), strict=True)
            if g is not None
        }
        weights[PADDING_ROW][0] = 0
    return weights, norms


def difference(weights: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    assert weights.keys() == expected.keys()
    return max(float((weights[n].double() - w).abs().max()) for n, w in expected.items())


def copied(trainer: Trainer) -> dict[str, Tensor]:
    return {name: w.detach().clone() for name, w in trainer.model.state_dict().items()}


@pytest.mark.parametrize("divisor", ["streams", "tokens"])
@pytest.mark.parametrize("clip", [0.0, 0.3, 5.0])
def test_two_steps_are_those_of_the_paper(
    trainer_of: MakeTrainer, inventory: Inventory, clip: float, divisor: str
) -> None:
    trainer = trainer_of(clip=clip, divisor=divisor)
    before = copied(trainer)
    for batch in trainer.batches.from_step(0):
        trainer.step(batch)
    expected, norms = slow_steps(before, inventory, clip=clip, divisor=divisor)
    assert difference(copied(trainer), expected) < 2e-6
    assert difference(before, expected) > 0.02
    assert trainer.position.n_clipped == sum(0 < clip < norm for norm in norms)
    assert (clip == 0.3) == (trainer.position.n_clipped == 2)


def test_the_clipped_norm_counts_the_padding_row(
    trainer_of: MakeTrainer, inventory: Inventory
) -> None:
    trainer = trainer_of(clip=0.3)
    before = copied(trainer)
    for batch in trainer.batches.from_step(0):
        trainer.step(batch)
    without, _ = slow_steps(before, inventory, clip=0.3, divisor="streams", norm_has_padding=False)
    assert difference(copied(trainer), without) > 1e-4  # 100 times the rounding error


def test_the_state_is_carried_over_chunks_and_starts_at_zero_in_every_epoch(
    trainer_of: MakeTrainer,
) -> None:
    trainer = trainer_of()
    states = []

    def after_step() -> bool:
        states.append(trainer.progress.state)
        return False

    trainer.run_epoch(after_step)
    assert all(leaf.any() for pair in states[0] for leaf in pair)
    assert not any(leaf.requires_grad for pair in states[0] for leaf in pair)
    assert not any(leaf.any() for pair in trainer.progress.state for leaf in pair)
