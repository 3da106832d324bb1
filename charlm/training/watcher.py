"""Watchers, which follow a training: one that survives a full disk, and a silent one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from charlm.run.history import WARNING
from charlm.training.checkpoint import save_log
from charlm.training.loop.estimate import Estimate
from charlm.training.loop.trainer import Trainer
from charlm.training.train_options import Watcher


class LastingWatcher:
    """Passes everything to a watcher until its first OSError, which goes into the run's log."""

    def __init__(self, watcher: Watcher, *, run: Path) -> None:
        self._watcher = watcher
        self._run = run
        self._trainer: Trainer | None = None
        self._failure: OSError | None = None
        self._is_told = False

    def note(self, text: str) -> None:
        self._pass(lambda: self._watcher.note(text))

    def started(self, trainer: Trainer, *, parameters: dict[str, int], cost: Estimate) -> None:
        self._trainer = trainer
        self._pass(lambda: self._watcher.started(trainer, parameters=parameters, cost=cost))

    def stepped(self, trainer: Trainer) -> None:
        self._pass(lambda: self._watcher.stepped(trainer))

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        self._pass(lambda: self._watcher.epoch_done(record, is_best=is_best))
        if self._failure is None or self._is_told or self._trainer is None:
            return
        name = self._failure.filename or "the watcher"
        reason = (self._failure.strerror or str(self._failure)).lower()
        record[WARNING] = f"{name}: {reason}; what was to be said after is lost"
        save_log(self._trainer.position, self._run)
        self._is_told = True

    def _pass(self, call: Callable[[], None]) -> None:
        if self._failure is None:
            try:
                call()
            except OSError as error:
                self._failure = error


class Silence:
    """A watcher that says nothing."""

    def note(self, text: str) -> None: ...
    def started(self, trainer: Trainer, *, parameters: dict[str, int], cost: Estimate) -> None: ...
    def stepped(self, trainer: Trainer) -> None: ...
    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None: ...
