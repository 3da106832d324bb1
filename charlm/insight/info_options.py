"""The options of `charlm info`."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.interface.options import Opt


@dataclass(frozen=True)
class InfoOptions:
    """Which run is described, and whether its files are checked."""

    run: Annotated[
        str | Path | None,
        Opt(
            "Run directory; if not given, shows which run a command would take, why, and the other "
            "runs.",
            metavar="RUN",
            is_argument=True,
        ),
    ] = None
    _: KW_ONLY
    verify: Annotated[
        bool,
        Opt(
            "Check the run's files against what it recorded; exit status 1 if one no longer "
            "matches."
        ),
    ] = False
