"""Fixtures that read and write lists in memory alone."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.format import Format, Sample
from charlm.nbest.reading.list_lines import Lines, OpenSource

NAME = "a.list"  # the name of the input in messages

Read = Callable[..., list[NbestList]]
Write = Callable[..., str]


@pytest.fixture(scope="session")
def read() -> Read:
    """The lists in a text; what its user says of it by name."""

    def read(reader: Format, content: str | bytes, **said: object) -> list[NbestList]:
        raw = content.encode() if isinstance(content, str) else content
        lines = Lines(io.BytesIO(raw), NAME)
        sample = Sample(NAME, lines.sample(), ())
        source = OpenSource(NAME, lines=lines, sample=sample, **said)  # type: ignore[arg-type]
        return list(reader.read(source))

    return read


@pytest.fixture(scope="session")
def write() -> Write:
    """The main stream that a writer gives, with scores and orders where there are some."""

    def write(
        writer: Format,
        lists: Sequence[NbestList],
        *,
        scores: Sequence[Sequence[float]] = (),
        orders: Sequence[Sequence[int]] = (),
    ) -> str:
        items = [
            Rescored(
                nbest, tuple(scores[i]) if scores else (), order=tuple(orders[i]) if orders else ()
            )
            for i, nbest in enumerate(lists)
        ]
        pieces = list(writer.write(items, reranked=bool(orders)))
        assert {piece.name for piece in pieces} <= {""}
        return "".join(piece.text for piece in pieces)

    return write


@pytest.fixture(scope="session")
def pipe() -> Callable[..., OpenSource]:
    """A pipe whose line after the given ones never comes."""

    def pipe(*lines: bytes) -> OpenSource:
        coming = iter(lines)
        return OpenSource("-", lines=Lines(SimpleNamespace(readline=lambda _: next(coming)), "-"))

    return pipe


@pytest.fixture(scope="session")
def values() -> Callable[[str], list[object]]:
    """The JSON values of a text, members in their order and numbers as they are written."""
    return run_path(str(Path(__file__).with_name("mutations.py")))["values"]
