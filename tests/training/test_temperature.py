"""The softmax temperature: found again where it was changed, and applied exactly once."""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from charlm.errors import ConfigError
from charlm.model.outputs.softmax import Softmax
from charlm.run import stored_weights
from charlm.run.folder import CARD, MODEL, RESUME
from charlm.run.stored_weights import load_run, read_tensors, save_best
from charlm.scoring.likelihood.nll import validation_perplexity
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training import session, temperature
from charlm.training.loop.trainer import Trainer
from charlm.training.loop.validation import validation_chunks
from charlm.training.temperature import STEP, TRIED, TrialOutput, set_temperature
from charlm.training.watcher import Silence

TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]
COOLED = ("recipe.temperature=valid",)
CALM = ("recipe.optimiser.lr=0.3",)  # the best temperature is then inside the tried range


class Witness(Silence):
    """Keeps the trainer and what is said."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.trainer: Trainer | None = None

    def note(self, text: str) -> None:
        self.notes.append(text)

    def started(self, trainer: Trainer, **_: object) -> None:
        self.trainer = trainer


@pytest.fixture
def trial() -> TrialOutput:
    torch.manual_seed(2)
    inventory = inventory_of([["a", "b", "c"]], min_count=1)
    return TrialOutput(Softmax(3, inventory, nn.Module()))  # type: ignore[arg-type]  # it reads none


@pytest.fixture(name="run")
def fixture_run(train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path) -> Callable[..., Path]:
    """Trains with the temperature set at the end, into tmp_path/NAME."""

    def run(name: str = "run", *, further: tuple[str, ...] = (), **options: Any) -> Path:
        train_toy(name, overrides=(*tiny, *CALM, *COOLED, *further), **options)
        return tmp_path / name

    return run


def measured(trainer: Trainer, folder: Path) -> float:
    """Validation perplexity of the weights that are kept."""
    model, text = load_run(folder).model, trainer.valid_text
    return validation_perplexity(
        validation_chunks(model, text, inventory=trainer.inventory, recipe=trainer.recipe)
    )


def test_what_is_tried_reaches_from_a_half_to_two_in_equal_steps_over_one() -> None:
    assert (TRIED[0], TRIED[-1]) == (0.5, 2.0)
    assert 1.0 in TRIED
    assert [b - a for a, b in pairwise(TRIED)] == pytest.approx([STEP] * 9)


@torch.no_grad()
def test_one_pass_sums_what_the_words_cost_at_every_temperature(trial: TrialOutput) -> None:
    h, words = torch.randn(5, 3) * 4, torch.tensor([0, 4, -1, 2, 1])
    weights = [parameter.clone() for parameter in trial.output.parameters()]
    for part in (slice(0, 2), slice(2, 5)):  # chunk by chunk
        expected = trial.output.nll(h[part], words[part])
        assert torch.equal(trial.nll(h[part], words[part]), expected)
    assert all(map(torch.equal, trial.output.parameters(), weights))
    scores = trial.output.scores(h).double()
    for total, factor in zip(trial.totals, TRIED, strict=True):
        cost = [
            math.log(sum(math.exp(s * factor) for s in row)) - row[word] * factor
            for row, word in zip(scores.tolist(), words.tolist(), strict=True)
            if word >= 0
        ]
        assert total == pytest.approx(sum(cost), rel=1e-5)


@pytest.mark.parametrize("lowest", [0.91, 0.55])  # 0.55 is next to the last value that was tried
def test_the_lowest_point_lies_between_those_that_were_tried(
    trial: TrialOutput, lowest: float
) -> None:
    trial.totals = [7 + 3 * (factor - lowest) ** 2 for factor in TRIED]
    assert trial.best_temperature() == pytest.approx(1 / lowest)


@pytest.mark.parametrize(("sign", "end"), [(1, 2.0), (-1, 0.5)])
def test_it_does_not_leave_what_was_tried(trial: TrialOutput, sign: int, end: float) -> None:
    trial.totals = [sign * factor for factor in TRIED]
    assert trial.best_temperature() == pytest.approx(end)


@pytest.mark.parametrize("batching", ["streams", "sentences"])
@pytest.mark.parametrize("factor", [2.0, 1.3, 0.7])
def test_scores_that_were_multiplied_are_divided_again(
    factor: float, batching: str, run: Callable[..., Path]
) -> None:
    witness = Witness()
    folder = run(further=(f"recipe.batching.type={batching}",), watcher=witness)
    calm, meta = read_tensors(folder / MODEL)
    loud = {n: t * factor if n.startswith("output.") else t for n, t in calm.items()}
    del meta["temperature"]
    save_best(folder, loud, meta=meta)
    assert witness.trainer is not None
    before = measured(witness.trainer, folder)
    notes: list[str] = []
    set_temperature(witness.trainer, folder, note=notes.append)
    found, meta = read_tensors(folder / MODEL)
    assert meta["temperature"] == pytest.approx(factor, rel=0.01)
    assert meta["valid_ppl"] == measured(witness.trainer, folder) < before
    assert notes == [
        f"softmax temperature {meta['temperature']:.2f}: valid ppl {meta['valid_ppl']:.2f} "
        f"instead of {before:.2f}"
    ]
    for name, tensor in calm.items():
        torch.testing.assert_close(found[name], tensor, rtol=0.01, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "loud", "lr"),  # rates at which the best temperature is inside the tried range
    [
        ("hierarchical", r"levels\.(clusters|words)\..*", 0.1),
        ("class", r"levels\.(clusters|words)\..*", 0.1),
        ("adaptive", r"words\.(head\.weight|tail\.\d\.1\.weight)", 1.0),
        ("mixture", r"words\..*", 0.3),
    ],
)
def test_what_any_softmax_of_an_output_normalises_is_divided(
    kind: str, loud: str, lr: float, run: Callable[..., Path]
) -> None:
    witness = Witness()
    further = (f"output.type={kind}", f"recipe.optimiser.lr={lr}")
    folder = run(further=further, watcher=witness, epochs=4)
    calm, meta = read_tensors(folder / MODEL)
    multiplied = {
        name: tensor * 1.3 if re.fullmatch(rf"output\.{loud}", name) else tensor
        for name, tensor in calm.items()
    }
    del meta["temperature"]
    save_best(folder, multiplied, meta=meta)
    assert witness.trainer is not None
    assert set_temperature(witness.trainer, folder, note=witness.note)
    found, meta = read_tensors(folder / MODEL)
    assert meta["temperature"] == pytest.approx(1.3, rel=0.01)
    for name, tensor in calm.items():
        torch.testing.assert_close(found[name], tensor, rtol=0.01, atol=1e-6)


def test_the_perplexity_falls_and_the_epoch_and_the_training_stay(
    run: Callable[..., Path], train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    witness = Witness()
    folder = run(watcher=witness)
    plain = train_toy("plain", overrides=(*tiny, *CALM))
    _, meta = read_tensors(folder / MODEL)
    assert meta["epoch"] == plain.best_epoch
    assert meta["valid_ppl"] < plain.valid_ppl
    assert witness.notes == [
        f"softmax temperature {meta['temperature']:.2f}: valid ppl {meta['valid_ppl']:.2f} "
        f"instead of {plain.valid_ppl:.2f}"
    ]
    line = (tmp_path / "run" / CARD).read_text().splitlines()[2]
    assert line.startswith(
        f"Validation perplexity {meta['valid_ppl']:.2f} after epoch {plain.best_epoch}, "
        f"with a softmax temperature of {meta['temperature']:.2f} set on it "
        f"({plain.valid_ppl:.2f} without), state carried over 4 streams, fp32. "
    )
    told = train_toy("run", overrides=(*tiny, *CALM, *COOLED), resume=True)
    assert told.valid_ppl == meta["valid_ppl"]
    carried, expected = (read_tensors(tmp_path / n / RESUME)[0] for n in ("run", "plain"))
    assert all(torch.equal(carried[name], tensor) for name, tensor in expected.items())
    assert "temperature" not in read_tensors(tmp_path / "plain" / MODEL)[1]


def test_where_no_temperature_helps_the_weights_stay_as_they_are(
    run: Callable[..., Path],
    train_toy: TrainToy,
    tiny: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TrialOutput, "best_temperature", lambda self: 0.5)
    witness = Witness()
    folder = run(watcher=witness)
    plain = train_toy("plain", overrides=(*tiny, *CALM))
    kept, meta = read_tensors(folder / MODEL)
    expected, plain_meta = read_tensors(tmp_path / "plain" / MODEL)
    assert meta == {**plain_meta, "temperature": 1.0}
    assert all(torch.equal(kept[name], tensor) for name, tensor in expected.items())
    assert witness.notes == [
        f"softmax temperature 1.00: valid ppl {plain.valid_ppl:.2f}, which no other makes lower"
    ]
    cards = [(tmp_path / name / CARD).read_text().splitlines()[2] for name in ("run", "plain")]
    assert cards[0] == cards[1]


@pytest.mark.parametrize(
    ("module", "name"),
    [(temperature, "load_run"), (stored_weights, "write_bytes"), (session, "remove_encoded")],
    ids=["before it", "in it", "after it"],
)
def test_a_training_that_dies_about_its_temperature_ends_at_the_same_bits(
    module: Any,
    name: str,
    run: Callable[..., Path],
    bits: Bits,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("whole")
    write = stored_weights.write_bytes

    def die(*given: Any, **_: object) -> None:
        if name != "write_bytes" or b"temperature" in given[1]:
            raise KeyboardInterrupt
        write(*given)  # an epoch's weights

    with monkeypatch.context() as patch:
        patch.setattr(module, name, die)
        with pytest.raises(KeyboardInterrupt):
            run()
    load_run(tmp_path / "run")  # whatever is there is complete
    assert bits(run(resume=True)) == bits(tmp_path / "whole")


def test_a_finished_run_is_not_divided_twice_and_a_lost_card_comes_back(
    run: Callable[..., Path], bits: Bits
) -> None:
    folder, witness = run(), Witness()
    before, card = bits(folder), (folder / CARD).read_text()
    (folder / CARD).unlink()
    assert bits(run(resume=True, watcher=witness)) == before
    assert witness.notes == []
    assert (folder / CARD).read_text() == card


def test_a_training_that_has_not_ended_keeps_its_scores(run: Callable[..., Path]) -> None:
    folder = run(bptt=99, max_time="0.000001s")  # one step an epoch
    assert "temperature" not in read_tensors(folder / MODEL)[1]


@pytest.mark.parametrize(
    ("further", "line"),
    [
        (
            further,
            "option 'temperature' of recipe is 'valid': the output has no parameters of its own "
            "that would divide all scores, as where word vectors are an encoder's; expected 'one' "
            "with it; use --set recipe.temperature=one, output.type=softmax, or with "
            "output.type=composed output.project=true",
        )
        for further in (
            ("output.type=composed", "context.dim=7"),
            ("output.type=mixture", "output.tied=true"),
        )
    ]
    + [
        (
            (f"recipe.criterion.type={kind}",),
            "option 'temperature' of recipe is 'valid': a temperature undoes what the criterion "
            "trains, scores that need not be normalised; expected 'one' with it; use --set "
            "recipe.temperature=one, or criterion cross-entropy",
        )
        for kind in ("nce", "self-normalised")
    ]
    + [
        (
            ("recipe.temperature=1.2",),
            "option 'temperature' of recipe is 1.2; expected one of 'one', 'valid'",
        )
    ],
)
def test_a_temperature_that_cannot_be_set_is_refused_before_anything_is_written(
    further: tuple[str, ...], line: str, run: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        run(further=further)
    assert str(caught.value) == line
    assert not (tmp_path / "run").exists()
