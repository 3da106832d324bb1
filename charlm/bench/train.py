"""Training: our step against the naive one and against the speed of a plain matrix product.

All paths make the same number of steps on the same chunks; both models keep learning, so that
dropout, clipping and update are part of what is measured. Memory is that of the whole process.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from charlm.bench.bench_options import TrainBenchOptions
from charlm.bench.flops import TRAINING, forward_flops
from charlm.bench.machine import LIMIT, description, finished, product
from charlm.bench.naive import NaiveModel, States
from charlm.bench.text import corpus
from charlm.bench.timing import Measured, in_turns
from charlm.errors import DataError
from charlm.interface.options import keywords
from charlm.model.build import build_model
from charlm.presets import preset
from charlm.runtime import pick_device, pick_precision, set_threads
from charlm.settings import Settings
from charlm.text.corpus.sentences import corpus_normalisation, read_sentences, split_path
from charlm.text.vocabulary.encoding import encode_text
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.loop.graph_step import WARM_UPS
from charlm.training.loop.objective import draw_weights
from charlm.training.loop.trainer import Trainer
from charlm.training.recipe.recipe import MOST, Recipe, build_recipe

OURS, NAIVE = "charlm", "naive"
MADE_TOKENS = 400_000  # so that steps end before the words that stand at its end
MAX_TOKENS = 400_000  # of a text that is given: more chunks than a benchmark makes steps


@dataclass(frozen=True, kw_only=True)
class TrainBench(Measured):
    arch: str
    data: str  # `generated` if none was given
    machine: str
    device: str
    precision: str
    threads: int
    n_steps: int  # of a repetition
    n_tokens: int  # of a repetition
    forms_per_step: float
    n_parameters: int
    flops_per_token: float  # that are needed
    derived = ("speed_up", "undisturbed_speed_up", "peak_flops")

    @property
    def speed_up(self) -> float:
        """How many times as fast our path is as the naive one."""
        return self.timings[NAIVE].median / self.timings[OURS].median

    @property
    def undisturbed_speed_up(self) -> float:
        """The same of the fastest repetitions, which other programs' work moves least."""
        return self.timings[NAIVE].fastest / self.timings[OURS].fastest

    def share_of_peak(self, path: str) -> float:
        """Operations needed a second, over those of a plain matrix product."""
        needed = self.flops_per_token * self.n_tokens / self.timings[path].median
        return needed / self.peak_flops

    def paths(self) -> dict[str, dict[str, object]]:
        return {
            name: {
                **self.timings[name].to_dict(self.n_tokens),
                "share_of_peak": self.share_of_peak(name),
            }
            for name in (OURS, NAIVE)
        }


@keywords(TrainBenchOptions)
def bench_train(options: TrainBenchOptions) -> TrainBench:
    """Measure how fast a preset trains.

    Raises:
        ConfigError: an unknown preset, or one that has no naive path.
        DataError: a corpus that is not what was expected, or that is too short.
    """
    n_threads, steps = set_threads(options.threads), options.steps
    trainer = _trainer(options)
    batches = [trainer.batches.batch(step) for step in range(steps)]
    timings = in_turns(
        {
            OURS: lambda: _train(trainer, steps=steps),
            NAIVE: _naive_training(trainer, steps=steps),
            LIMIT: product(trainer.device, trainer.precision),
        },
        repetitions=options.repetitions,
    )
    flops = [
        TRAINING * forward_flops(trainer.model, batch.forms, n_positions=batch.words_TB.numel())
        for batch in batches
    ]
    n_tokens = sum(batch.own.tokens for batch in batches)
    return TrainBench(
        arch=options.arch,
        data="generated" if options.data is None else str(options.data),
        machine=description(trainer.device),
        device=trainer.device.type,
        precision=trainer.precision,
        threads=n_threads,
        n_steps=steps,
        n_tokens=n_tokens,
        forms_per_step=sum(len(batch.forms.words_N) for batch in batches) / steps,
        n_parameters=sum(trainer.model.n_parameters_by_part().values()),
        flops_per_token=sum(flops) / n_tokens,
        timings=timings,
    )


def _trainer(options: TrainBenchOptions) -> Trainer:
    """One with chunks for all steps."""
    device = pick_device(options.device)
    with corpus(options.data, n_tokens=MADE_TOKENS, seed=options.seed) as folder:
        trainer = trainer_on(
            folder,
            settings=preset(options.arch),
            device=device,
            precision=pick_precision(options.precision, device),
            seed=options.seed,
        )
    available = len(trainer.batches)
    if available < options.steps:
        raise DataError(
            f"{options.data or 'generated text'}: {available} chunks to train on; expected "
            f"{options.steps}, as many as steps; lower --steps or take a longer text"
        )
    trainer.begin_epoch()
    batches = [trainer.batches.batch(step) for step in range(options.steps)]
    # On a GPU each shape's steps are called some times, then recorded, and only then replayed.
    for batch in batches * (WARM_UPS + 1) if trainer.stepping.runs_ahead else ():
        trainer.step(batch)
    return trainer


def recipe_of(settings: Settings) -> Recipe:
    """The recipe as for a long text, if the preset lets the text decide streams and noise."""
    recipe, _ = build_recipe(settings.get("recipe"))
    noise = max(recipe.input_noise, 0.0)
    return replace(recipe, batch_size=recipe.batch_size or MOST, input_noise=noise)


def trainer_on(
    folder: Path,
    *,
    settings: Settings,
    device: torch.device,
    precision: str,
    seed: int,
    max_tokens: int = MAX_TOKENS,
) -> Trainer:
    """A trainer before its first step."""
    path, normalisation = split_path(folder, "train"), corpus_normalisation(folder)
    inventory = inventory_of(
        read_sentences(path, normalisation=normalisation), normalisation=normalisation
    )
    recipe = recipe_of(settings)
    torch.manual_seed(seed)
    model, _ = build_model(settings, inventory)
    draw_weights(model, recipe, inventory=inventory)
    with TemporaryDirectory(prefix="charlm-bench-") as encoded:
        text = encode_text(
            path,
            inventory,
            stem=Path(encoded) / "train",
            max_tokens=max_tokens,
            oov_input=recipe.oov_input,
        )
        return Trainer(
            model,
            recipe,
            inventory=inventory,
            train_text=text,
            valid_text=text,
            device=device,
            precision=precision,
            seed=seed,
        )


def _train(trainer: Trainer, *, steps: int) -> None:
    trainer.begin_epoch()
    for step in range(steps):
        trainer.step(trainer.batches.batch(step))
    finished(trainer.device)


def _naive_training(trainer: Trainer, *, steps: int) -> Callable[[], None]:
    """Some steps of the naive model, which begins with the trainer's weights."""
    recipe, model = trainer.recipe, NaiveModel(trainer.model).train()
    state: States | None = None

    def train() -> None:
        nonlocal state
        for step in range(steps):
            batch = trainer.batches.batch(step).to(trainer.device)
            before = state or model.start(batch.words_TB.shape[1])
            state = model.step(batch, before, clip=recipe.clip, rate=recipe.optimiser.lr)
        finished(trainer.device)

    return train
