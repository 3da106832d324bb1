"""`charlm score` in one process or several: each loads the models, and the first does the rest."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch

from charlm.errors import ConfigError
from charlm.nbest.lattices.lattice_options import OLD as OLD_LM
from charlm.nbest.scorer import NgramScorer, Scorer
from charlm.ngram.load import load_ngram
from charlm.processes.command import First
from charlm.processes.group import Group, WorkerPool
from charlm.scoring.rescoring.divided import Worker, divided_scorers
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, Wanted, make_scorers

Result = TypeVar("Result")


class Models(NamedTuple):
    """The models that every process has."""

    wanted: Wanted
    old_lm: str | Path | None

    def load(self) -> tuple[Scorers, Scorer | None]:
        """The scorers, and the model that lists were made with."""
        scorers = make_scorers(self.wanted)
        if self.old_lm is None:
            return scorers, None
        model = load_ngram(self.old_lm, encoding=self.wanted.encoding)
        return scorers, NgramScorer(model, name=OLD_LM)


def with_models(
    models: Models, run: Callable[[Scorers, Scorer | None], Result], *, first: First[Group]
) -> Result:
    """What `run` makes of the models, loaded, whose work is divided among the processes.

    Raises:
        ConfigError: a scorer of the caller's for several.
    """
    models = models._replace(wanted=replace(models.wanted, device=first.device))
    if models.wanted.own is not None and first.size > 1:
        raise ConfigError(
            "found a scorer of the caller's and several processes, which have it not; expected "
            "runs and n-gram models alone; score in one process"
        )
    scorers, old_lm = models.load()
    if first.size == 1:
        return run(scorers, old_lm)
    group = first.start_others()
    group.from_first(lambda: models._replace(wanted=_settled(models.wanted, scorers)))
    pool = WorkerPool(group, Worker(scorers, old_lm=old_lm))
    result = run(divided_scorers(scorers, pool), old_lm)
    pool.dismiss()
    return result


def _settled(wanted: Wanted, scorers: Scorers) -> Wanted:
    """What the others are to load: nothing is found out twice."""
    if scorers.mixture:
        wanted = replace(wanted, mix=None, mix_weights=tuple(scorers.mixture.values()))
    precision = scorers.neural[0].precision if scorers.neural else wanted.precision
    return replace(wanted, precision=precision)


def follow(group: Group, models: Models, *, device: torch.device) -> None:
    """Score for the first process until it ends."""
    wanted = replace(models.wanted, device=str(device))
    scorers, old_lm = models._replace(wanted=wanted).load()
    WorkerPool(group, Worker(scorers, old_lm=old_lm)).follow()
