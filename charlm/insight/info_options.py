"""The options of `charlm info`."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.options import Opt


@dataclass(frozen=True)
class InfoOptions:
    """Which run is told of, and whether its files are checked."""

    run: Annotated[
        str | Path | None,
        Opt(
            "Run directory; without one, which run a command would take, why, and the others.",
            metavar="RUN",
            is_argument=True,
        ),
    ] = None
    _: KW_ONLY
    verify: Annotated[
        bool,
        Opt("Check of the run's files against what it recorded; status 1 if one fits no more."),
    ] = False
