"""What training costs as one quantity grows: speed, memory, and which part takes the time.

The quantity is a setting, such as `context.dim` or `recipe.batch_size`, or one of the generated
text: `words` of its vocabulary, `letters` (how many times as many a word has) or `tokens`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch

from charlm.bench.bench_options import CostBenchOptions
from charlm.bench.machine import description, finished
from charlm.bench.text import N_WORDS, WORDS_PER_SENTENCE, corpus, sentences
from charlm.bench.timing import peak_bytes, reset_peak
from charlm.bench.train import recipe_of, trainer_on
from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.model.build import build_model, without_memory
from charlm.model.kernels.sparse_rows import spread
from charlm.presets import preset
from charlm.runtime import autocast, pick_device, pick_precision, set_threads
from charlm.settings import Settings, hint, merged, overridden
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.loop.graph_step import WARM_UPS
from charlm.training.loop.step import EagerStep
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.batching import Batch

MADE = {"words": N_WORDS, "letters": 1, "tokens": 0}  # generated; 0: enough for the steps
RANGES = {"words": (3, 10_000_000), "letters": (1, 50), "tokens": (1, 1_000_000_000)}
PARTS = ("encoder", "context", "output", "update")
WARM_UP = 2  # steps, of which each shape's first is slow


@dataclass(frozen=True)
class Cost:
    """The cost of training at one value of the quantity."""

    value: str
    n_parameters: int
    tokens_per_second: float
    seconds_per_step: float
    peak_bytes: int  # of the whole process
    shares: dict[str, float]  # of the time of a step, by PARTS


@dataclass(frozen=True)
class CostBench(JsonResult):
    """A row for each value."""

    arch: str
    quantity: str
    settings: tuple[str, ...]
    machine: str
    precision: str
    costs: tuple[Cost, ...]


@keywords(CostBenchOptions)
def bench_cost(options: CostBenchOptions) -> CostBench:
    """Train a preset for some steps at each value of a quantity.

    Raises:
        ConfigError: another form, an unknown preset, a setting that it does not have, or
            the quantity as a setting as well.
        DataError: settings that leave too little of the text for the steps.
    """
    set_threads(options.threads)
    quantity, values = _quantity(options.over)
    for text in options.overrides:
        if text.partition("=")[0].strip() == quantity:
            raise ConfigError(f"--set {text}: {options.over} would replace it; leave it out")
    if quantity == "tokens":
        _refuse_too_few(values, options)
    varied = [() if quantity in MADE else (f"{quantity}={value}",) for value in values]
    listed = [_settings(options.arch, (*options.overrides, *one)) for one in varied]
    if quantity not in MADE:
        _refuse_wrong(listed)
    costs = []
    for value, settings in zip(values, listed, strict=True):
        made = {**MADE, quantity: int(value)} if quantity in MADE else MADE
        trainer = _trainer(settings, made, options=options)
        costs.append(_cost(trainer, value, steps=options.steps))
    return CostBench(
        arch=options.arch,
        quantity=quantity,
        settings=tuple(options.overrides),
        machine=description(trainer.device),
        precision=trainer.precision,
        costs=tuple(costs),
    )


def _quantity(over: str) -> tuple[str, list[str]]:
    name, equals, values = over.partition("=")
    listed = [value for value in values.split(",") if value]
    if not equals or not listed:
        raise ConfigError(
            f"bench cost: {over!r} is no quantity with its values; expected words=10000,100000, "
            f"one of {', '.join(MADE)} or a setting, as context.dim=100,300"
        )
    if name in MADE:
        low, high = RANGES[name]
        numbers = [int(value) if value.isascii() and value.isdecimal() else -1 for value in listed]
        if not all(low <= number <= high for number in numbers):
            raise ConfigError(f"bench cost: {over!r}: expected whole numbers from {low} to {high}")
    elif near := hint(name, MADE):
        raise ConfigError(
            f"bench cost: unknown quantity {name!r}; {near}expected one of "
            f"{', '.join(MADE)} or a setting, as context.dim=100,300"
        )
    return name, listed


def _settings(arch: str, overrides: Sequence[str]) -> Settings:
    """As `charlm train` has them."""
    return merged(preset(arch), overridden({}, overrides))


def _refuse_wrong(listed: Sequence[Settings]) -> None:
    """Refuse settings of which no model can be built, before any is measured."""
    inventory = inventory_of(sentences(0, is_full=True))
    for settings in listed:
        with without_memory():
            model, _ = build_model(settings, inventory)
        recipe_of(settings).check(model.output)


def _needed_tokens(settings: Settings, *, steps: int) -> int:
    """Enough tokens for one batch more than needed, of sentences a little above average length."""
    recipe = recipe_of(settings)
    return (steps + WARM_UP + 1) * recipe.batch_size * max(recipe.bptt, WORDS_PER_SENTENCE + 4)


def _refuse_too_few(values: Sequence[str], options: CostBenchOptions) -> None:
    """Refuse too few tokens: a longer text would be measured than the number says."""
    needed = _needed_tokens(_settings(options.arch, options.overrides), steps=options.steps)
    for value in values:
        if int(value) < needed:
            raise ConfigError(
                f"bench cost: tokens={value}: {options.steps} steps need {needed}; expected as "
                "many or more; lower --steps"
            )


def _trainer(settings: Settings, made: dict[str, int], *, options: CostBenchOptions) -> Trainer:
    device, seed = pick_device(options.device), options.seed
    n_tokens = max(made["tokens"], _needed_tokens(settings, steps=options.steps))
    text = corpus(None, n_tokens=n_tokens, n_words=made["words"], longer=made["letters"], seed=seed)
    with text as folder:
        return trainer_on(
            folder,
            settings=settings,
            device=device,
            precision=pick_precision(options.precision, device),
            seed=seed,
            max_tokens=n_tokens,
        )


def _cost(trainer: Trainer, value: str, *, steps: int) -> Cost:
    available, needed = len(trainer.batches), steps + WARM_UP
    if available < needed:
        raise DataError(
            f"generated text: {available} {'batch' if available == 1 else 'batches'} to train on; "
            f"expected {needed} or more, as many as steps and {WARM_UP} to warm up; "
            "raise --set recipe.batching.max_words"
        )
    trainer.begin_epoch()
    trainer.model.encoder.use_side("both")  # a pre-training begins with the words alone
    batches = [trainer.batches.batch(number) for number in range(needed)]
    # On a GPU each shape's steps are called some times, then recorded, and only then replayed.
    is_recorded = trainer.stepping.runs_ahead
    for batch in batches * (WARM_UPS + 1) if is_recorded else batches[:WARM_UP]:
        trainer.step(batch)
    reset_peak()
    seconds = []
    for batch in batches[WARM_UP:]:
        began = time.perf_counter()
        trainer.step(batch)
        finished(trainer.device)
        seconds.append(time.perf_counter() - began)
    peak = peak_bytes()
    parts = [part_seconds(trainer, batch) for batch in batches]
    times = {part: median(row[part] for row in parts[WARM_UP:]) for part in PARTS}
    total = sum(times.values())
    return Cost(
        value=value,
        n_parameters=sum(trainer.model.n_parameters_by_part().values()),
        tokens_per_second=sum(batch.own.tokens for batch in batches[WARM_UP:]) / sum(seconds),
        seconds_per_step=median(seconds),
        peak_bytes=peak,
        shares={part: times[part] / total for part in PARTS},
    )


def part_seconds(trainer: Trainer, batch: Batch) -> dict[str, float]:
    """The time of each of PARTS in one step, forward and backward, each part by itself."""
    model, objective = trainer.model, trainer.objective
    batch = (batch.masked() if objective.masks_resets else batch).to(trainer.device)
    clock = _Clock(trainer.device)
    trainer.optimiser.zero_grad()
    with autocast(trainer.device, trainer.precision):
        x_TBE = spread(model.encoder(batch.forms), batch.where_TB)
        clock.stop("encoder")
        fed_TBE = x_TBE.detach().requires_grad_()
        state = model.context.initial_state(fed_TBE.shape[1])
        h_TBH, _ = model.in_context(
            fed_TBE, state=state, resets_TB=batch.resets_TB, keep_TB=batch.keep_TB
        )
        clock.stop("context")
        read_TBH = h_TBH.detach().requires_grad_()
        total, _ = objective.loss_of(read_TBH, batch, step=trainer.position.step)
    (total / objective.divisor(batch)).backward()
    clock.stop("output")
    h_TBH.backward(read_TBH.grad)
    clock.stop("context")
    x_TBE.backward(fed_TBE.grad)
    clock.stop("encoder")
    EagerStep(objective, trainer.optimiser, progress=trainer.progress).descend()
    clock.stop("update")
    return clock.seconds


class _Clock:
    """Time since the last stop, added to the part that took it."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.since = time.perf_counter()

    def stop(self, part: str) -> None:
        finished(self.device)
        now = time.perf_counter()
        self.seconds[part] += now - self.since
        self.since = now
