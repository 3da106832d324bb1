"""The plan of a training: the preset with its changes, or the run to resume.

Everything that decides a number is in run.json before the first step. With --resume it is taken
from there, and the other options must agree with it.
"""

from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any, Literal

import torch

from charlm.errors import ConfigError, TrainingError
from charlm.presets import PRESETS, preset
from charlm.run.exported_folder import is_exported
from charlm.run.folder import (
    LOG,
    MODEL,
    OFTEN,
    RESUME,
    RUN,
    RUNS,
    RunInfo,
    learned_single_sentences,
    load_info,
    load_resumable,
)
from charlm.run.history import recorded_history
from charlm.run.stored_weights import read_meta
from charlm.runtime import pick_device, pick_precision, place_of_process, set_threads
from charlm.settings import STORED, Settings, merged, overridden
from charlm.text.io.files import sha256_of
from charlm.text.io.lines import number_in
from charlm.text.vocabulary.vocabulary import vocabulary_at
from charlm.training.recipe.recipe import LEFT_TO_TEXT, Recipe, build_recipe
from charlm.training.train_options import TrainOptions

LEARNT = (MODEL, RESUME, LOG)  # a run that has none of these files may begin again
DEFAULT_ARCH = "word-ngram-modern"
DEFAULT_SEED = 3435  # Kim et al.'s
# A model trained with the state always carried over has 12 % more perplexity on single sentences
# (PTB); a model trained without carrying the state is worse on continuous text.
SENTENCES_ALONE: Settings = {"type": "streams", "reset": OFTEN}


@dataclass(frozen=True)
class Plan:
    """Everything that decides what a training does."""

    data: Path
    folder: Path
    arch: str
    settings: Settings  # of a run or preset, with the changes; the recipe has all defaults
    changes: Settings  # what the options change in the run's or preset's settings
    recipe: Recipe
    vocab: Path | None
    max_tokens: int
    seed: int
    threads: int
    device: torch.device
    precision: str
    stored: RunInfo | None  # of the run that is resumed
    init: Path | None = None  # the run to begin from, until this one has a checkpoint

    @property
    def may_read(self) -> bool:
        """Whether files named in the settings are read: not if the settings come from a run."""
        return self.stored is None and self.init is None

    @property
    def keeps_batch_size(self) -> bool:
        """Whether it is that of the run to begin from, whose preset leaves it to the text."""
        if self.stored or not self.init or "batch_size" in self.changes.get("recipe", ()):
            return False
        recipe = PRESETS[self.arch]["recipe"] if self.arch in PRESETS else {}
        return recipe.get("batch_size") == 0


def make_plan(options: TrainOptions) -> Plan:
    """The plan of a training.

    Raises:
        ConfigError: an option does not exist, does not fit, or disagrees with the run.
        TrainingError: the run exists and --resume was not given.
    """
    data, folder = Path(options.data), run_folder(options)
    init = Path(options.init) if options.init else None
    if init and options.arch is not None:
        raise ConfigError(
            f"--arch {options.arch}: with --init the model is that of {init}; leave one out"
        )
    if realpath(folder) == realpath(data):
        raise ConfigError(
            f"--out {folder}: is the corpus directory, which is not written to; choose another"
        )
    stored = existing_run(folder, resume=options.resume)
    source = stored or (load_info(init) if init else None)
    arch = source.arch if source else DEFAULT_ARCH if options.arch is None else options.arch
    settings = source.settings if source else preset(arch)
    changes = requested_changes(options, settings)
    if stored:
        settings = with_more_epochs(settings, changes)
        refuse_disagreement(options, stored, settings=settings, changes=changes)
    device = pick_device(options.device)
    if not stored:
        settings = merged(settings, changes)
    recipe, recipe_settings = build_recipe(settings.get("recipe"))
    seed = DEFAULT_SEED if options.seed is None else options.seed
    return Plan(
        data=data,
        folder=folder,
        arch=arch,
        settings={**settings, "recipe": recipe_settings},
        changes=changes,
        recipe=recipe,
        vocab=Path(options.vocab) if options.vocab else None,
        max_tokens=stored.corpus["max_tokens"] if stored else options.max_tokens,
        seed=stored.seed if stored else seed,
        threads=_threads(options, stored),
        device=device,
        precision=_precision(options.precision, device, folder=folder, stored=stored),
        stored=stored,
        init=_init(init, folder=folder, stored=stored),
    )


def _threads(options: TrainOptions, stored: RunInfo | None) -> int:
    """How many CPU threads this process uses from here on: those asked for, else the run's.

    Where a run goes on in several processes, each has no more than its share of the cores.
    """
    if stored is None or options.threads:
        return set_threads(options.threads)
    # The share is what is set already.
    is_shared = options.processes or options.gpus or place_of_process().size > 1
    return set_threads(min(stored.threads, set_threads(None)) if is_shared else stored.threads)


def _precision(
    asked: str, device: torch.device, *, folder: Path, stored: RunInfo | None
) -> Literal["fp32", "bf16"]:
    """The requested precision, or that of the resumed run, perhaps begun on another machine."""
    try:
        return pick_precision(stored.precision if stored else asked, device)
    except ConfigError:
        if stored is None or torch.get_default_dtype() != torch.float32:  # another reason
            raise
    raise ConfigError(
        f"{folder}: was begun in {stored.precision}, which this {device.type} has not; go on with "
        "it on a machine that has, or begin another run with its weights, "
        f"--init {folder} --out OTHER"
    )


def run_folder(options: TrainOptions) -> Path:
    """The run directory: --out, else exp/ARCH-DATA, or exp/RUN-DATA with --init."""
    if options.out:
        return Path(options.out)
    model = options.arch or (Path(realpath(options.init)).name if options.init else DEFAULT_ARCH)
    return RUNS / f"{model}-{Path(realpath(options.data)).name}"


def _init(init: Path | None, *, folder: Path, stored: RunInfo | None) -> Path | None:
    """The run to begin from, which is needed again on resuming if there is no checkpoint yet."""
    if stored is None:
        return init
    if stored.init is None or (folder / RESUME).is_file():
        return None
    return init or Path(stored.init["run"])


def left_behind(options: TrainOptions) -> str:
    """A message that says what an interrupted training leaves, and how to go on."""
    folder = run_folder(options)
    if (folder / RESUME).is_file():
        n_epochs = len(recorded_history(folder / RESUME))  # the log may be ahead of it
        epochs = {0: "a part of the first epoch", 1: "1 epoch"}.get(n_epochs, f"{n_epochs} epochs")
        return f"{folder} holds {epochs}; go on with --resume"
    if any((folder / name).exists() for name in LEARNT):
        return f"{folder} holds no checkpoint; --resume would begin again"
    return f"nothing is learnt yet; the same command begins again in {folder}"


def existing_run(folder: Path, *, resume: bool) -> RunInfo | None:
    """The run to resume; None for a new one, or one that has learnt nothing and begins again.

    Raises:
        TrainingError: there is a run and --resume was not given, or training would overwrite
            other files.
    """
    learnt = next((name for name in LEARNT if (folder / name).exists()), None)
    if is_exported(folder):
        raise TrainingError(
            f"{folder}: holds an exported model; expected a run or a new folder, since a training "
            "would write over its vocabulary; choose another --out"
        )
    if not (folder / RUN).exists():
        if learnt:
            raise TrainingError(
                f"{folder}: holds {learnt} but no {RUN}; expected a run or a new folder, since a "
                f"training would write over it; put {RUN} back, or choose another --out"
            )
        return None
    if not resume:
        if not learnt:
            return None
        raise TrainingError(
            f"{folder}: holds a run already; add --resume to go on, or choose another --out"
        )
    return load_resumable(folder)


def with_more_epochs(settings: Settings, changes: Settings) -> Settings:
    """A run's settings, with the requested epochs if they are more and change none of the first."""
    recipe, _ = build_recipe(settings.get("recipe"))
    epochs = _recipe_option(changes, "epochs")
    if recipe.schedule.divides_all_steps or type(epochs) is not int or epochs <= recipe.epochs:
        return settings
    return merged(settings, {"recipe": {"epochs": epochs}})


def _recipe_option(changes: Settings, name: str) -> Any:
    """The requested value of an option; None if there is none, or if the recipe is invalid."""
    recipe = changes.get("recipe")
    return recipe.get(name) if isinstance(recipe, dict) else None


def with_what_the_text_chose(settings: Settings, changes: Settings) -> Settings:
    """The changes, with the run's own values where they leave them to the text."""
    recipe, _ = build_recipe(settings.get("recipe"))
    left = [
        name for name, to_text in LEFT_TO_TEXT.items() if _recipe_option(changes, name) == to_text
    ]
    chosen = {name: getattr(recipe, name) for name in left}
    return merged(changes, {"recipe": chosen}) if left else changes


def refuse_disagreement(
    options: TrainOptions, stored: RunInfo, *, settings: Settings, changes: Settings
) -> None:
    """Raise ConfigError if an option disagrees with the run that is to be resumed."""
    precision = None if options.precision == "auto" else options.precision
    asked: list[tuple[str, Any, Any]] = [
        ("--arch", options.arch, stored.arch),
        ("--seed", options.seed, stored.seed),
        ("--max-tokens", options.max_tokens or None, stored.corpus["max_tokens"]),
        ("--precision", precision, stored.precision),
    ]
    for option, wanted, known in asked:
        if wanted is not None and wanted != known:
            raise ConfigError(
                f"{option} {wanted} disagrees with the run, which has {known}; leave it out"
            )
    if options.vocab:
        asked_vocab = vocabulary_at(options.vocab)
        hashes = stored.vocabulary_sha256, stored.counts_sha256 or asked_vocab.counts_sha256
        if hashes != (asked_vocab.sha256, asked_vocab.counts_sha256):
            raise ConfigError(
                f"--vocab {options.vocab} disagrees with the run, which has another; leave it out"
            )
    if options.init:
        model = Path(options.init) / MODEL
        read_meta(model)
        if sha256_of(model) != (stored.init or {}).get("sha256"):
            found = f"with {stored.init['run']} as it was then" if stored.init else "without"
            raise ConfigError(
                f"--init {options.init} disagrees with the run, which was begun {found}; "
                f"leave it out, with --out {run_folder(options)}"
            )
    if difference := first_difference(settings, with_what_the_text_chose(settings, changes)):
        folder = run_folder(options)
        has_learnt = any((folder / name).exists() for name in LEARNT)
        raise ConfigError(_disagreement(*difference, has_learnt=has_learnt))


def _disagreement(option: str, wanted: Any, known: Any, *, has_learnt: bool) -> str:
    if known is None:
        return f"{option}={wanted}: the run has no such setting; leave it out"
    if known == STORED:
        return f"{option}={wanted}: the run keeps what it has read of a file; leave it out"
    if not has_learnt:
        return (
            f"{option}={wanted} disagrees with the run, which has {known}; leave it out, or leave "
            "out --resume to begin again with it, since nothing is learnt yet"
        )
    # A training with another recipe can begin from these weights; a model of another shape cannot.
    weights = " with the weights of this one, --init RUN" if option.startswith("recipe.") else ","
    return (
        f"{option}={wanted} disagrees with the run, which has {known}; leave it out, or begin "
        f"another run{weights} --out OTHER"
    )


def first_difference(
    settings: Settings, changes: Settings, *, prefix: str = ""
) -> tuple[str, Any, Any] | None:
    """The first option that `changes` would alter in `settings`: name, new value, old value."""
    for key, value in changes.items():
        known = settings.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            if inner := first_difference(known, value, prefix=f"{prefix}{key}."):
                return inner
        elif value != known:
            return f"{prefix}{key}", value, known
    return None


def requested_changes(options: TrainOptions, settings: Settings) -> Settings:
    """The changes to these settings that the options ask for; short options count as overrides.

    Raises:
        ConfigError: malformed changes; a state that is carried too far for single sentences.
    """
    short = {name: getattr(options, name) for name in ("epochs", "batch_size", "bptt")}
    recipe: Settings = {key: value for key, value in short.items() if value is not None}
    if options.lr is not None:
        recipe["optimiser"] = {"lr": options.lr}
    changes: Settings = {"recipe": recipe} if recipe else {}
    changes = overridden(changes, options.overrides)
    if options.purpose != "sentences" or _learns_single_sentences(merged(settings, changes)):
        return changes
    changes = merged({"recipe": {"batching": SENTENCES_ALONE}}, changes)
    if not _learns_single_sentences(merged(settings, changes)):
        reset = changes["recipe"]["batching"]["reset"]
        raise ConfigError(
            f"--for sentences: recipe.batching.reset={reset} is too rare for them; expected "
            f"{OFTEN} or more; leave one out"
        )
    return changes


def _learns_single_sentences(settings: Settings) -> bool:
    _, recipe = build_recipe(settings.get("recipe"))  # checked, since it may be untrusted
    return learned_single_sentences({"recipe": recipe})


def parse_time(said: str | float) -> float:
    """`90s`, `30m`, `2h` or a number of seconds, in seconds.

    Raises:
        ConfigError: anything else.
    """
    text = str(said)
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    seconds = number_in(number) * unit
    if not 0 < seconds < 1e9:
        raise ConfigError(f"--max-time {text!r}: expected a time as 90s, 30m or 2h")
    return seconds
