"""Which run a command uses: the one named, else $CHARLM_MODEL, else the newest finished one.

Only commands that inspect a run default to the newest; `export` does not.
"""

import os
from pathlib import Path

from charlm.errors import ConfigError
from charlm.run.folder import LOG, MODEL, RUN, RUNS, is_unfinished

VARIABLE = "CHARLM_MODEL"


def which_run(
    model: str | Path | None, *, newest_allowed: bool = True, named: str = "use --model RUN"
) -> Path:
    """The run directory; `named` says how the command is given one.

    Raises:
        ConfigError: none was named and none is found.
    """
    said = model or os.environ.get(VARIABLE)
    if said:
        return Path(said)
    if not newest_allowed:
        raise ConfigError(f"no model was given; {named} or set {VARIABLE}")
    weighted = [path.parent for path in RUNS.glob(f"*/{MODEL}")]
    found = [run for run in weighted if (run / RUN).is_file() and not is_unfinished(run)]
    if not found:
        raise ConfigError(
            f"no model was given and {RUNS}/ holds no finished one; train one, or {named} or set "
            f"{VARIABLE}"
        )
    return max(found, key=last_written)


def last_written(run: Path) -> tuple[int, str]:
    """When the last epoch was logged, and the name; weights only show when the best epoch was."""
    file = next(file for file in (run / LOG, run / MODEL, run / RUN) if file.is_file())
    return file.stat().st_mtime_ns, run.name
