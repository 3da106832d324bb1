"""What a batch's loss is summed over, and how often it is computed beside a criterion's."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm.model.build import build_model
from charlm.text.vocabulary.encoding import EncodedText, FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of
from charlm.training.loop import objective
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.recipe import build_recipe

SENTENCES = [["a", "b", "c", "d"]] * 30


def made_trainer(inventory: Inventory, text: EncodedText, **of_recipe: Any) -> Trainer:
    """A trainer of a tiny model without dropout, whose weights are the same at each call."""
    torch.manual_seed(1)
    settings = {
        "encoder": {"type": "word", "dim": 2},
        "context": {"type": "lstm", "dim": 2, "dropout": 0.0},
        "output": {"type": "softmax"},
    }
    model, _ = build_model(settings, inventory)
    recipe, _ = build_recipe({"batch_size": 2, "oov_input": "unk", **of_recipe})
    return Trainer(
        model,
        recipe,
        inventory=inventory,
        train_text=text,
        valid_text=text,
        device=torch.device("cpu"),
        precision="fp32",
        seed=1,
    )


@pytest.mark.parametrize(("many_words", "n_computed"), [(6, 4), (3, 2), (2, 2), (1, 1)])
def test_the_more_words_the_rarer(
    many_words: int, n_computed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventory = inventory_of(SENTENCES, min_count=1, min_char_count=1)
    assert inventory.n_words == 6
    ids = np.concatenate(encode_sentences(SENTENCES, FormIds(inventory)))
    text = EncodedText(ids, (), len(SENTENCES), "")
    monkeypatch.setattr(objective, "MANY_WORDS", many_words)
    trainer = made_trainer(inventory, text, bptt=1, criterion={"type": "nce", "noise": 2})
    trainer.begin_epoch()
    for step in range(70):
        trainer.step(trainer.batches.batch(step))
    assert trainer.position.nll_tokens == 2 * n_computed


@pytest.mark.parametrize("past_decode_penalty", [0.0, 0.5])
def test_a_sentence_far_longer_than_those_beside_it_is_predicted_without_their_padding(
    past_decode_penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [["a", "b"] * 20, ["c"], ["d", "a"], []]
    inventory = inventory_of(sentences, min_count=1, min_char_count=1)
    ids = np.concatenate(encode_sentences(sentences, FormIds(inventory)))
    text = EncodedText(ids, (), len(sentences), "")
    options: dict[str, Any] = {"batching": {"type": "sentences"}, "divisor": "tokens"}
    options["past_decode_penalty"] = past_decode_penalty
    together = made_trainer(inventory, text, batch_size=4, **options)
    alone = made_trainer(inventory, text, batch_size=1, **options)
    if past_decode_penalty:
        learned = together.objective.modules["past_decode"].state_dict()
        alone.objective.modules["past_decode"].load_state_dict(learned)
    alone.model.load_state_dict(together.model.state_dict())
    expected = [torch.zeros_like(p) for p in alone.parameters]
    for step in range(4):  # sentences alone have no padding
        batch = alone.batches.batch(step)
        alone.stepping.gradients(batch)
        for total, p in zip(expected, alone.parameters, strict=True):
            assert p.grad is not None
            total.add_(p.grad * batch.n_tokens / len(ids))
    n_predicted: list[int] = []
    nll = together.model.output.nll

    def counted(h_NH: Tensor, words_N: Tensor) -> Tensor:
        n_predicted.append(len(h_NH))
        return nll(h_NH, words_N)

    monkeypatch.setattr(together.model.output, "nll", counted)

    together.stepping.gradients(together.batches.batch(0))

    assert n_predicted == [len(ids)]  # 47 of 4 · 41 positions
    assert together.position.nll == pytest.approx(alone.position.nll)
    for p, total in zip(together.parameters, expected, strict=True):
        assert p.grad is not None
        torch.testing.assert_close(p.grad, total)
