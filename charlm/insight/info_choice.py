"""Which run a command would take if none is named, why, and which others there are.

`which_run` decides, as for every command; here the decision is only explained.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.run.exported_folder import is_exported
from charlm.run.folder import LOG, MODEL, RESUME, RUN, RUNS, is_unfinished, load_info
from charlm.run.which import VARIABLE, last_written, which_run
from charlm.text.io.lines import read_lines


@dataclass(frozen=True)
class KnownRun:
    """A run under exp/, as far as it can be read."""

    path: str
    arch: str | None
    n_epochs: int | None
    state: str  # as `state_of` says, or what is wrong with it


@dataclass(frozen=True)
class Choice(JsonResult):
    """The run that a command takes if none is named."""

    run: str | None
    reason: str
    known: tuple[KnownRun, ...]  # all under exp/, the latest first; the chosen may be elsewhere


def choice() -> Choice:
    """The run that a command takes if none is named, and all runs under exp/."""
    described = (path.parent for path in RUNS.glob(f"*/{RUN}") if path.is_file())
    folders = sorted(described, key=last_written, reverse=True)
    known = tuple(map(_known, folders))
    said = os.environ.get(VARIABLE)
    if said:
        is_there = (Path(said) / RUN).is_file() or is_exported(said)
        lack = "" if is_there else f", but {RUN} is missing there"
        return Choice(str(Path(said)), f"${VARIABLE} names it{lack}", known)
    try:
        run = which_run(None)
    except ConfigError as error:
        if not known:
            raise
        return Choice(None, str(error), known)
    return Choice(str(run), f"the newest finished run in {RUNS}/; ${VARIABLE} is not set", known)


def _known(run: Path) -> KnownRun:
    try:
        arch = load_info(run).arch
        n_epochs = sum(1 for _ in read_lines(run / LOG)) if (run / LOG).is_file() else 0
    except DataError as error:
        return KnownRun(str(run), None, None, str(error))
    except OSError as error:  # another user's, which is no reason to hide the others
        return KnownRun(str(run), None, None, f"{error.filename}: {str(error.strerror).lower()}")
    return KnownRun(str(run), arch, n_epochs, state_of(run))


def state_of(run: Path) -> str:
    """How far a run has come: finished, unfinished, in its first epoch, or without weights."""
    if not (run / MODEL).is_file():
        log = run / LOG  # empty where a first epoch was resumed
        has_epochs = log.is_file() and log.stat().st_size > 0
        is_begun = (run / RESUME).is_file() and not has_epochs
        return "in its first epoch" if is_begun else "without weights"
    return "unfinished" if is_unfinished(run) else "finished"
