"""`charlm score` in one process or several: each loads the models, and the first does the rest."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from charlm.errors import ConfigError
from charlm.nbest.lattices.options import OLD as OLD_LM
from charlm.nbest.ngram_scorer import NgramScorer
from charlm.nbest.scorer import Scorer
from charlm.ngram.load import load_ngram
from charlm.processes.crew import Crew
from charlm.processes.devices import asked_devices, own_device, threads_of_each
from charlm.processes.group import Group
from charlm.processes.launch import launched
from charlm.runtime import place_of_process, set_threads
from charlm.scoring.divided import Worker, divided_scorers
from charlm.scoring.scorers import Scorers, Wanted, make_scorers

Result = TypeVar("Result")


class Models(NamedTuple):
    """The models that every process has."""

    wanted: Wanted
    old_lm: str | Path | None

    def load(self) -> tuple[Scorers, Scorer | None]:
        """The scorers, and the model that lists were made with."""
        old_lm = self.old_lm
        scorers = make_scorers(self.wanted)
        return scorers, None if old_lm is None else NgramScorer(load_ngram(old_lm), name=OLD_LM)


@dataclass(frozen=True)
class Machine:
    """On what the models run."""

    device: str
    gpus: str | None
    processes: int | None
    threads: int | None


def with_models(
    models: Models,
    run: Callable[[Scorers, Scorer | None], Result],
    *,
    machine: Machine,
    group: Group,
) -> Result:
    """What `run` makes of the models, loaded, whose work is divided among the processes.

    Raises:
        ConfigError: options that do not go together; a scorer of the caller's for several.
        ProcessError: another process ended.
    """
    devices = asked_devices(machine.gpus, machine.processes, device=machine.device)
    threads = threads_of_each(machine.threads, len(devices))
    set_threads(threads)
    own = place_of_process().device_name(devices[0])
    models = models._replace(wanted=replace(models.wanted, device=own))
    if models.wanted.own is not None and max(len(devices), group.size) > 1:
        raise ConfigError(
            "found a scorer of the caller's and several processes, which have it not; expected "
            "runs and n-gram models alone; score in one process"
        )
    scorers, old_lm = models.load()
    with launched(devices, alone=group) as everyone:
        if everyone.size == 1:
            return run(scorers, old_lm)
        told = models._replace(wanted=_settled(models.wanted, scorers))
        everyone.from_first(lambda: (told, threads))
        crew = Crew(everyone, Worker(scorers, old_lm=old_lm))
        result = run(divided_scorers(scorers, crew), old_lm)
        crew.dismiss()
        return everyone.from_first(lambda: result)


def _settled(wanted: Wanted, scorers: Scorers) -> Wanted:
    """What the others are to load: nothing is found out twice."""
    if scorers.mixture:
        wanted = replace(wanted, mix=None, mix_weights=tuple(scorers.mixture.values()))
    precision = scorers.neural[0].precision if scorers.neural else wanted.precision
    return replace(wanted, precision=precision)


def follow(group: Group, *, device: str) -> Any:
    """Score for the first process until it ends; what it found."""
    models, threads = group.told()
    set_threads(threads)
    where = str(own_device(device))
    scorers, old_lm = models._replace(wanted=replace(models.wanted, device=where)).load()
    Crew(group, Worker(scorers, old_lm=old_lm)).follow()
    return group.told()
