"""The loop and the session do what a recipe asks for, seen from outside.

The parts have tests of their own. Here they are set in a recipe, and the result is compared with a
plain loop over steps, sentences or epochs.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from charlm.run.folder import MODEL
from charlm.run.history import PRETRAINING
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.checkpoint import save_epoch
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.batching import Batch

IDS = [2, 3, 0, 4, 2, 3, 1, 0, 2, 2, 0]
WORD = {"type": "word", "dim": 3}
CHAR = {"type": "char-cnn", "dim": 2, "widths": [1, 2], "filters": [1, 2]}
RATE = 0.7

Weights = dict[str, Tensor]
MakeTrainer = Callable[..., Trainer]


@pytest.fixture
def trainer_of(new_trainer: MakeTrainer) -> MakeTrainer:
    """Eleven tokens in three sentences; by default two streams of six steps, three to a batch."""
    inventory = inventory_of([["a", "bc", "c"]], min_count=1, min_char_count=1)
    text = EncodedText(np.array(IDS, np.int32), (), 3, "")
    defaults = {
        "batch_size": 2,
        "bptt": 3,
        "epochs": 9,
        "optimiser": {"type": "sgd", "lr": RATE},
        "schedule": {"type": "constant"},
        "initialisation": {"type": "uniform", "range": 1.0},
    }

    def make(
        *, encoder: Any = WORD, output: Any = None, context_dim: int = 4, **recipe: Any
    ) -> Trainer:
        context = {"type": "lstm", "dim": context_dim, "layers": 1, "dropout": 0.0}
        parts = {"encoder": encoder, "context": context, "output": output or {"type": "softmax"}}
        return new_trainer(parts, {**defaults, **recipe}, inventory=inventory, text=text)

    return make


def weights_of(trainer: Trainer) -> Weights:
    return {name: w.detach().clone() for name, w in trainer.model.state_dict().items()}


def run_epochs(trainer: Trainer, *, n_epochs: int) -> list[Weights]:
    """The weights after each step of these epochs."""
    found: list[Weights] = []

    def after_step() -> bool:
        found.append(weights_of(trainer))
        return False

    for _ in range(n_epochs):
        trainer.run_epoch(after_step)
    return found


def mean_of(steps: Sequence[Weights]) -> Weights:
    return {name: torch.stack([w[name] for w in steps]).mean(0) for name in steps[0]}


def distance(one: Weights, other: Weights) -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


AVERAGED = {"averaging": {"type": "ema", "decay": 0.99}}  # in the first 100 steps, a plain mean


def test_what_is_kept_is_the_mean_of_the_weights_and_not_the_last_of_them(
    trainer_of: MakeTrainer, begun: Path
) -> None:
    trainer = trainer_of(**AVERAGED)
    steps = run_epochs(trainer, n_epochs=1)
    save_epoch(trainer, begun)
    kept = load_file(begun / MODEL)
    assert len(steps) == 2
    assert distance(kept, mean_of(steps)) < 1e-6
    assert distance(kept, steps[-1]) > 1e-3


def test_an_average_goes_on_over_the_end_of_an_epoch(trainer_of: MakeTrainer, begun: Path) -> None:
    trainer = trainer_of(**AVERAGED)
    steps = run_epochs(trainer, n_epochs=3)
    trainer.position.history[-1]["valid_ppl"] = 1.0  # the best epoch, which is kept
    save_epoch(trainer, begun)
    kept = load_file(begun / MODEL)
    assert trainer.position.n_averaged == len(steps) == 6
    assert distance(kept, mean_of(steps)) < 1e-6
    assert distance(kept, mean_of(steps[-2:])) > 1e-3


@pytest.mark.parametrize("pretraining", [{PRETRAINING: 1}, {}])
def test_epochs_of_pre_training_are_not_those_after_which_averaging_begins(
    trainer_of: MakeTrainer, pretraining: dict[str, int]
) -> None:
    trainer = trainer_of(averaging={"type": "nt-asgd", "window": 0})
    trainer.position.history += [{"valid_ppl": ppl, **pretraining} for ppl in (1.0, 9.0)]
    trainer.begin_epoch()
    trainer.step(next(iter(trainer.batches.from_step(0))))
    assert trainer.position.n_averaged == (0 if pretraining else 1)


def test_what_is_validated_is_the_mean_of_the_weights_while_the_last_are_trained_on(
    trainer_of: MakeTrainer,
) -> None:
    trainer, plain = trainer_of(**AVERAGED), trainer_of()
    steps = run_epochs(trainer, n_epochs=1)
    (record,) = trainer.position.history
    plain.model.load_state_dict(mean_of(steps))
    assert record["valid_ppl"] == pytest.approx(plain.validate(), rel=1e-6)
    plain.model.load_state_dict(steps[-1])
    assert abs(record["valid_ppl"] - plain.validate()) > 1e-3
    assert distance(weights_of(trainer), steps[-1]) == 0.0


def test_pretraining_moves_the_words_then_the_characters_then_both(trainer_of: MakeTrainer) -> None:
    trainer = trainer_of(
        encoder={"type": "average", "word": WORD, "char": CHAR},
        schedule={"type": "pretraining", "epochs": 1},
    )
    moved = []
    for _ in range(3):
        before = weights_of(trainer)
        trainer.run_epoch(lambda: False)
        names = [n for n, w in weights_of(trainer).items() if not torch.equal(w, before[n])]
        moved.append({n.split(".")[2] for n in names if n.startswith("encoder.sides.")})
    assert moved == [{"word"}, {"char"}, {"word", "char"}]


def squares(h_TBH: Tensor, batch: Batch) -> Tensor:
    """Σ over the tokens of the mean square of h."""
    places = (batch.words_TB >= 0).nonzero().tolist()
    return torch.stack([(h_TBH[t, b] ** 2).mean() for t, b in places]).sum()


def changes(h_TBH: Tensor, batch: Batch) -> Tensor:
    """The mean square change of h between tokens that follow each other, once a token."""
    places = [(t, b) for t, b in (batch.words_TB >= 0).nonzero().tolist() if t]
    mean = torch.stack([((h_TBH[t, b] - h_TBH[t - 1, b]) ** 2).mean() for t, b in places]).mean()
    return mean * batch.own.tokens


@pytest.mark.parametrize("divisor", ["streams", "tokens"])
@pytest.mark.parametrize(
    ("option", "penalty"), [("activation_penalty", squares), ("temporal_penalty", changes)]
)
def test_a_penalty_counts_once_a_token_as_the_loss_does(
    trainer_of: MakeTrainer, option: str, penalty: Any, divisor: Any
) -> None:
    trainer = trainer_of(bptt=6, divisor=divisor, **{option: 0.8})
    batch, model = trainer.batches.batch(0), trainer.model
    assert (batch.own.tokens, batch.words_TB.numel()) == (11, 12)
    trainer.stepping.gradients(batch)
    gradients = [p.grad.clone() for p in trainer.parameters if p.grad is not None]
    h_TBH, _ = model.read(batch.forms, batch.where_TB, state=trainer.start_state())
    nll = model.output.nll(h_TBH.flatten(0, 1), batch.words_TB.flatten()).sum()
    loss = (nll + 0.8 * penalty(h_TBH, batch)) / {"streams": 2, "tokens": 11}[divisor]
    expected = torch.autograd.grad(loss, trainer.parameters)
    torch.testing.assert_close(gradients, list(expected), atol=1e-6, rtol=1e-5)


def ppl_of_lone_sentences(trainer: Trainer) -> float:
    """Every sentence read word by word from the initial state."""
    model, table = deepcopy(trainer.model).eval(), trainer.batches.batch(0).forms
    rows = {int(word): row for row, word in enumerate(table.words_N)}
    total, before, state = 0.0, END, model.context.initial_state(1)
    for word in IDS:
        if before == END:
            state = model.context.initial_state(1)
        where_TB, words_TB = torch.tensor([[rows[before]]]), torch.tensor([[word]])
        with torch.no_grad():
            x_TBE = model.encoder(table)[where_TB]
            nll_TB, state = model.continue_from(x_TBE, words_TB=words_TB, state=state)
        total, before = total + float(nll_TB), word
    return math.exp(total / len(IDS))


ONE_STREAM = {"batch_size": 1, "bptt": 11}


@pytest.mark.parametrize("reset", [0.0, 0.999])  # 0.999 is the largest value allowed
def test_a_state_that_is_reset_at_sentence_ends_makes_training_one_of_lone_sentences(
    trainer_of: MakeTrainer, reset: float
) -> None:
    trainer = trainer_of(batching={"type": "streams", "reset": reset}, **ONE_STREAM)
    alone = ppl_of_lone_sentences(trainer)
    trainer.position.rate = 0.0
    trainer.run_epoch(lambda: False)
    (record,) = trainer.position.history
    assert (abs(record["train_ppl"] / alone - 1) < 1e-5) == (reset > 0)


@pytest.mark.parametrize("kind", ["streams", "sentences"])
def test_who_trains_on_lone_sentences_is_validated_on_them(
    trainer_of: MakeTrainer, kind: str
) -> None:
    alone = ppl_of_lone_sentences(trainer_of(**ONE_STREAM))
    trainer = trainer_of(**{**ONE_STREAM, "batching": {"type": kind}})
    assert (abs(trainer.validate() / alone - 1) < 1e-5) == (kind == "sentences")


def test_the_rate_of_a_step_is_multiplied_by_the_factor_of_the_schedule(
    trainer_of: MakeTrainer,
) -> None:
    trainer = trainer_of(epochs=4, schedule={"type": "linear", "warm_up": 2})
    bias = trainer.model.get_parameter("output.words.bias")
    before, rates = bias.detach().clone(), []

    def after_step() -> bool:
        assert bias.grad is not None
        rates.append(float((bias.detach() - before).norm() / bias.grad.norm()))
        before.copy_(bias.detach())
        return False

    while not trainer.progress.is_finished:
        trainer.run_epoch(after_step)
    expected = [1 / 2, 1, *(1 - done / 6 for done in range(6))]
    assert rates == pytest.approx([RATE * factor for factor in expected], rel=1e-4)


def test_the_padding_row_of_an_outputs_own_encoder_is_put_back_after_a_step(
    trainer_of: MakeTrainer,
) -> None:
    output = {"type": "composed", "encoder": CHAR}
    trainer = trainer_of(output=output, context_dim=3)
    letters = trainer.model.get_parameter("output.encoder.letters.weight")
    trainer.step(trainer.batches.batch(0))
    assert letters.grad is not None and letters.grad[0].any()
    assert not letters[0].any()


@pytest.mark.parametrize(
    ("patience", "n_epochs"),
    [(0, 7), (1, 3), (2, 4), (3, 7)],  # equal is not better
)
def test_a_training_ends_when_patience_with_it_does(
    trainer_of: MakeTrainer, patience: int, n_epochs: int
) -> None:
    trainer = trainer_of(epochs=7, patience=patience)
    assert epochs_until_the_end(trainer, [5.0, 4.0, 4.0, 6.0, 3.0, 3.5, 2.0]) == n_epochs


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_patience_begins_with_the_first_epoch_that_reads_both_sides(
    trainer_of: MakeTrainer, patience: int
) -> None:
    trainer = trainer_of(
        encoder={"type": "average", "word": WORD, "char": CHAR},
        schedule={"type": "pretraining", "epochs": 2},
        patience=patience,
    )
    ppls = [5.0, 6.0, 7.0, 8.0, 20.0, 21.0, 22.0, 23.0, 24.0]
    assert epochs_until_the_end(trainer, ppls) == 5 + patience


def epochs_until_the_end(trainer: Trainer, valid_ppls: Sequence[float]) -> int:
    """How many epochs a training makes whose validations give these perplexities."""
    coming = iter(valid_ppls)
    trainer.validate = lambda: next(coming)  # type: ignore[method-assign]
    while not trainer.progress.is_finished:
        trainer.run_epoch(lambda: False)
    return trainer.position.epoch
