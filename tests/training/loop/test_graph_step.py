"""Recorded steps: on the CPU against plain steps, and on a GPU."""

import json
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.errors import TrainingError
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.outputs.vocabulary import VocabularyVectors
from charlm.run.folder import LOG, MODEL, RESUME
from charlm.run.stored_weights import read_tensors
from charlm.runtime import GRAPHS
from charlm.training import session
from charlm.training.checkpoint import save_position
from charlm.training.loop import trainer
from charlm.training.loop.graph_step import (
    WARM_UPS,
    Function,
    GraphStep,
    Recorded,
    is_capturable,
)
from charlm.training.loop.step import EagerStep
from charlm.training.loop.trainer import Trainer, step_of
from charlm.training.ranks import ALONE, Ranks
from charlm.training.watcher import Silence

TrainToy = Callable[..., Any]
MODERN = (
    "context.dropout=0",
    "recipe.activation_penalty=2",
    "recipe.temporal_penalty=1",
    "recipe.past_decode_penalty=0.5",
    "recipe.divisor=tokens",
    "recipe.clip=0.5",
    "recipe.batching.shuffle=partial",
    "recipe.averaging.type=ema",
    "recipe.optimiser.type=adam",
    "recipe.optimiser.lr=0.01",
    "recipe.schedule.type=linear",
    "recipe.oov_input=spelling",
)
# Letters and words as input, a mixture of softmaxes as output; states are reset.
NGRAMS = (
    *MODERN,
    "encoder.type=add",
    "encoder.word.type=word",
    "encoder.word.dim=6",
    "encoder.char.type=char-ngram",
    "encoder.char.dim=6",
    "context.dim=7",
    "context.forget_bias=1",
    "output.type=mixture",
    "output.components=3",
    "output.tied=true",
    "recipe.past_decode_penalty=0",
    "recipe.batching.reset=0.5",
)

# A gate between words and letters, sentence by sentence.
GATED = (
    "encoder.type=gate",
    "encoder.word.type=word",
    "encoder.word.dim=6",
    "encoder.char.type=char-lstm",
    "encoder.char.dim=6",
    "encoder.char.letter_dim=4",
    "encoder.char.hidden_dim=5",
    "context.dim=7",
    "context.dropout=0",
    "recipe.divisor=streams",
    "recipe.clip=0.5",
    "recipe.oov_input=spelling",
    "recipe.batching.type=sentences",
)
PRETRAINED = (*GATED, "recipe.schedule.type=pretraining", "recipe.schedule.epochs=1")


def _beside(overrides: tuple[str, ...], tiny: tuple[str, ...]) -> tuple[str, ...]:
    """`tiny` where the encoder is the one that it sizes."""
    return () if "encoder.type" in str(overrides) else tiny


class Kept(Silence):
    """Keeps the trainer."""

    trainer: Trainer

    def started(self, trainer: Trainer, **_: Any) -> None:
        self.trainer = trainer


def graph_step(objective: Any, optimiser: Any, *, progress: Any, ranks: Any) -> GraphStep:
    """A graph step on the CPU."""
    return GraphStep(objective, optimiser, progress=progress)


def graph_step_of(trainer: Trainer, **options: Any) -> GraphStep:
    """One for a trainer that was made without."""
    return GraphStep(trainer.objective, trainer.optimiser, progress=trainer.progress, **options)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, trainers make graph steps, and the CNN does as on a GPU."""

    def make() -> None:
        monkeypatch.setattr(trainer, "step_of", graph_step)
        monkeypatch.setattr(CharCNN, "_in_buckets", CharCNN._all_at_once)

    return make


def tensors_of(folder: Path) -> dict[str, Tensor]:
    found = {}
    for name in (MODEL, RESUME):
        tensors, _ = read_tensors(folder / name)
        found |= {f"{name}:{key}": tensor for key, tensor in tensors.items()}
    return {key: tensor for key, tensor in found.items() if "generator" not in key}


@pytest.mark.parametrize(
    "overrides",
    [
        ("context.dropout=0", "recipe.clip=0.3"),
        ("context.dropout=0", "recipe.clip=0", "recipe.optimiser.momentum=0.9"),
        MODERN,
        NGRAMS,
        GATED,
        PRETRAINED,
        ("context.dropout=0", "output.type=composed", "output.project=true"),
        ("context.dropout=0", "context.type=gru", "recipe.criterion.type=self-normalised"),
    ],
    ids=["clipped", "momentum", "modern", "ngrams", "gated", "pretrained", "tied", "gru"],
)
def test_thirty_graph_steps_are_the_ordinary_ones_in_float64(
    train_toy: TrainToy,
    tiny: tuple[str, ...],
    overrides: tuple[str, ...],
    recorded: Callable[[], None],
    in_float64: None,
    tmp_path: Path,
) -> None:
    """Two epochs of fifteen chunks, the last of which lacks words; forms are padded to 64."""
    options = {"overrides": (*_beside(overrides, tiny), *overrides), "bptt": 3}
    if overrides == PRETRAINED:
        options["epochs"] = 3  # one each for words, letters, and both
    train_toy("ordinary", **options)
    recorded()
    train_toy("graph", **options)
    ordinary, graph = (tensors_of(tmp_path / name) for name in ("ordinary", "graph"))
    assert ordinary.keys() == graph.keys()
    for key, tensor in ordinary.items():
        assert float((tensor.double() - graph[key].double()).abs().max()) < 1e-12, key
    logs = [(tmp_path / name / LOG).read_text().splitlines() for name in ("ordinary", "graph")]
    for lines in zip(*logs, strict=True):
        one, other = (json.loads(line) for line in lines)
        for name in ("train_ppl", "valid_ppl", "n_tokens", "clipped"):
            assert one[name] == pytest.approx(other[name], rel=1e-12)


def test_a_recorded_training_that_was_stopped_ends_with_the_same_bits(
    train_toy: TrainToy,
    bits: Callable[[Path], dict[str, object]],
    recorded: Callable[[], None],
    tmp_path: Path,
) -> None:
    recorded()
    train_toy("whole")
    assert not train_toy("stopped", max_time="0.000001s").is_finished
    while not train_toy("stopped", resume=True, max_time="0.000001s").is_finished:
        pass
    assert bits(tmp_path / "whole") == bits(tmp_path / "stopped")


def trainer_of(train_toy: TrainToy, overrides: tuple[str, ...], **options: Any) -> Trainer:
    kept = Kept()
    chosen = {"max_time": "0.000001s", "bptt": 3, **options}
    train_toy(overrides=overrides, watcher=kept, **chosen)
    return kept.trainer


def test_an_estimate_of_graph_steps_changes_nothing(
    train_toy: TrainToy,
    bits: Callable[[Path], dict[str, object]],
    recorded: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded()
    train_toy("with")
    monkeypatch.setattr(session, "estimate", lambda trainer: None)
    train_toy("without")
    assert bits(tmp_path / "with") == bits(tmp_path / "without")


def test_dropout_draws_afresh_at_every_run_of_a_step(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    trainer = trainer_of(train_toy, tiny)
    gradients = []
    for probe in islice(graph_step_of(trainer).probes(trainer.batches.from_step(1), n=1), 2):
        probe()
        gradients.append(trainer.model.get_parameter("output.words.weight").grad)
    assert float((gradients[0] - gradients[1]).abs().max()) > 1e-4


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_what_is_no_number_stops_a_training_before_its_checkpoint_is_replaced(
    train_toy: TrainToy, tiny: tuple[str, ...], what: str, tmp_path: Path
) -> None:
    trainer = trainer_of(train_toy, tiny)
    trainer.stepping = graph_step_of(trainer)
    kept = (tmp_path / "run" / RESUME).read_bytes()
    if what == "loss":
        with torch.no_grad():
            trainer.model.get_parameter("output.words.bias")[2] = torch.nan
    else:
        trainer.parameters[0].register_hook(lambda gradient: gradient * torch.inf)
    trainer.step(trainer.batches.batch(1))
    with pytest.raises(TrainingError, match=rf"^the {what} became (nan|inf) in epoch 1 by step 2;"):
        save_position(trainer, tmp_path / "run")
    assert (tmp_path / "run" / RESUME).read_bytes() == kept


def kept_in(recorded: list[Function]) -> Callable[[Function], Function]:
    """A stand-in for recording: the function itself, which is also added to the list."""

    def record(function: Function) -> Function:
        recorded.append(function)
        return function

    return record


def test_a_shape_is_recorded_once_and_the_last_chunk_never(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    recorded: list[Function] = []
    trainer = trainer_of(train_toy, tiny, epochs=9)
    step = trainer.stepping = graph_step_of(trainer, record=kept_in(recorded), max_shapes=1)
    assert not trainer.batches.batch(len(trainer.batches) - 1).is_full
    for _ in range(2):
        trainer.run_epoch(lambda: False)
    assert len(recorded) == 1
    step.take(trainer.batches.batch(0)._replace(forms=wide(trainer)))
    assert len(recorded) == 1
    step.max_shapes = 2
    step.take(trainer.batches.batch(0)._replace(forms=wide(trainer)))
    assert len(recorded) == 2


def test_a_batch_of_sentences_that_is_mostly_padding_is_not_recorded(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    recorded: list[Function] = []
    by_sentence = ("recipe.batching.type=sentences", "recipe.divisor=streams")
    trainer = trainer_of(train_toy, (*tiny, *by_sentence), epochs=9)
    step = trainer.stepping = graph_step_of(trainer, record=kept_in(recorded))
    batch = trainer.batches.batch(0)
    n_positions = batch.padded().words_TB.numel()
    for n_tokens, n_recorded in ((n_positions // 5, 0), (n_positions // 3, 1)):
        words_TB = torch.full_like(batch.words_TB, -1)
        words_TB.flatten()[:n_tokens] = 2
        counts = batch.own._replace(tokens=n_tokens)
        filled = batch._replace(words_TB=words_TB, own=counts, whole=counts)
        recorded.clear()
        for probe in islice(step.probes(iter([filled]), n=1), 1):
            probe()
        assert len(recorded) == n_recorded
        recorded.clear()
        step.take(filled)
        assert len(recorded) == n_recorded


def test_a_validation_after_replays_reads_the_vectors_of_the_new_weights(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    """A replay runs no Python, so torch does not count that it changes the weights."""
    tied = ("output.type=composed", "output.project=true", "recipe.optimiser.type=adam")
    trainer = trainer_of(train_toy, (*tiny, *tied), epochs=9, batch_size=3, lr=0.05)
    assert all(trainer.batches.batch(n).is_full for n in range(len(trainer.batches)))
    vectors = trainer.model.output.vectors
    assert isinstance(vectors, VocabularyVectors)

    def replayed(function: Function) -> Function:
        def replay() -> None:
            kept = vectors._kept
            with torch.autograd._unsafe_preserve_version_counter(tuple(trainer.parameters)):
                function()
            vectors._kept = kept

        return replay

    trainer.stepping = graph_step_of(trainer, record=replayed)
    for _ in range(2):
        trainer.run_epoch(lambda: False)
    vectors._kept = None
    assert trainer.position.complete_ppls[-1] == trainer.validate()


def wide(trainer: Trainer) -> Any:
    """The first batch's forms, a letter more than fits into the width of the others."""
    forms = trainer.batches.batch(0).forms.padded()
    more = torch.zeros(len(forms.letters_NL), 1, dtype=torch.int64)
    return forms._replace(letters_NL=torch.cat([forms.letters_NL, more], dim=1))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), True),
        (("recipe.optimiser.momentum=0.9",), True),
        (NGRAMS, True),
        (("recipe.optimiser.type=radam",), False),
        (("recipe.criterion.type=nce",), False),
        (("recipe.batching.type=sentences",), True),
        (("recipe.batching.type=sentences", "recipe.divisor=tokens"), False),
        (("recipe.batching.type=sentences", "recipe.temporal_penalty=1"), False),
        (GATED, True),
        (("recipe.batching.reset=0.5",), True),
        (("recipe.batching.reset=0.5", "context.layer_norm=true"), True),
        (("context.initial_state=learned",), False),
        (("output.type=composed", "output.project=true"), True),
        (("context.type=gru",), False),
    ],
)
def test_what_reads_numbers_back_is_not_recorded(
    train_toy: TrainToy, tiny: tuple[str, ...], overrides: tuple[str, ...], expected: bool
) -> None:
    trainer = trainer_of(train_toy, (*_beside(overrides, tiny), *overrides))
    assert is_capturable(trainer.objective, trainer.optimiser) == expected


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.mark.parametrize(("said", "expected"), [("0", False), ("1", True), (None, True)])
def test_a_variable_turns_recordings_off(
    train_toy: TrainToy, monkeypatch: pytest.MonkeyPatch, said: str | None, expected: bool
) -> None:
    kept = Kept()
    train_toy(watcher=kept, max_time="0.000001s")
    trainer = kept.trainer
    assert isinstance(trainer.stepping, EagerStep)  # the CPU records nothing
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 7))
    monkeypatch.setattr(GraphStep, "__init__", lambda self, objective, optimiser, **_: None)
    monkeypatch.setattr(trainer.objective, "device", torch.device("cuda"))
    if said is None:
        monkeypatch.delenv(GRAPHS, raising=False)
    else:
        monkeypatch.setenv(GRAPHS, said)

    def step(ranks: Ranks) -> object:
        return step_of(trainer.objective, trainer.optimiser, progress=trainer.progress, ranks=ranks)

    assert isinstance(step(ALONE), GraphStep) == expected
    assert isinstance(step(Ranks(0, 2)), EagerStep)


def on_gpu(train_toy: TrainToy, *more: str, tiny: tuple[str, ...]) -> Trainer:
    kept = Kept()
    train_toy(
        overrides=(*_beside(more, tiny), *more),
        watcher=kept,
        max_time="0.000001s",
        bptt=3,
        epochs=20,
        device="cuda",
    )
    assert isinstance(kept.trainer.stepping, GraphStep)
    return kept.trainer


@needs_gpu
def test_masks_differ_at_every_replay(train_toy: TrainToy, tiny: tuple[str, ...]) -> None:
    trainer = on_gpu(train_toy, tiny=tiny)
    record = partial(Recorded, pool=torch.cuda.graph_pool_handle())
    step = graph_step_of(trainer, record=record)
    gradients = []
    for probe in step.probes(trainer.batches.from_step(1), n=3):
        probe()
        gradients.append(trainer.model.get_parameter("output.words.weight").grad.clone())
    assert float((gradients[-1] - gradients[-2]).abs().max()) > 1e-4


@needs_gpu
@pytest.mark.parametrize(
    "more",
    [("context.dropout=0",), NGRAMS, GATED, PRETRAINED],
    ids=["plain", "ngrams", "gated", "pretrained"],
)
def test_replayed_steps_are_plain_ones(
    train_toy: TrainToy,
    tiny: tuple[str, ...],
    more: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    common = {"overrides": (*_beside(more, tiny), *more), "bptt": 3, "epochs": 4, "device": "cuda"}
    replayed = train_toy("replayed", **common)
    monkeypatch.setenv(GRAPHS, "0")
    plain = train_toy("plain", **common)
    assert replayed.valid_ppl == pytest.approx(plain.valid_ppl, rel=1e-5)


@needs_gpu
@pytest.mark.parametrize("more", [(), NGRAMS, GATED], ids=["plain", "ngrams", "gated"])
def test_nothing_waits_for_the_gpu_within_a_step(
    train_toy: TrainToy, tiny: tuple[str, ...], more: tuple[str, ...]
) -> None:
    trainer = on_gpu(train_toy, *more, tiny=tiny)
    trainer.begin_epoch()
    batch = trainer.batches.batch(0)
    for _ in range(WARM_UPS + 1):  # until its shape is recorded
        trainer.step(batch)
    n_steps = trainer.position.step
    number = torch.ones((), device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(2):
            trainer.step(batch)
        with pytest.raises(RuntimeError, match="synchroniz"):  # else the steps have proved nothing
            float(number)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert trainer.position.step == n_steps + 2
