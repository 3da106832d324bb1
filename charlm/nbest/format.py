"""What every format of lists promises; tests check each one of them.

Reading and writing stream: a list is passed on when it is complete, and no other is kept. Lists
that are written again without new scores have the same bytes (JSON: the same values); with new
scores all their fields are kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.repairs import Notices
from charlm.text.io.lines import LIST, LineRules

OnNan = Literal["error", "worst"]
FEATURE = "charlm"  # what a rescored list calls the new score
SAME_FORMAT = ("scored", "ranked")  # layouts of --write that are the format that a list came in


@dataclass(frozen=True)
class Source:
    """Lists to read: where they are, and what their user says about them."""

    path: str | Path  # a file, `-`, or a folder for formats that are one
    features: Mapping[str, Path] = field(default_factory=dict)  # further files: name → file
    columns: tuple[str, ...] = ()  # of a table, their names; empty: it tells, or they are guessed
    on_nan: OnNan = "error"  # a feature that is NaN or infinite: refuse it, or the worst there is
    allow_missing: bool = False  # an utterance or hypothesis that one of several files lacks
    length_penalty: float = 0.0  # score·length**this is the sum of log-probabilities
    rules: LineRules = LIST  # how its lines are read
    notices: Notices = field(default_factory=Notices, compare=False)  # what the reader counts


class Sample(NamedTuple):
    """The beginning of a list, for recognising its format."""

    path: str | Path
    lines: tuple[str, ...]  # whole lines of the first 64 KiB (of a longer first one its beginning)
    names: tuple[str, ...]  # what a folder holds, paths relative to it, sorted; none of a file


class Piece(NamedTuple):
    """Text to write, to the main stream or to a file of this name within the output folder."""

    name: str  # empty: the main stream
    text: str  # whole lines


class Format(ABC):
    """One way to write n-best lists down.

    The object that read lists must write them: some keep what follows the last one.
    """

    name: ClassVar[str]  # for --format
    # Features that the list was ranked by, and how much each counted; empty where it does not tell.
    weights: ClassVar[Mapping[str, float]] = {}

    @abstractmethod
    def claims(self, sample: Sample) -> bool:
        """Whether a list that begins so is of this format and of no other."""

    @abstractmethod
    def read(self, source: Source) -> Iterator[NbestList]:
        """The lists, in their order, each when it is complete.

        Raises:
            ConfigError: an option that the format has no use for.
            DataError: FILE:LINE and what was expected there.
        """

    def key(self, nbest: NbestList, which: int) -> str:
        """The name of a hypothesis in a table: its list's id, with its rank if it is not alone."""
        return nbest.id if len(nbest.hypotheses) == 1 else f"{nbest.id}-{which + 1}"

    @abstractmethod
    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """The lists as they were read, with the feature `charlm` where there are scores.

        `reranked`: hypotheses in the order of their ranking; else in that of the list.
        """
