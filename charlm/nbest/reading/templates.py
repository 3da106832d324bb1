"""The text around the hypotheses of a list, so that a writer can put everything back as it was.

Hypotheses are pieces of text with gaps between them: a byte order mark, line ends, comments, the
braces of a JSON object. Re-ranking moves the pieces and leaves the gaps where they are, so the last
line of a file may move up and gets the line end that it lacked.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.reading.format import Format, Piece, Source
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import ids_once, with_finite_features


@dataclass(frozen=True)
class Template:
    """The gaps around the pieces of a list, in the order of the file; one more than hypotheses."""

    gaps: tuple[str, ...]
    slots: tuple[int, ...]  # for each hypothesis, in order of rank: which piece of the file it is
    scored_gap: str = ""  # the first gap with a new feature
    file: str = ""  # the name of the list's own file, where each has one
    beside: Mapping[str, str] = field(default_factory=dict)  # what was read of further files


Said = TypeVar("Said")


class Row(NamedTuple):
    """A line that is a hypothesis, as its format understood it."""

    line: Line
    id: str
    words: tuple[str, ...]
    features: dict[str, float]  # may still hold NaN and infinity
    original: object  # what the format needs to write it
    rank: int | None = None
    recording: str = ""
    reference: tuple[str, ...] | None = None


class OtherLine(NamedTuple):
    """A line that is not a hypothesis: a header, a comment, a blank line."""

    line: Line
    scored: str | None = None  # its text with a new feature; None: the same as without

    @property
    def scored_raw(self) -> str:
        """The whole line with a new feature."""
        return self.line.raw if self.scored is None else self.line._replace(text=self.scored).raw


class TemplateFormat(Format):
    """A format whose writer puts pieces back into their template."""

    @abstractmethod
    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        """The text of a hypothesis, with its score if any, for the place where `at` stood."""

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """One piece per list, including everything around its hypotheses."""
        for item in lists:
            yield Piece(template_of(item).file, self.filled(item, reranked=reranked))

    def filled(self, item: Rescored, *, reranked: bool) -> str:
        template, hypotheses = template_of(item), item.nbest.hypotheses
        texts = [""] * len(hypotheses)
        order = item.ranking if reranked else range(len(hypotheses))
        for at, which in enumerate(order):
            score = item.scores[which] if item.scores else None
            texts[template.slots[at]] = self.piece(hypotheses[which], score, at=hypotheses[at])
        first = template.scored_gap if item.scores else template.gaps[0]
        return first + "".join(
            text + gap for text, gap in zip(texts, template.gaps[1:], strict=True)
        )


def template_of(item: Rescored) -> Template:
    """What stands around the hypotheses of a list."""
    assert isinstance(item.nbest.original, Template)
    return item.nbest.original


class ListBuilder:
    """Builds lists from rows: those of one id stand together, maybe with other lines in between.

    `is_alone`: every row is a list, which is passed on at once, and its id is not kept.
    """

    def __init__(
        self,
        source: Source,
        *,
        name: str,
        ragged: bool = False,
        file: str = "",
        is_alone: bool = False,
    ) -> None:
        self._source, self._name = source, name
        self._ragged, self._file = ragged, file
        self._once = None if is_alone else ids_once()
        self._rows: list[Row] = []
        self._gaps: list[str] = []
        self._end = ""  # of the last hypothesis' line
        self._loose: list[OtherLine] = []  # since the last hypothesis, maybe thousands
        self._scored_gap = ""
        self._has_header = False

    def lists(self, rows: Iterable[Row | OtherLine]) -> Iterator[NbestList]:
        """The lists, each when the next begins, or at once if every row is a list.

        Raises:
            DataError: an id that comes again later, a feature without a number, no hypothesis.
        """
        for row in rows:
            if isinstance(row, OtherLine):
                self._has_header |= row.scored is not None
                self._loose.append(row)
                continue
            if self._rows and self._rows[-1].id != row.id:
                yield self._closed()
            self._open(row)
            if self._once is None:
                yield self._closed()
        if self._rows:
            self._end += "".join(other.line.raw for other in self._loose)
            yield self._closed()
        elif self._loose:
            raise DataError(f"{self._name}: found no hypothesis; expected at least one")

    def _open(self, row: Row) -> None:
        if not self._rows:
            if self._once is not None:
                self._once(row.id, row.line.place, by=self._sorted_by(row))
            self._scored_gap = "".join(other.scored_raw for other in self._loose) + row.line.start
        loose = (other.line.raw for other in self._loose)
        self._gaps.append("".join([self._end, *loose, row.line.start]))
        self._rows.append(row)
        self._end, self._loose = row.line.end, []

    def _sorted_by(self, row: Row) -> str:
        """The command that sorts such a list, if ids come first and no line must stay on top."""
        first, *rest = row.line.text.replace("\t", " ").split(" ", 1)
        goes_alone = not (self._has_header or self._source.features)
        by_number = "n" if row.id.isascii() and row.id.isdecimal() else ""
        return f"sort -s -k1,1{by_number} FILE" if rest and first == row.id and goes_alone else ""

    def _closed(self) -> NbestList:
        rows, gaps = self._rows, [*self._gaps, self._end]
        self._rows, self._gaps, self._end = [], [], ""
        order = by_rank([row.rank for row in rows])
        ranked = [rows[i] for i in order]
        hypotheses = [
            Hypothesis(each.words, each.features, each.line.place, each.original) for each in ranked
        ]
        key = rows[0].id
        return NbestList(
            key,
            with_finite_features(key, hypotheses, source=self._source, ragged=self._ragged),
            recording=_of_all(rows, "recording", values=[row.recording for row in rows]) or "",
            reference=_of_all(rows, "reference", values=[row.reference for row in rows]),
            original=Template(tuple(gaps), tuple(order), self._scored_gap, self._file),
        )


def _of_all(rows: Sequence[Row], what: str, *, values: Sequence[Said | None]) -> Said | None:
    """What rows say of their whole list: all the same, or only one of them says something."""
    said: Said | None = None
    for row, value in zip(rows, values, strict=True):
        if said and value and value != said:
            raise DataError(
                f"{row.line.place}: found another {what} than rows before it have, of list "
                f"{row.id[:80]!r}; expected the same in all rows of a list, or in one alone"
            )
        said = said or (said if value is None else value)
    return said


def by_rank(ranks: Sequence[int | None]) -> list[int]:
    """Indices of hypotheses in order of rank, or in the order of the file if one has no rank."""
    known = [rank for rank in ranks if rank is not None]
    if len(known) < len(ranks):
        return list(range(len(ranks)))
    return sorted(range(len(ranks)), key=known.__getitem__)
