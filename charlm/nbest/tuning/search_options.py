"""The options of `charlm tune` that the search for weights takes as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from charlm.errors import ConfigError
from charlm.interface.options import OnStage, Opt, Seed, as_names
from charlm.nbest.hypotheses import LARGEST
from charlm.text.io.lines import number_in

LOW, HIGH = -100.0, 100.0  # of a weight; Kaldi's language model weights go up to about 20


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Which weights are searched, within which bounds, from how many starts."""

    tuned: Annotated[
        str | Sequence[str],
        Opt(
            "Features whose weights are tuned, all if not given; the first one that varies keeps "
            "its weight, which sets the scale.",
            "Search",
            metavar="A,B,…",
            cli_type=str,
        ),
    ] = ""
    ranges: Annotated[
        Sequence[str],
        Opt(
            "Bounds of a weight, such as nn=0: for a language model; an end that is not given is "
            "-100 or 100; may be repeated.",
            "Search",
            metavar="NAME=LOW:HIGH",
            flags=("--range",),
        ),
    ] = ()
    restarts: Annotated[
        int, Opt("Number of random starts besides the first.", "Search", least=0)
    ] = 20
    folds: Annotated[
        int,
        Opt("Number of folds of the cross-validation, 2 or more; 0 makes none.", "Search", least=0),
    ] = 5
    seed: Seed = 0
    on_stage: OnStage = None

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The features whose weights are tuned; empty: all."""
        return as_names(self.tuned, option="--tuned")


def parse_ranges(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The bounds of weights, such as `nn=0:5`; an end left out is ±100.

    Raises:
        ConfigError: another form, or two ranges of one name.
    """
    ranges = {}
    for text in texts:
        name, _, ends = text.partition("=")
        first, colon, last = ends.partition(":")
        low, high = number_in(first or LOW), number_in(last or HIGH)
        if not (name and colon and low < high and max(abs(low), abs(high)) <= LARGEST):
            raise ConfigError(f"--range {text!r:.60}: expected NAME=LOW:HIGH, as nn=0:5, to 1e30")
        if name in ranges:
            raise ConfigError(f"--range {text!r:.60}: {name} stands twice; expected it once")
        ranges[name] = (low, high)
    return ranges
