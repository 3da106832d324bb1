"""Which run a command means: the one named, else $CHARLM_MODEL, else the newest finished one.

Only commands that look at a model take the newest; the others want it named.
"""

import os
from pathlib import Path

from charlm.errors import ConfigError
from charlm.run.folder import ENCODED, LOG, MODEL, RUN, RUNS

VARIABLE = "CHARLM_MODEL"


def which_run(model: str | Path | None, *, newest_allowed: bool = True) -> Path:
    """The run directory.

    Raises:
        ConfigError: none was named and none is found.
    """
    said = model or os.environ.get(VARIABLE)
    if said:
        return Path(said)
    if not newest_allowed:
        raise ConfigError(f"no model was said; use --model RUN or set {VARIABLE}")
    weighted = [path.parent for path in RUNS.glob(f"*/{MODEL}")]
    # Encoded text goes when a training has come to its end.
    found = [run for run in weighted if (run / RUN).is_file() and not (run / ENCODED).exists()]
    if not found:
        raise ConfigError(
            f"no model was said and {RUNS}/ holds no finished one; train one, or use --model RUN "
            f"or {VARIABLE}"
        )
    return max(found, key=lambda run: (_last_written(run), run.name))


def _last_written(run: Path) -> int:
    """When the last epoch was logged; the weights may be older, as old as the best epoch."""
    log = run / LOG
    return (log if log.is_file() else run / MODEL).stat().st_mtime_ns
