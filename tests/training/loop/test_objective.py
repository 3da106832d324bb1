"""Over what a batch's loss is summed, and how often it is computed beside a criterion's."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm.text.vocabulary.encoding import EncodedText, FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.loop import objective
from charlm.training.loop.trainer import Trainer

MakeTrainer = Callable[..., Trainer]

SENTENCES = [["a", "b", "c", "d"]] * 30


@pytest.fixture
def trainer_of(new_trainer: MakeTrainer) -> MakeTrainer:
    """A trainer of a tiny model without dropout, whose weights are the same at each call."""

    def make(
        sentences: Sequence[Sequence[str]],
        *,
        context: str = "lstm",
        output: str = "softmax",
        **recipe: Any,
    ) -> Trainer:
        inventory = inventory_of(sentences, min_count=1, min_char_count=1)
        ids = np.concatenate(encode_sentences(sentences, FormIds(inventory)))
        parts = {
            "encoder": {"type": "word", "dim": 2},
            "context": {"type": context, "dim": 2, "dropout": 0.0},
            "output": {"type": output},
        }
        large = {"type": "uniform", "range": 1.0}  # so that nothing is near linear
        settings = {"batch_size": 2, "oov_input": "unk", "initialisation": large, **recipe}
        text = EncodedText(ids, (), len(sentences), "")
        return new_trainer(parts, settings, inventory=inventory, text=text)

    return make


@pytest.mark.parametrize(("many_words", "n_computed"), [(6, 4), (3, 2), (2, 2), (1, 1)])
def test_the_more_words_the_rarer(
    trainer_of: MakeTrainer, many_words: int, n_computed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objective, "MANY_WORDS", many_words)
    trainer = trainer_of(SENTENCES, bptt=1, criterion={"type": "nce", "noise": 2})
    assert trainer.inventory.n_words == 6
    trainer.begin_epoch()
    for step in range(70):
        trainer.step(trainer.batches.batch(step))
    assert trainer.position.nll_tokens == 2 * n_computed


@pytest.mark.parametrize(
    ("reset", "context", "is_whole"),
    [
        (0.5, "lstm", True),
        (0.1, "lstm", True),
        (0.5, "gru", True),
        (0.5, "rnn", False),
        (0.0, "lstm", True),
    ],
)
def test_on_a_cpu_a_chunk_with_resets_is_read_in_one_piece_where_the_context_can(
    trainer_of: MakeTrainer,
    reset: float,
    context: str,
    is_whole: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = trainer_of(SENTENCES, context=context, batching={"reset": reset})
    pieces: list[int] = []
    through_layers = trainer.model.context.through_layers

    def counted(x_TBE: Tensor, state: Any, *, run: Any) -> Any:
        pieces.append(len(x_TBE))
        return through_layers(x_TBE, state, run=run)

    monkeypatch.setattr(trainer.model.context, "through_layers", counted)
    trainer.begin_epoch()
    trainer.step(trainer.batches.batch(0))
    assert sum(pieces) == trainer.recipe.bptt
    assert (len(pieces) == 1) == is_whole


@pytest.mark.parametrize("past_decode_penalty", [0.0, 0.5])
def test_a_sentence_far_longer_than_those_beside_it_is_predicted_without_their_padding(
    trainer_of: MakeTrainer, past_decode_penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [["a", "b"] * 20, ["c"], ["d", "a"], []]
    n_tokens = sum(len(words) + 1 for words in sentences)
    options: dict[str, Any] = {"batching": {"type": "sentences"}, "divisor": "tokens"}
    options["past_decode_penalty"] = past_decode_penalty
    together = trainer_of(sentences, batch_size=4, **options)
    alone = trainer_of(sentences, batch_size=1, **options)
    if past_decode_penalty:
        learned = together.objective.modules["past_decode"].state_dict()
        alone.objective.modules["past_decode"].load_state_dict(learned)
    alone.model.load_state_dict(together.model.state_dict())
    expected = [torch.zeros_like(p) for p in alone.parameters]
    for step in range(4):  # single sentences have no padding
        batch = alone.batches.batch(step)
        alone.stepping.gradients(batch)
        for total, p in zip(expected, alone.parameters, strict=True):
            assert p.grad is not None
            total.add_(p.grad * batch.own.tokens / n_tokens)
    n_predicted: list[int] = []
    nll = together.model.output.nll

    def counted(h_NH: Tensor, words_N: Tensor) -> Tensor:
        n_predicted.append(len(h_NH))
        return nll(h_NH, words_N)

    monkeypatch.setattr(together.model.output, "nll", counted)

    together.stepping.gradients(together.batches.batch(0))

    assert n_predicted == [n_tokens]  # 47 of 4 · 41 positions
    assert together.position.nll == pytest.approx(alone.position.nll)
    for p, total in zip(together.parameters, expected, strict=True):
        assert p.grad is not None
        torch.testing.assert_close(p.grad, total)


@pytest.mark.parametrize(
    ("criterion", "at_unigrams"),
    [("nce", True), ("self-normalised", True), ("cross-entropy", False)],
)
@pytest.mark.parametrize("output", ["softmax", "composed"])
def test_scores_that_are_to_be_log_probabilities_start_at_the_unigrams(
    trainer_of: MakeTrainer, criterion: str, at_unigrams: bool, output: str
) -> None:
    trainer = trainer_of(SENTENCES, output=output, criterion={"type": criterion})
    objective.draw_weights(trainer.model, trainer.recipe, inventory=trainer.inventory)
    bias_V = next(p for name, p in trainer.model.output.named_parameters() if name.endswith("bias"))
    unigrams_V = torch.tensor([31, 1, 31, 31, 31, 31]) / 156  # 1 added to each count
    assert torch.allclose(bias_V, unigrams_V.log()) is at_unigrams
