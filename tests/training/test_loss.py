"""How often a batch's negative log-probability is computed where the loss does not give it."""

import numpy as np
import pytest
import torch

from charlm.model.build import build_model
from charlm.text.corpus import EncodedText, FormIds, encode_sentences
from charlm.text.inventory import inventory_of
from charlm.training import loss
from charlm.training.loop import Trainer
from charlm.training.recipe import build_recipe

SENTENCES = [["a", "b", "c", "d"]] * 30


@pytest.mark.parametrize(("many_words", "n_computed"), [(6, 4), (3, 2), (2, 2), (1, 1)])
def test_the_more_words_the_rarer(
    many_words: int, n_computed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventory = inventory_of(SENTENCES, min_count=1, min_char_count=1)
    assert inventory.n_words == 6
    ids = np.concatenate(encode_sentences(SENTENCES, FormIds(inventory)))
    text = EncodedText(ids, (), len(SENTENCES), "")
    settings = {"encoder": {"type": "word", "dim": 2}, "context": {"type": "lstm", "dim": 2}}
    model, _ = build_model({**settings, "output": {"type": "softmax"}}, inventory)
    criterion = {"type": "nce", "noise": 2}
    recipe, _ = build_recipe(
        {"batch_size": 2, "bptt": 1, "oov_input": "unk", "criterion": criterion}
    )
    trainer = Trainer(
        model,
        recipe,
        inventory=inventory,
        train_text=text,
        valid_text=text,
        device=torch.device("cpu"),
        precision="fp32",
        seed=1,
    )
    monkeypatch.setattr(loss, "MANY_WORDS", many_words)
    trainer.begin_epoch()
    for step in range(70):
        trainer.step(trainer.batches.batch(step))
    assert trainer.position.nll_tokens == 2 * n_computed
