"""Penalties by hand, past-decode regularisation against its equation, and resuming."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from charlm.errors import ConfigError, DataError
from charlm.model.outputs.softmax import Softmax
from charlm.run.folder import MODEL, RESUME
from charlm.run.stored_weights import read_tensors, write_tensors
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.penalties import PastDecoder, activation_penalty, temporal_penalty

MakeTrainer = Callable[..., Trainer]

DIM = 3
PENALISED = ("recipe.past_decode_penalty=0.5",)
FED = torch.tensor([0, 3, -1, 2, 4])
H = torch.tensor(  # three numbers, since the 2 of a square's gradient would cancel a mean over two
    [
        [[1.0, 3.0, 1.0], [2.0, 0.0, 1.0]],
        [[2.0, 3.0, 1.0], [9.0, 9.0, 9.0]],
        [[2.0, 5.0, 4.0], [9.0, 9.0, 9.0]],
    ]
)
EXISTS = torch.tensor([[True, True], [True, False], [True, False]])  # three steps of two streams


def test_the_activation_penalty_is_the_mean_square_where_there_is_a_word() -> None:
    squares = [(1 + 9 + 1) / 3, (4 + 0 + 1) / 3, (4 + 9 + 1) / 3, (4 + 25 + 16) / 3]
    assert activation_penalty(H, EXISTS).item() == pytest.approx(sum(squares) / 4)


def test_the_temporal_penalty_is_the_mean_square_change_between_words_of_a_stream() -> None:
    changes = [(1 + 0 + 0) / 3, (0 + 4 + 9) / 3]
    assert temporal_penalty(H, EXISTS).item() == pytest.approx(sum(changes) / 2)


@pytest.mark.parametrize("penalty", [activation_penalty, temporal_penalty])
def test_the_gradient_of_a_penalty_is_that_of_differences(
    penalty: Callable[[Tensor, Tensor | None], Tensor],
) -> None:
    h_TBH = H.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda h: penalty(h, EXISTS), (h_TBH,))


def test_a_single_step_changes_nothing() -> None:
    assert temporal_penalty(H[:1], EXISTS[:1]).item() == 0.0
    assert temporal_penalty(H[:1], None).item() == 0.0
    no_pair = torch.tensor([[True, True], [False, False], [False, False]])  # one process's share
    assert temporal_penalty(H, no_pair).item() == 0.0


@pytest.mark.parametrize("penalty", [activation_penalty, temporal_penalty])
def test_where_every_place_has_a_word_none_is_looked_for(
    penalty: Callable[[Tensor, Tensor | None], Tensor],
) -> None:
    h_TBH = torch.randn(35, 20, 50, generator=torch.Generator().manual_seed(1))
    everywhere = torch.ones(35, 20, dtype=torch.bool)
    assert torch.equal(penalty(h_TBH, None), penalty(h_TBH, everywhere))


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of([["a", "b", "c"]], min_count=1)  # five words with </s> and <unk>


@pytest.fixture
def output(inventory: Inventory) -> Softmax:
    torch.manual_seed(1)
    softmax = Softmax(DIM, inventory, nn.Module())  # type: ignore[arg-type]  # it reads none
    draw(softmax)
    return softmax


@pytest.fixture
def decoder(inventory: Inventory) -> PastDecoder:
    torch.manual_seed(2)
    past_decoder = PastDecoder(DIM, inventory.n_words)
    draw(past_decoder)
    return past_decoder


@pytest.fixture(name="h_NH")
def fixture_h() -> Tensor:
    return torch.randn(len(FED), DIM, generator=torch.Generator().manual_seed(3)) * 2


def draw(module: nn.Module) -> None:
    """Weights so large that nothing is near linear."""
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -1.5, 1.5)


def by_the_equation(h: list[float], fed: int, w: dict[str, Any]) -> float:
    """−log P(fed | h) in floats: every sum is a loop."""

    def log_softmax(scores: list[float]) -> list[float]:
        return [s - math.log(sum(map(math.exp, scores))) for s in scores]

    def product(x: list[float], y: list[float]) -> float:
        return sum(a * b for a, b in zip(x, y, strict=True))

    scores = [product(h, v) + c for v, c in zip(w["v"], w["c"], strict=True)]
    p = [math.exp(x) for x in log_softmax(scores)]
    mean = [product(p, [v[d] for v in w["v"]]) for d in range(DIM)]
    decoded = [math.tanh(product(row, mean) + a) for row, a in zip(w["A"], w["a"], strict=True)]
    back = [product(decoded, v) + b for v, b in zip(w["v"], w["b"], strict=True)]
    return -log_softmax(back)[fed]


def test_the_penalty_is_what_a_loop_over_the_equation_gives(
    decoder: PastDecoder, output: Softmax, h_NH: Tensor
) -> None:
    weights = {
        "v": output.words.weight.tolist(),
        "c": output.words.bias.tolist(),
        "A": decoder.layer.weight.tolist(),
        "a": decoder.layer.bias.tolist(),
        "b": decoder.bias.tolist(),
    }
    pairs = zip(h_NH.tolist(), FED.tolist(), strict=True)
    expected = [by_the_equation(h, fed, weights) if fed >= 0 else 0.0 for h, fed in pairs]
    found = decoder(h_NH, FED, output=output)
    assert found.dtype == torch.float32
    assert found.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_its_gradient_reaches_context_output_and_decoder_but_no_empty_position(
    decoder: PastDecoder, output: Softmax, h_NH: Tensor
) -> None:
    h_NH.requires_grad_()
    decoder(h_NH, FED, output=output).sum().backward()
    for parameter in (*decoder.parameters(), *output.parameters()):
        assert parameter.grad is not None
        assert parameter.grad.any()
    assert h_NH.grad is not None
    assert h_NH.grad.any(dim=1).tolist() == (FED >= 0).tolist()


def test_in_bf16_it_is_about_the_same(decoder: PastDecoder, output: Softmax, h_NH: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        rough = decoder(h_NH, FED, output=output)
        rough.sum().backward()
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, decoder(h_NH, FED, output=output), rtol=0.05, atol=0.05)


@pytest.fixture
def trainer_of(inventory: Inventory, new_trainer: MakeTrainer) -> MakeTrainer:
    """A trainer of two streams, whose recipe holds what is given."""
    ids = np.array([2, 3, 5, 0, 2, 2, 0], np.int32)  # 5: a form outside the vocabulary
    text = EncodedText(ids, ("ab",), 2, "")
    parts = {
        "encoder": {"type": "word", "dim": 2},
        "context": {"type": "lstm", "dim": DIM, "layers": 1},
        "output": {"type": "softmax"},
    }

    def make(**recipe: Any) -> Trainer:
        settings = {"batch_size": 2, "bptt": 4, **recipe}
        return new_trainer(parts, settings, inventory=inventory, text=text)

    return make


@pytest.mark.parametrize(("divisor", "number"), [("streams", 2), ("tokens", 7)])
def test_the_words_are_those_fed_in_and_the_loss_is_a_sum_like_the_criterions(
    trainer_of: MakeTrainer, divisor: str, number: int
) -> None:
    trainer = trainer_of(past_decode_penalty=0.25, divisor=divisor)
    for parameter in trainer.parameters:
        nn.init.zeros_(parameter)  # every word has the probability 1/5
    trainer.stepping.gradients(trainer.batches.batch(0))
    assert trainer.objective.past_decoder is not None
    found = trainer.objective.past_decoder.bias.grad
    assert found is not None
    # Streams of 2 3 5 0 and 2 2 0 are fed 0 2 3 5 and 0 2 2; 5 is <unk>, the last token is not fed.
    times_fed = [2, 1, 3, 1, 0]
    expected = [0.25 * (7 / 5 - n) / number for n in times_fed]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_without_it_there_is_no_decoder(trainer_of: MakeTrainer) -> None:
    trainer = trainer_of()
    assert list(trainer.objective.modules) == ["model"]
    assert len(trainer.parameters) == len(list(trainer.model.parameters()))


def test_the_decoder_is_trained_and_clipped_with_the_model(trainer_of: MakeTrainer) -> None:
    trainer = trainer_of(past_decode_penalty=1.0, clip=1e-3)
    before = [parameter.detach().clone() for parameter in trainer.parameters]
    trainer.step(trainer.batches.batch(0))
    moves = [
        float((p - b).detach().norm()) for p, b in zip(trainer.parameters, before, strict=True)
    ]
    assert trainer.objective.past_decoder is not None
    assert min(moves[-len(list(trainer.objective.past_decoder.parameters())) :]) > 0
    assert math.hypot(*moves) == pytest.approx(1e-3, rel=1e-3)  # SGD at rate 1


TrainToy = Callable[..., Any]


@pytest.mark.parametrize(
    "further",
    [(), ("recipe.optimiser.type=adam", "recipe.averaging.type=ema")],
    ids=["sgd", "adam, averages"],
)
def test_a_penalised_training_that_was_stopped_goes_on_to_the_same_bits(
    further: tuple[str, ...],
    train_toy: TrainToy,
    bits: Callable[[Path], dict[str, object]],
    tiny: tuple[str, ...],
    tmp_path: Path,
) -> None:
    asked = {"overrides": (*tiny, *PENALISED, *further)}
    train_toy("whole", **asked)
    assert not train_toy("run", **asked, max_time="0.000001s").is_finished
    train_toy("run", **asked, resume=True)
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")
    kept, _ = read_tensors(tmp_path / "run" / MODEL)
    carried, _ = read_tensors(tmp_path / "run" / RESUME)
    names = {name for name in carried if name.startswith("past_decode.")}
    assert names == {"past_decode.layer.weight", "past_decode.layer.bias", "past_decode.bias"}
    assert {f"model.{name}" for name in kept} <= carried.keys()
    assert not any("past_decode" in name for name in kept)


def test_a_checkpoint_without_the_decoder_is_refused(
    train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    train_toy(overrides=(*tiny, *PENALISED), epochs=1)
    path = tmp_path / "run" / RESUME
    tensors, meta = read_tensors(path)
    del tensors["past_decode.bias"]
    write_tensors(path, tensors, meta=meta)
    with pytest.raises(DataError) as caught:
        train_toy(resume=True, overrides=(), epochs=None)
    assert str(caught.value) == (
        f"{path}: past_decode.bias is missing; expected the weights that run.json describes"
    )


@pytest.mark.parametrize("kind", ["hierarchical", "class", "adaptive"])
def test_an_output_without_one_table_of_words_is_refused_before_anything_is_written(
    kind: str, train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        train_toy(overrides=(*tiny, *PENALISED, f"output.type={kind}"))
    assert str(caught.value) == (
        "option 'past_decode_penalty' of recipe: the output has no single table of word vectors; "
        "expected softmax, composed or mixture; set output.type=softmax, or take 0"
    )
    assert not (tmp_path / "run").exists()
