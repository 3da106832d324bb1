"""Runs a command with its scorers: in this process without torch, or by `several_processes`."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from charlm.errors import ConfigError
from charlm.run.exported_folder import is_exported
from charlm.run.onnx_model import require_no_torch
from charlm.runtime import place_of_process
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, build_scorers, spells

Result = TypeVar("Result")


def run_with_scorers(options: RescoringOptions, run: Callable[[Scorers], Result]) -> Result:
    """The result of `run` with the scorers; options are checked before anything is loaded.

    Raises:
        ConfigError: an exported model in several processes; as `several_processes` says.
    """
    models = options.models
    if _needs_torch(options):
        from charlm.scoring.rescoring import several_processes

        return several_processes.run_with_scorers(options, run)
    options.check()
    if not models:
        return run(build_scorers(replace(options, open_vocabulary=spells(options))))
    require_no_torch(models[0], options)
    if place_of_process().size > 1:
        raise ConfigError(
            f"{models[0]}: is an exported model, which runs in one process; found several; "
            "start one, or name a run"
        )
    return run(build_scorers(options))


def _needs_torch(options: RescoringOptions) -> bool:
    """Whether there is a run, a scorer of the caller's, or work to divide among processes."""
    if options.models:
        return not all(map(is_exported, options.models))
    is_alone = options.gpus is None and options.processes is None and place_of_process().size == 1
    return options.scorer is not None or not is_alone
