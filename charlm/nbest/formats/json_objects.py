"""JSON in which each hypothesis is an object of its own: the new score is one member more of it.

Re-ranked, the objects change places and all around them stays.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from charlm.errors import DataError
from charlm.nbest.format import FEATURE, Piece, Source
from charlm.nbest.formats.json_records import Entry, Record, Records, single
from charlm.nbest.formats.json_text import Json, Span, with_member
from charlm.nbest.formats.templates import Frame, FramedFormat, by_rank
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.list_lines import lines_of
from charlm.nbest.policies import ids_once, only, refuse_twice, settled, written
from charlm.nbest.repairs import WITHOUT_HYPOTHESIS


class Candidate(NamedTuple):
    """An object that is a hypothesis."""

    span: Span  # in its record
    words: tuple[str, ...]
    features: dict[str, float]
    rank: int | None = None


class Block(NamedTuple):
    """What a record says."""

    id: str
    candidates: list[Candidate]  # as they stand
    reference: tuple[str, ...] | None = None


class ObjectsFormat(FramedFormat):
    """A format that says where in a record the objects are, and what stands in them."""

    def __init__(self) -> None:
        self._rest = ""  # below the last list, which is handed on before it comes

    @abstractmethod
    def block(self, record: Record, number: int) -> Block | None:
        """What a record says; the `number`-th list begins with it. None: it is no list at all.

        Raises:
            DataError: FILE:LINE of what is missing in it.
        """

    def unfold(self, text: str, value: Json) -> list[Entry] | None:
        """The records of a value; None if it holds none."""
        return single(text, value)

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list a record; one without hypotheses is passed on where they may be missing.

        Raises:
            ConfigError: columns, further files or a length penalty.
            DataError: FILE:LINE of what is not JSON, or not of this format.
        """
        only(source, self.name)
        once = ids_once()
        number, passed, self._rest = 1, "", ""
        with lines_of(source) as lines:
            records = Records(lines, unfold=self.unfold)
            for record in records:
                block = self.block(record, number)
                if block is not None:
                    once(block.id, record.place)
                    number += 1
                if block is None or self._is_missing(block, record, source):
                    passed += record.before + record.text
                    continue
                yield _list(block, record._replace(before=passed + record.before), source)
                passed = ""
            self._rest = passed + records.rest

    def _is_missing(self, block: Block, record: Record, source: Source) -> bool:
        if block.candidates:
            return False
        if not source.allow_missing:
            raise DataError(
                f"{record.place}: found no hypothesis of {block.id[:80]!r}; expected at least one; "
                "--allow-missing passes it on as it is"
            )
        source.notices.pass_over(WITHOUT_HYPOTHESIS, 1)
        return True

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """A piece a list; what this object read last below the last list comes last."""
        yield from super().write(lists, reranked=reranked)
        if self._rest:
            yield Piece("", self._rest)

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        """The object, with the score in nats as its last member."""
        assert isinstance(hypothesis.original, str)
        if score is None:
            return hypothesis.original
        refuse_twice(hypothesis)
        return with_member(hypothesis.original, FEATURE, value=written(score, hypothesis))


def _list(block: Block, record: Record, source: Source) -> NbestList:
    candidates = block.candidates
    order = by_rank([candidate.rank for candidate in candidates])
    places = [f"{record.place}: hypothesis {i}" for i in range(1, len(candidates) + 1)]
    features = settled(
        block.id,
        [candidates[i].features for i in order],
        places=[places[i] for i in order],
        on_nan=source.on_nan,
        notices=source.notices,
    )
    edges = [0, *(edge for candidate in candidates for edge in candidate.span), len(record.text)]
    gaps = [record.text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]
    gaps[0] = record.before + gaps[0]
    hypotheses = tuple(
        Hypothesis(candidates[i].words, found, places[i], record.text[slice(*candidates[i].span)])
        for i, found in zip(order, features, strict=True)
    )
    return NbestList(
        block.id,
        hypotheses,
        reference=block.reference,
        original=Frame(tuple(gaps), tuple(order)),
    )
