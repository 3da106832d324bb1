"""The inputs of questions about vectors: a run's vectors at some taps, opened once, and files.

A file's words are lower-cased only on request: a model of lower-case text reads `Paris` as a word
that it never saw.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.insight.vectors.cache import Tell, units
from charlm.insight.vectors.nn_options import MeasureOptions, VectorsOptions
from charlm.insight.vectors.search import Search
from charlm.insight.vectors.taps import Reader, ReadWord, Vectors
from charlm.interface.options import require_one_stdin, several
from charlm.run.stored_weights import load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device, set_threads

Found = TypeVar("Found")
Score = TypeVar("Score")


@dataclass(frozen=True)
class OpenVectors:
    """A run's vectors, the chosen taps, and how words are read."""

    vectors: Vectors
    taps: list[str]
    reader: Reader
    tell: Tell | None = None

    def at_one_tap(self) -> "OpenVectors":
        """These, for an answer about one point.

        Raises:
            ConfigError: several taps were asked for.
        """
        if len(self.taps) > 1:
            raise ConfigError(f"at: found {', '.join(self.taps)}; expected one of them")
        return self

    def search(self, tap: str) -> Search:
        """The words of the vocabulary at a tap."""
        return Search(self.vectors, tap, tell=self.tell)

    def units_of(self, readings: Iterable[ReadWord | None], *, tap: str) -> "UnitVectors":
        """The unit vectors of the distinct forms that have one of their own at a tap."""
        found = [each for each in readings if each is not None]
        distinct = {each.identity: each for each in found if self.vectors.reads(each, tap=tap)}
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

    def has(self, *readings: ReadWord | None) -> bool:
        """Whether all of these could be read, and have vectors."""
        return all(each is not None and each.identity in self.rows for each in readings)

    def of(self, readings: Iterable[ReadWord | None]) -> Tensor:
        """The vectors of these, which it has, (N, E)."""
        return self.vectors_NE[[self.rows[each.identity] for each in readings if each is not None]]


def open_vectors(
    options: VectorsOptions, *, vectors: Vectors | None = None, directed: bool = True
) -> OpenVectors:
    """The vectors that a question is about; of a run that is loaded, if its vectors are given.

    `directed` refuses taps of single numbers, which have no cosine.

    Raises:
        ConfigError: no such tap, or one of single numbers.
        DataError: a run that is not what was expected.
    """
    if vectors is None:
        set_threads(options.threads)
        run = load_run(which_run(options.model), device=pick_device(options.device))
        vectors = Vectors(run)
    taps = vectors.taps(options.at, directed=directed)
    reader = Reader(vectors.run, raw=options.raw, lower=options.lower)
    return OpenVectors(vectors, taps, reader, options.on_stage)


def measured(
    options: MeasureOptions,
    *,
    read: Callable[[str | Path, Reader], Found],
    score: Callable[..., Score],
) -> tuple[Score, ...]:
    """The result of `score` at each tap for what `read` finds in a file, file by file."""
    files = several(options.files)
    if not files:
        raise ConfigError("files: found none; expected at least one")
    require_one_stdin(files)
    opened = open_vectors(options)
    results: list[Score] = []
    for path in files:
        found = read(path, opened.reader)
        results += [score(found, opened, tap=tap, name=str(path)) for tap in opened.taps]
    return tuple(results)
