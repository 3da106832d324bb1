"""The file names in a run directory, its lock, and the content of run.json.

The lock is flock's: the system releases it when the process ends, so a killed training leaves none
behind.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from charlm.errors import DataError, TrainingError, first_few
from charlm.interface.options import MAX_THREADS
from charlm.interface.short_repr import ShortRepr
from charlm.presets import PRESETS
from charlm.settings import Settings
from charlm.text.io.atomic import is_at, try_to_lock
from charlm.text.io.files import read_json, write_json
from charlm.text.vocabulary import vocabulary

FORMAT = 1
IN_JSON = {tuple: list, Literal: str}  # the JSON type of a field, where it is another
RUNS = Path("exp")  # the default parent of run directories
RUN, MODEL, RESUME = "run.json", "model.safetensors", "resume.safetensors"
VOCABULARY = vocabulary.VOCABULARY  # n-gram models look for the same name
SPELLER_WEIGHTS = "speller.safetensors"
OFTEN = 0.5  # from this share of resets at sentence ends a run counts as of single sentences
EXPORT = "export.json"  # in a folder of `charlm export --onnx`, which is not a run
LOG, CARD, CURVE, LOCK, ENCODED = "log.jsonl", "card.md", "curve.png", "lock", "encoded"


@dataclass(frozen=True)
class RunInfo(ShortRepr):
    """A run's description: everything that decides its numbers, written before the first step.

    Only the hash of the weights is added later, whenever an epoch is the best so far, and with
    --resume more epochs and a speller.
    """

    arch: str
    settings: Settings  # parts and recipe, all defaults filled in
    corpus: dict[str, Any]  # per split: sha256, sentences, tokens; max_tokens
    vocabulary_sha256: str
    seed: int
    threads: int
    device: str
    precision: str
    versions: dict[str, str]
    command: list[str]  # for readers; never run
    charlm: str
    init: dict[str, Any] | None = None  # the `run` whose weights it began with, and their sha256
    speller: dict[str, Any] | None = None  # a SpellerInfo as a dict; None: it has no speller
    counts_sha256: str | None = None  # of the vocabulary's counts; None: charlm 0.1 stored none
    weights_sha256: str | None = None  # of model.safetensors; also None before the first epoch
    former_weights_sha256: str | None = None  # still there if a crash kept the new ones away
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        """Write run.json, atomically."""
        write_json(folder / RUN, asdict(self))


def is_unfinished(run: Path) -> bool:
    """Whether a run's training can go on: encoded text is removed when it is finished."""
    return (run / ENCODED).exists()


def wrong_field(kind: type, value: Mapping[str, Any]) -> str | None:
    """The first field of a dataclass that is missing in a JSON object or has another type there.

    A field that may be None in the dataclass may be missing in the object, as in files of older
    versions.
    """
    hints = get_type_hints(kind)
    for name in (field.name for field in fields(kind)):
        alternatives = get_args(hints[name]) if get_origin(hints[name]) is UnionType else ()
        types = [get_origin(each) or each for each in alternatives or (hints[name],)]
        if type(value.get(name)) not in [IN_JSON.get(each, each) for each in types]:
            return name
    return None


def read_description(path: Path, *, known_format: int) -> dict[str, Any] | None:
    """The object in run.json or export.json; None if the file holds no such description.

    Raises:
        DataError: the file is not JSON, or its format is another.
    """
    value = read_json(path)
    if not isinstance(value, dict) or type(value.get("format")) is not int:
        return None
    if value["format"] != known_format:
        raise DataError(
            f"{path}: format {value['format']}; this charlm reads format {known_format}; "
            "use the charlm that wrote it, or a newer one"
        )
    return value


def require_no_part(path: Path) -> None:
    """Raises DataError for a file of a run or of an exported model, whose folder is meant."""
    for name, kind in ((RUN, "a run"), (EXPORT, "an exported model")):
        if (path.parent / name).is_file():
            raise DataError(f"{path}: a file of {kind}; expected its folder: {path.parent}")


def load_info(folder: str | Path) -> RunInfo:
    """The content of run.json, which may be untrusted.

    Raises:
        DataError: no run, a newer format, or a file that `RunInfo.save` did not write.
    """
    path = Path(folder) / RUN
    if Path(folder).exists() and not Path(folder).is_dir():
        require_no_part(Path(folder))
        raise DataError(
            f"{folder}: a file, and no run; expected a folder that `charlm train` wrote; n-gram "
            "models go to --lm of ngram, score, tune, serve, surprisal, next or sample"
        )
    if not path.is_file():
        if (Path(folder) / EXPORT).is_file():
            raise DataError(f"{folder}: an exported model; expected the run that it was made of")
        if str(folder) in PRESETS and not Path(folder).exists():
            raise DataError(
                f"{folder}: a preset, of which a run is trained; expected a folder that `charlm "
                f"train --arch {folder} --data DIR --out RUN` wrote"
            )
        raise DataError(f"{folder}: {_why_no_run(Path(folder))}")
    value = read_description(path, known_format=FORMAT)
    if value is None:
        raise DataError(f"{path}: not a run's description; expected what `charlm train` writes")
    if name := wrong_field(RunInfo, value):
        found = "of a wrong type" if name in value else "missing"
        raise DataError(f"{path}: {name!r} is {found}; the run is damaged")
    known: dict[str, Any] = {each.name: value.get(each.name) for each in fields(RunInfo)}
    return RunInfo(**known)


def _why_no_run(folder: Path) -> str:
    if not os.path.lexists(folder):
        return "no such folder or file; expected a run, which `charlm train` writes"
    runs = sorted(str(path.parent) for path in folder.glob(f"*/{RUN}"))
    if runs:
        return f"a folder of runs; expected one of them; name it: {first_few(runs)}"
    return f"not a run ({RUN} is missing); expected what `charlm train` writes"


def wrong_recipe(settings: Settings) -> str | None:
    """Why a stored recipe cannot be used after training; None if it can.

    Parts that only training reads are not checked, and may be unknown to this version of charlm.
    """
    recipe = settings.get("recipe")
    if not isinstance(recipe, dict) or recipe.get("oov_input") not in ("unk", "spelling"):
        return "the recipe says no oov_input"
    for name in ("batching", "criterion"):  # older runs lack them
        if not isinstance(recipe.get(name, {}), dict):
            return f"the recipe's {name} is no part"
    if type(recipe.get("batching", {}).get("reset", 0)) not in (int, float):
        return "the reset of the recipe's batching is no number"
    return None


def learned_single_sentences(settings: Settings) -> bool:
    """Whether training reset the state at sentence ends, always or often."""
    batching = settings["recipe"].get("batching", {})
    return bool(batching.get("type", "streams") != "streams" or batching.get("reset", 0) >= OFTEN)


def learned_unnormalised(settings: Settings) -> bool:
    """Whether training made scores that can stand for log-probabilities without their sum."""
    criterion = settings["recipe"].get("criterion", {})
    return criterion.get("type") in ("self-normalised", "nce")


def is_by_sentence(settings: Settings) -> bool:
    """Whether training and validation read sentences one by one."""
    batching = settings["recipe"].get("batching", {})  # older runs lack it
    return bool(batching.get("type") == "sentences")


def load_resumable(folder: str | Path) -> RunInfo:
    """As `load_info`, but also checks the fields that only a resumed training reads.

    Raises:
        DataError: as `load_info`.
    """
    info = load_info(folder)
    texts: list[Any] = [info.corpus.get(split) for split in ("train", "valid")]
    numbers = (info.corpus.get("max_tokens"), info.seed, info.threads)
    kinds = {"sha256": str, "n_sentences": int, "n_tokens": int}
    is_whole = (
        type(info.corpus.get("name")) is str
        and all(type(n) is int and 0 <= n < 1 << 63 for n in numbers)
        and 0 < info.threads <= MAX_THREADS
        and all(type(word) is str for word in info.command)
        and (info.init is None or all(type(info.init.get(k)) is str for k in ("run", "sha256")))
        and all(isinstance(text, dict) for text in texts)
        and all(type(text.get(key)) is kind for text in texts for key, kind in kinds.items())
    )
    if not is_whole:
        raise DataError(f"{Path(folder) / RUN}: says nothing to go on with; the run is damaged")
    return info


@contextmanager
def locked(folder: Path) -> Iterator[Callable[[], None]]:
    """Hold the run's lock; yields a function that checks, before each save, that it is still held.

    A lock on a removed file is still held, but no other process sees it: after `rm -rf` of the
    folder a second training would write into the same place.

    Raises:
        DataError: the lock file is a link.
        TrainingError: another process trains into this run; from the check: the lock is lost.
    """
    descriptor = _opened(folder / LOCK)

    def check() -> None:
        if not is_at(descriptor, folder / LOCK):
            raise TrainingError(
                f"{folder}: its lock is gone or another's, so the folder was removed or replaced "
                "under this training; nothing more is written to it; begin again with another --out"
            )

    try:
        if not try_to_lock(descriptor):
            raise TrainingError(
                f"{folder}: another process trains into this run; wait for it, or choose "
                "another --out"
            )
        check()
        yield check
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    # An untrusted run could make us create an empty file wherever its link points.
    raise DataError(f"{path}: is a link; expected charlm's own empty file; remove the link")
