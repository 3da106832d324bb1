"""The options of `charlm table`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from charlm.options import Opt
from charlm.scoring.evaluation.evaluate_options import State


@dataclass(frozen=True)
class TableOptions:
    """Which comparisons stand in one table, and in which state."""

    files: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "What `charlm compare-kn --json` printed, one or several a data set, or - for stdin.",
            is_argument=True,
        ),
    ]
    state: Annotated[
        State, Opt("Text read as one stream (carried), or every sentence on its own.")
    ] = "carried"
