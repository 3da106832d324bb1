"""Whether the files of a run are still those that it recorded: `charlm info RUN --verify`.

The vocabulary, its counts and the model have hashes in run.json. Checkpoint, log and speller are
compared with each other and with the model's shapes. Card and curve are not checked: they are drawn
from the log, and nothing depends on them. Encoded text and cached vectors are checked when they are
read, and made again if necessary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charlm.errors import ConfigError, DataError, UnknownPartError
from charlm.interface.json_results import JsonResult
from charlm.model.language_model import LanguageModel
from charlm.run.folder import (
    CARD,
    CURVE,
    LOG,
    MODEL,
    RESUME,
    RUN,
    SPELLER_WEIGHTS,
    VOCABULARY,
    RunInfo,
    is_unfinished,
    load_info,
    load_resumable,
)
from charlm.run.history import WARNING, best_record, history_of, recorded_history
from charlm.run.stored_speller import load_speller
from charlm.run.stored_weights import (
    check_header,
    check_values,
    digest_of,
    empty_model,
    load_run,
    load_words,
    read_meta,
    read_tensors,
)
from charlm.text.io.files import sha256_of
from charlm.text.perplexity.signature import HASH_DIGITS
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class FileCheck:
    """One file of a run, compared with what the run recorded."""

    name: str
    fits: bool | None  # None: there is nothing to compare it with
    found: str


@dataclass(frozen=True)
class Verification(JsonResult):
    """All files of a run, compared with what it recorded."""

    run: str
    files: tuple[FileCheck, ...]
    derived = ("misfits",)

    @property
    def misfits(self) -> tuple[str, ...]:
        """The names of the files that no longer fit."""
        return tuple(each.name for each in self.files if each.fits is False)


class _UncheckedError(Exception):
    """There is nothing to compare a file with; the message says why."""


def verified(run: str | Path) -> Verification:
    """Compare every file of a run with what the run recorded.

    Raises:
        DataError: run.json, which holds the records, cannot be read.
    """
    folder = Path(run)
    info = load_info(folder)
    files = _Files(folder, info)
    checks: list[tuple[str, Callable[[], str]]] = [
        (VOCABULARY, files.vocabulary),
        (RUN, files.description),
        (MODEL, files.model),
        (RESUME, files.checkpoint),
        (LOG, files.log),
        *([(SPELLER_WEIGHTS, files.speller)] if info.speller is not None else []),
    ]
    checked = [_checked(folder / name, check) for name, check in checks]
    for name in (CARD, CURVE):
        is_there = (folder / name).is_file()
        found = "drawn from the log" if is_there else "missing; --resume draws it"
        checked.append(FileCheck(name, None, found))
    return Verification(str(run), tuple(checked))


def _checked(path: Path, check: Callable[[], str]) -> FileCheck:
    try:
        return FileCheck(path.name, True, check())
    except _UncheckedError as why:
        return FileCheck(path.name, None, str(why))
    except (DataError, ConfigError) as error:
        return FileCheck(path.name, False, str(error).removeprefix(f"{path}: "))


class _Files:
    """The files of a run; each check returns what it found, or raises."""

    def __init__(self, folder: Path, info: RunInfo) -> None:
        self.folder, self.info = folder, info
        self.inventory: Inventory | None = None  # set once it is known to be the run's
        self.shapes: LanguageModel | None = None

    def vocabulary(self) -> str:
        self.inventory = load_words(self.folder, self.info)
        if self.info.counts_sha256 is None:
            return "words as recorded; no hash of the counts, as in charlm 0.1"
        return "words and counts as recorded"

    def description(self) -> str:
        load_resumable(self.folder)
        settings = self.info.settings
        try:
            self.shapes = empty_model(self.folder, settings=settings, inventory=self._words())
        except UnknownPartError as error:
            raise _UncheckedError(str(error).removeprefix(f"{self.folder / RUN}: ")) from None
        return "its settings make a model"

    def model(self) -> str:
        recorded, path = self.info.weights_sha256, self.folder / MODEL
        if not path.is_file():
            if not self._history():
                raise _UncheckedError("none before the first epoch is done")
            raise DataError(f"{path}: no such file; expected the weights of the best epoch")
        found = sha256_of(path)
        if recorded is None:
            self._words()
            epoch = self._best_epoch(load_run(self.folder).epoch)
            raise _UncheckedError(f"no hash, as in charlm 0.1; weights of epoch {epoch} that fit")
        # A training that goes on may have saved better weights since run.json was read.
        if found not in (recorded, load_info(self.folder).weights_sha256):
            mend = "; if the training was killed, --resume mends it" if self._is_unfinished else ""
            raise DataError(
                f"{path}: sha256 {found[:HASH_DIGITS]}; expected {recorded[:HASH_DIGITS]}{mend}"
            )
        return f"epoch {self._best_epoch(read_meta(path).get('epoch'))}, sha256 as recorded"

    def checkpoint(self) -> str:
        path = self.folder / RESUME
        if not path.is_file():
            is_over = (self.folder / MODEL).is_file() and not self._is_unfinished
            refused = "needs it" if is_over else "would begin again"
            raise _UncheckedError(f"missing; --resume {refused}")
        n_epochs = len(recorded_history(path))
        self._words()
        if self.shapes is None:
            raise _UncheckedError(f"not compared, since {RUN} makes no model")
        check_header(self.shapes, path, prefix="model.")
        tensors, meta = read_tensors(path)
        own = {name: tensors[f"model.{name}"] for name in self.shapes.state_dict()}
        check_values(self.shapes, own, path=path)
        if "sha256" in meta and meta["sha256"] != digest_of(tensors):  # charlm 0.1 wrote none
            raise DataError(f"{path}: its numbers are not those that were written (SHA-256)")
        return f"after epoch {n_epochs}, shapes as {RUN} describes"

    def log(self) -> str:
        history = [_without_warning(record) for record in history_of(self.folder)]
        if not (self.folder / RESUME).is_file():
            raise _UncheckedError(f"up to epoch {len(history)}; no checkpoint to hold it against")
        try:
            recorded = list(map(_without_warning, recorded_history(self.folder / RESUME)))
        except DataError:
            raise _UncheckedError(f"not compared, since {RESUME} fits no more") from None
        # A training killed after writing its log has one record more, which --resume removes.
        compared = history[: len(recorded)] if self._is_unfinished else history
        if compared != recorded:
            raise DataError(
                f"{self.folder / LOG}: its {len(history)} records are not the {len(recorded)} of "
                f"{RESUME}"
            )
        return f"up to epoch {len(history)}, as {RESUME} has them"

    def speller(self) -> str:
        path = self.folder / SPELLER_WEIGHTS
        if not path.is_file():
            if self._is_unfinished:
                raise _UncheckedError("none yet; --resume trains it")
            raise DataError(f"{path}: no such file; --resume trains it again")
        load_speller(self.folder, self.info, inventory=self._words())
        return f"learned the spellings that {RUN} names"

    def _words(self) -> Inventory:
        if self.inventory is None:
            raise _UncheckedError(f"not compared, since {VOCABULARY} fits no more")
        return self.inventory

    def _history(self) -> Sequence[dict[str, Any]]:
        """The records in the log; empty if it cannot be read, which its own check reports."""
        try:
            return history_of(self.folder)
        except DataError:
            return []

    def _best_epoch(self, epoch: object) -> object:
        history = self._history()
        best = best_record(history)["epoch"] if history else epoch
        if epoch != best and not self._is_unfinished:
            raise DataError(f"weights of epoch {epoch}; expected those of {best}, {LOG}'s best")
        return epoch

    @property
    def _is_unfinished(self) -> bool:
        return is_unfinished(self.folder)


def _without_warning(record: object) -> object:
    """The record of an epoch without its warning, which comes after the epoch's checkpoint."""
    if not isinstance(record, dict):
        return record
    return {name: value for name, value in record.items() if name != WARNING}
