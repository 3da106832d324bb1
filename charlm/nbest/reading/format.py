"""The contract of every list format; tests check it for each one.

Reading and writing stream: a list is passed on as soon as it is complete, and only one is held in
memory. Lists that are written back without new scores have the same bytes (JSON: the same values);
with new scores they keep all their fields.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.reading.word_times import Span
from charlm.text.io.lines import LIST, LineRules

OnNan = Literal["error", "worst"]
FEATURE = "charlm"  # what a rescored list calls the new score
SAME_FORMAT = ("scored", "ranked")  # --write layouts that keep the format of the input


@dataclass(frozen=True)
class Source:
    """Lists to read: where they are, and what their user says about them."""

    path: str | Path  # a file, `-`, or a folder for formats that consist of one
    features: Mapping[str, Path] = field(default_factory=dict)  # further files: name → file
    columns: tuple[str, ...] = ()  # names of a table's columns; empty: from its header, or guessed
    on_nan: OnNan = "error"  # for a NaN or infinite feature: an error, or the list's worst value
    allow_missing: bool = False  # whether one of several files may lack an utterance or hypothesis
    length_penalty: float = 0.0  # score·length**this is the sum of log-probabilities
    rules: LineRules = LIST  # how its lines are read
    notices: Notices = field(default_factory=Notices, compare=False)  # what the reader counts


class Sample(NamedTuple):
    """The beginning of a list, for recognising its format."""

    path: str | Path
    lines: tuple[str, ...]  # whole lines of the first 64 KiB, or the start of a longer first line
    names: tuple[str, ...]  # sorted relative paths of a folder's files; empty for a file


class Piece(NamedTuple):
    """Text to write, to the main stream or to a file of this name within the output folder."""

    name: str  # empty: the main stream
    text: str  # whole lines


class Format(ABC):
    """A file format of n-best lists.

    Only the object that read lists can write them: some formats keep what follows the last list.
    """

    name: str  # for --format
    # The weights of the features that ranked the list; empty if the format does not say.
    weights: ClassVar[Mapping[str, float]] = {}
    # The unit of the times of its words; empty if it has no times.
    times_in: Literal["", "seconds", "frames"] = ""

    @abstractmethod
    def claims(self, sample: Sample) -> bool:
        """Whether a list with this beginning is of this format and of no other."""

    @abstractmethod
    def read(self, source: Source) -> Iterator[NbestList]:
        """The lists in order, each as soon as it is complete.

        Raises:
            ConfigError: an option that the format has no use for.
            DataError: FILE:LINE and what was expected there.
        """

    def key(self, nbest: NbestList, which: int) -> str:
        """A hypothesis' name in a table: its list's id, with its rank if the list has several."""
        return nbest.id if len(nbest.hypotheses) == 1 else f"{nbest.id}-{which + 1}"

    def times(self, nbest: NbestList, which: int, *, frame_shift: float | None) -> list[Span]:
        """When each word of a hypothesis was said, if the format says so (`times_in`).

        Of words that were joined of pieces, the times of these. `frame_shift`: seconds per frame;
        None: the usual ones of the format.

        Raises:
            ConfigError: frames of a length that must be given.
            DataError: a hypothesis without times, or with those of other words.
        """
        raise NotImplementedError(self.name)  # asked only where times_in is not empty

    @abstractmethod
    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """The lists as they were read, with the feature `charlm` where there are scores.

        `reranked`: hypotheses in the order of their ranking; otherwise in the list's order.
        """
