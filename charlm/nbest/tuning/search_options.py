"""The options of `charlm tune` that the search for weights takes as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from charlm.options import Opt, Seed, as_names


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Which weights are searched, within which bounds, from how many starts."""

    tuned: Annotated[
        str | Sequence[str],
        Opt(
            "Features whose weights are tuned; the first sets the scale; all if not given.",
            "Search",
            metavar="A,B,…",
            cli_type=str,
        ),
    ] = ""
    ranges: Annotated[
        Sequence[str],
        Opt(
            "Bounds of a weight, such as nn=0: for a language model; may be repeated.",
            "Search",
            metavar="NAME=LOW:HIGH",
            flags=("--range",),
        ),
    ] = ()
    restarts: Annotated[
        int, Opt("Number of random starts besides the first.", "Search", least=0)
    ] = 20
    folds: Annotated[
        int, Opt("Number of folds of the cross-validation; 0 makes none.", "Search", least=0)
    ] = 5
    seed: Seed = 0

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The features whose weights are tuned; empty: all."""
        return as_names(self.tuned)
