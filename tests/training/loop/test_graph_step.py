"""Recorded steps: on the CPU against plain steps, with a stand-in for CUDA graphs; on a GPU."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.errors import TrainingError
from charlm.model.encoders.char_cnn import CharCNN
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
from charlm.training.train import Silence

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


def test_a_shape_is_recorded_once_and_the_last_chunk_never(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    recorded: list[Function] = []

    def record(function: Function) -> Function:
        recorded.append(function)
        return function

    trainer = trainer_of(train_toy, tiny, epochs=9)
    step = trainer.stepping = graph_step_of(trainer, record=record, max_shapes=1)
    assert not trainer.batches.batch(len(trainer.batches) - 1).is_full
    for _ in range(2):
        trainer.run_epoch(lambda: False)
    assert len(recorded) == 1
    step.take(trainer.batches.batch(0)._replace(forms=wide(trainer)))
    assert len(recorded) == 1
    step.max_shapes = 2
    step.take(trainer.batches.batch(0)._replace(forms=wide(trainer)))
    assert len(recorded) == 2


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
        (("recipe.batching.reset=0.5", "context.layer_norm=true"), False),
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


class FakeCuda:
    """Launches that are collected while a graph is recorded, and happen when it is replayed."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.open: list[str] | None = None

    def launch(self, what: str) -> None:
        (self.happened if self.open is None else self.open).append(what)

    @contextmanager
    def graph(self, graph: Any, *, pool: Any, capture_error_mode: str) -> Iterator[None]:
        assert (pool, capture_error_mode) == ((0, 7), "thread_local")
        self.open = graph.launches
        yield
        self.open = None

    def replay(self, graph: Any) -> None:
        for what in graph.launches:
            self.launch(f"{what} again")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()

    class Graph:
        def __init__(self) -> None:
            self.launches: list[str] = []

        def replay(self) -> None:
            fake.replay(self)

    class Stream:
        def wait_stream(self, other: "Stream") -> None:
            fake.launch("wait")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", fake.graph)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    return fake


def test_every_call_happens_once_and_the_first_ones_as_they_are(fake: FakeCuda) -> None:
    step = Recorded(lambda: fake.launch("step"), pool=(0, 7))
    for _ in range(WARM_UPS + 2):
        step()
    assert fake.happened == ["wait", "step", "wait"] * WARM_UPS + ["step again"] * 2


def test_a_recording_that_fails_names_the_way_round_it(fake: FakeCuda) -> None:
    def step() -> None:
        if fake.open is not None:
            raise RuntimeError("operation not permitted\nwhen stream is capturing")

    recorded = Recorded(step, pool=(0, 7))
    for _ in range(WARM_UPS):
        recorded()
    with pytest.raises(TrainingError) as caught:
        recorded()
    assert str(caught.value) == (
        "a step cannot be recorded as a CUDA graph (operation not permitted); expected a driver "
        "and a torch that can; set CHARLM_CUDA_GRAPHS=0 to train without"
    )


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
    for _ in range(2):
        trainer.run_epoch(lambda: False)  # all shapes are recorded
    trainer.begin_epoch()
    number = torch.ones((), device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        for step in range(5):
            trainer.step(trainer.batches.batch(step))
        with pytest.raises(RuntimeError, match="synchroniz"):  # else the steps have proved nothing
            float(number)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert trainer.position.step == 5
