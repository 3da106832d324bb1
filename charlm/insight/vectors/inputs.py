"""What the measures over files share: a run's vectors at some taps, asked about files of words.

A file's words are lower-cased only where that was asked: a model of lower-case text reads `Paris`
as a word that it never saw.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.insight.vectors.cache import Tell, units
from charlm.insight.vectors.search import Search
from charlm.insight.vectors.taps import At, Reader, Reading, Vectors
from charlm.run.store import load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Asked:
    """A run's vectors, the taps that were asked for, and how words are read."""

    vectors: Vectors
    taps: list[str]
    reader: Reader
    tell: Tell | None = None

    def search(self, tap: str) -> Search:
        """The words of the vocabulary at a tap."""
        return Search(self.vectors, tap, tell=self.tell)

    def units_of(self, readings: Iterable[Reading], *, tap: str) -> "UnitVectors":
        """The vectors of the distinct forms that have their own at a tap, of length 1."""
        distinct = {each.identity: each for each in readings if self.vectors.reads(each, tap=tap)}
        rows = {identity: row for row, identity in enumerate(distinct)}
        if not distinct:
            return UnitVectors(rows, torch.empty(0, self.vectors.widths[tap]))
        vectors_NE = self.vectors.encoded(list(distinct.values()), taps=[tap])[tap]
        return UnitVectors(rows, units(vectors_NE))


@dataclass(frozen=True)
class UnitVectors:
    """Forms and their vectors of length 1."""

    rows: dict[tuple[str, int], int]
    vectors_NE: Tensor

    def has(self, *readings: Reading | None) -> bool:
        """Whether all of these could be read, and have vectors."""
        return all(each is not None and each.identity in self.rows for each in readings)

    def of(self, readings: Iterable[Reading]) -> Tensor:
        """The vectors of these, (N, E)."""
        return self.vectors_NE[[self.rows[each.identity] for each in readings]]


def asked_of(
    model: str | Path | None,
    *,
    at: At,
    raw: bool,
    lower: bool,
    device: str,
    tell: Tell | None = None,
) -> Asked:
    """A run's vectors at taps that have directions.

    Raises:
        ConfigError: no such tap, or one of single numbers.
        DataError: a run that is not what was expected.
    """
    run = load_run(which_run(model), device=pick_device(device))
    vectors = Vectors(run)
    reader = Reader(run, raw=raw, lower=lower)
    return Asked(vectors, vectors.taps(at, directed=True), reader, tell)


def paths_of(files: Paths) -> list[str | Path]:
    """One file, or several.

    Raises:
        ConfigError: none.
    """
    listed = [files] if isinstance(files, str | Path) else list(files)
    if not listed:
        raise ConfigError("files: found none; expected at least one")
    return listed


def readings_of(pairs: Iterable[Sequence[Reading | None]]) -> Iterator[Reading]:
    """All that could be read."""
    return (each for pair in pairs for each in pair if each is not None)
