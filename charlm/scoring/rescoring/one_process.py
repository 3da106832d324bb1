"""Who runs a command's scorers: this process alone, without torch, or `ranks_at_work`."""

from collections.abc import Callable
from typing import TypeVar

from charlm.errors import ConfigError
from charlm.run.exported_folder import is_exported
from charlm.run.onnx_model import require_no_torch
from charlm.runtime import place_of_process
from charlm.scoring.rescoring.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, build_scorers

Result = TypeVar("Result")


def run_with_scorers(
    options: RescoringOptions,
    run: Callable[[Scorers], Result],
    *,
    check: Callable[[], None],
) -> Result:
    """What `run` makes of the scorers; `check` is called before anything is loaded.

    Raises:
        ConfigError: an exported model in several processes; as `ranks_at_work.run_with_scorers`.
    """
    if not options.model or not all(map(is_exported, options.model)):
        from charlm.scoring.rescoring import ranks_at_work

        return ranks_at_work.run_with_scorers(options, run, check=check)
    check()
    require_no_torch(options.model[0], options)
    if place_of_process().size > 1:
        raise ConfigError(
            f"{options.model[0]}: is an exported model, which runs in one process; found several; "
            "start one, or say a run"
        )
    return run(build_scorers(options))
