"""What a training is asked for, settled: the preset and its changes, or the run to go on with.

Everything that decides a number is in run.json before the first step. On --resume it is taken from
there, and what is asked for besides must agree with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charlm.errors import ConfigError, DataError, TrainingError
from charlm.options import MAX_SEED
from charlm.presets import preset
from charlm.run.folder import (
    MAX_THREADS,
    MODEL,
    RESUME,
    RUN,
    RUNS,
    RunInfo,
    load_info,
    load_resumable,
)
from charlm.run.stored_weights import read_meta
from charlm.runtime import pick_device, pick_precision, set_threads
from charlm.settings import Settings, merged, parse_override
from charlm.text.corpus.sentences import split_path
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import load_inventory

if TYPE_CHECKING:
    import torch

DEFAULT_ARCH = "char-small"
DEFAULT_SEED = 3435  # Kim et al.'s


@dataclass(frozen=True)
class Request:
    """The options of `train` that make a model; None where the preset or the run decides."""

    data: Path
    arch: str | None
    out: Path | None
    vocab: Path | None
    max_tokens: int
    resume: bool
    changes: Settings
    seed: int | None
    threads: int | None
    device: str
    precision: str
    init: Path | None = None  # the run to begin with

    @property
    def folder(self) -> Path:
        """The run directory: the one asked for, else exp/ARCH-DATA, or RUN-DATA with --init."""
        model = self.arch or (Path(realpath(self.init)).name if self.init else DEFAULT_ARCH)
        return self.out or RUNS / f"{model}-{Path(realpath(self.data)).name}"


@dataclass(frozen=True)
class Plan:
    """Everything that was asked for, settled."""

    data: Path
    folder: Path
    arch: str
    settings: Settings
    vocab: Path | None
    max_tokens: int
    seed: int
    threads: int
    device: "torch.device"
    precision: str
    stored: RunInfo | None  # of the run that is gone on with
    init: Path | None = None  # the run to begin with, until this one has a checkpoint

    @property
    def may_read(self) -> bool:
        """Whether files that the settings name are read: not where a run brought the settings."""
        return self.stored is None and self.init is None


def settled(request: Request) -> Plan:
    """The plan of a request.

    Raises:
        ConfigError: what does not exist, does not fit, or disagrees with the run.
        TrainingError: the run exists and --resume was not said.
    """
    _check_request(request)
    stored = existing_run(request)
    if stored:
        refuse_disagreement(request, stored)
    device = pick_device(request.device)
    source = stored or (load_info(request.init) if request.init else None)
    arch = source.arch if source else request.arch or DEFAULT_ARCH
    settings = source.settings if source else preset(arch)
    seed = DEFAULT_SEED if request.seed is None else request.seed
    precision = stored.precision if stored else request.precision
    return Plan(
        data=request.data,
        folder=request.folder,
        arch=arch,
        settings=settings if stored else merged(settings, request.changes),
        vocab=request.vocab,
        max_tokens=stored.corpus["max_tokens"] if stored else request.max_tokens,
        seed=stored.seed if stored else seed,
        threads=set_threads(request.threads or (stored.threads if stored else None)),
        device=device,
        precision=pick_precision(precision, device),
        stored=stored,
        init=_init(request, stored),
    )


def _init(request: Request, stored: RunInfo | None) -> Path | None:
    """The run to begin with, which a run that has no checkpoint yet must find again."""
    if stored is None:
        return request.init
    if stored.init is None or (request.folder / RESUME).is_file():
        return None
    return request.init or Path(stored.init["run"])


def _check_request(request: Request) -> None:
    """Raises ConfigError for what no training can do, new or gone on with."""
    if request.seed is not None and not 0 <= request.seed <= MAX_SEED:
        raise ConfigError(f"--seed {request.seed}: expected 0 to {MAX_SEED}")
    if request.init and request.arch:
        raise ConfigError(
            f"--arch {request.arch}: with --init the model is that of {request.init}; leave one out"
        )
    if request.threads is not None and not 1 <= request.threads <= MAX_THREADS:
        raise ConfigError(f"--threads {request.threads}: expected 1 to {MAX_THREADS}")
    if realpath(request.folder) == realpath(request.data):
        raise ConfigError(
            f"--out {request.folder}: is the corpus directory, which is not written to; "
            "choose another"
        )


def existing_run(request: Request) -> RunInfo | None:
    """The run to go on with; None for a new one.

    Raises:
        TrainingError: there is one and --resume was not said.
    """
    folder = request.folder
    if not (folder / RUN).exists():
        return None
    if not request.resume:
        raise TrainingError(
            f"{folder}: holds a run already; add --resume to go on, or choose another --out"
        )
    return load_resumable(folder)


def refuse_disagreement(request: Request, stored: RunInfo) -> None:
    """Raises ConfigError if an option disagrees with the run that is to be gone on with."""
    precision = None if request.precision == "auto" else request.precision
    asked: list[tuple[str, Any, Any]] = [
        ("--arch", request.arch, stored.arch),
        ("--seed", request.seed, stored.seed),
        ("--max-tokens", request.max_tokens or None, stored.corpus["max_tokens"]),
        ("--precision", precision, stored.precision),
    ]
    for option, wanted, known in asked:
        if wanted is not None and wanted != known:
            raise ConfigError(
                f"{option} {wanted} disagrees with the run, which has {known}; leave it out"
            )
    if request.vocab:
        asked_vocab = load_inventory(request.vocab)
        hashes = stored.vocabulary_sha256, stored.counts_sha256 or asked_vocab.counts_sha256
        if hashes != (asked_vocab.sha256, asked_vocab.counts_sha256):
            raise ConfigError(
                f"--vocab {request.vocab} disagrees with the run, which has another; leave it out"
            )
    if request.init:
        read_meta(request.init / MODEL)
        if sha256_of(request.init / MODEL) != (stored.init or {}).get("sha256"):
            found = f"with {stored.init['run']}" if stored.init else "without"
            raise ConfigError(
                f"--init {request.init} disagrees with the run, which was begun {found}; "
                "leave it out"
            )
    if difference := first_difference(stored.settings, request.changes):
        option, wanted, known = difference
        if known is None:
            raise ConfigError(f"{option}={wanted}: the run has no such setting; leave it out")
        raise ConfigError(
            f"{option}={wanted} disagrees with the run, which has {known}; leave it out"
        )


def first_difference(
    settings: Settings, changes: Settings, *, prefix: str = ""
) -> tuple[str, Any, Any] | None:
    """The first option in which `changes` would alter `settings`: its name, new and old value."""
    for key, value in changes.items():
        known = settings.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            if inner := first_difference(known, value, prefix=f"{prefix}{key}."):
                return inner
        elif value != known:
            return f"{prefix}{key}", value, known
    return None


def requested_changes(
    overrides: Sequence[str],
    *,
    epochs: int | None,
    batch_size: int | None,
    bptt: int | None,
    lr: float | None,
) -> Settings:
    """The settings that differ from the preset; the short options are overrides by another name."""
    short: Settings = {"epochs": epochs, "batch_size": batch_size, "bptt": bptt}
    recipe: Settings = {key: value for key, value in short.items() if value is not None}
    if lr is not None:
        recipe["optimiser"] = {"lr": lr}
    changes: Settings = {"recipe": recipe} if recipe else {}
    for text in overrides:
        changes = merged(changes, parse_override(text))
    return changes


def parse_time(text: str) -> float:
    """`90s`, `30m`, `2h` or a number of seconds, in seconds.

    Raises:
        ConfigError: anything else.
    """
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise ConfigError(f"--max-time {text!r}: expected a time as 90s, 30m or 2h")
    return seconds


def check_texts(plan: Plan) -> None:
    """Refuse other texts than the run's, before anything of it is touched.

    Raises:
        DataError: a text has changed, or is missing.
    """
    assert plan.stored is not None
    for split in ("train", "valid"):
        path = split_path(plan.data, split)
        if plan.stored.corpus[split]["sha256"] != sha256_of(path):
            raise DataError(
                f"{path}: not the text that the run was begun with; give that one with --data"
            )
