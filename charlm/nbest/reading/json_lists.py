"""Lists in JSON: one object per line, one over several lines, or all in one array or object.

A record is an object that holds the hypotheses of one utterance. Records of one array are in memory
together; records on lines of their own are not. Either way, each record is written on one line.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored, in_pieces
from charlm.nbest.reading.format import FEATURE, Format, Piece, Source
from charlm.nbest.reading.json_values import (
    ASCII,
    Json,
    JsonObject,
    Number,
    dumped,
    escaped,
    parsed,
    said_id,
    scores_of,
    string,
    words_in,
)
from charlm.nbest.reading.list_lines import Line, Lines, lines_of
from charlm.nbest.reading.policies import (
    check_options,
    ids_once,
    refuse_twice,
    score_text,
    with_finite_features,
)
from charlm.nbest.reading.repairs import WITHOUT_HYPOTHESIS
from charlm.nbest.reading.templates import by_rank
from charlm.nbest.reading.word_times import Span, Timed, aligned
from charlm.text.io.lines import UTF8

BLANKS = " \t\n\r"
MAX_CHARACTERS = 1 << 30  # of one value, which is kept whole
# The marks that decide where a value ends; a JSON string cannot go over the end of a line.
# Possessive, like all loops over strings here: a string of 20 MB took 2 GB for backtracking.
MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],]')

Slot = tuple[str, int | None]  # a member of a record, and the index in it if it is an array


class Record(NamedTuple):
    """An object that holds the hypotheses of one utterance."""

    value: JsonObject
    place: str  # FILE:LINE of the value that holds it, and which of several it is
    key: str = ""  # under which it stands in a larger object; then the id of its list
    before: str = ""  # what is written around it
    after: str = "\n"
    encoding: str = UTF8  # of the file; ASCII where it escapes all other characters

    def text(self, value: JsonObject) -> str:
        """The text that is written when `value` takes the place of this one."""
        return self.before + escaped(dumped(value), self.encoding) + self.after

    def array(self, name: str, *, what: str) -> list[Json]:
        """An array among its members.

        Raises:
            DataError: there is none of this name; `what` says what was expected.
        """
        found = self.value.get(name)
        if not isinstance(found, list):
            raise DataError(f"{self.place}: found no array {name!r}; expected {what}")
        return found

    def objects(self, name: str, *, member: str, what: str) -> list[tuple[JsonObject, str]]:
        """The objects in an array, each with its place; messages say that they need `member`.

        Raises:
            DataError: as `array`, or an element that is not an object.
        """
        objects = []
        for i, each in enumerate(self.array(name, what=what), 1):
            where = f"{self.place}: hypothesis {i}"
            if not isinstance(each, dict):
                raise DataError(f"{where}: found no object; expected one with {member!r}")
            objects.append((each, where))
        return objects

    def candidates(
        self, name: str, *, text: str, score: str, what: str, lacking: Json = None
    ) -> "list[Candidate]":
        """The hypotheses in an array of objects; `lacking` stands for a text that is not there.

        Raises:
            DataError: as `objects`; a text or score that is none.
        """
        return [
            Candidate(
                (name, i),
                words_in(each.get(text, lacking), f"{where}: {text!r}"),
                scores_of(each, score, where=where),
            )
            for i, (each, where) in enumerate(self.objects(name, member=text, what=what))
        ]


class Unfolded(NamedTuple):
    """The entries of a value, and the text around them."""

    head: str
    entries: Sequence[tuple[str, Json]]  # key and value; the key is empty in an array
    tail: str


class Candidate(NamedTuple):
    """A hypothesis as it stands in its record."""

    slot: Slot
    words: tuple[str, ...]
    features: dict[str, float]
    rank: int | None = None


class RecordContent(NamedTuple):
    candidates: list[Candidate]  # in the order of the record
    reference: tuple[str, ...] | None = None
    recording: str = ""


class JsonList(NamedTuple):
    """Where the hypotheses of a list stand."""

    record: Record
    slots: Sequence[Slot]  # of the hypotheses, in order of rank


class JsonFormat(Format):
    """The base of formats that say where in a record the hypotheses are, and what they hold.

    A hypothesis is an object, and the new score becomes a member of it. When a list is re-ranked,
    the objects change places and everything around them stays.
    """

    path: tuple[str, ...] = ()  # nested members that lead from a value to its records
    is_keyed = False  # whether records are members named by their ids, not elements of an array
    is_ragged = False  # whether hypotheses of a list may have different features
    takes: tuple[str, ...] = ()  # optional fields of a source that the format takes

    def __init__(self) -> None:
        self._rest = ""  # text after the last list, which is passed on before this is read

    @abstractmethod
    def content(self, record: Record, source: Source) -> RecordContent | None:
        """The content of a record; None if it is not a list.

        Raises:
            DataError: FILE:LINE of what is missing in it.
        """

    def id_of(self, record: Record) -> str:
        """The id of a record's list; empty where the running number of the list is its id.

        Raises:
            DataError: an empty id, or none that could be one.
        """
        if self.is_keyed and not record.key:
            raise DataError(f"{record.place}: found an empty id; expected that of an utterance")
        return record.key or said_id(record.value, record.place)

    def unfold(self, value: Json) -> Unfolded | None:
        """The records of a value, by default an object or an array of them; None if it has none."""
        if self.path or self.is_keyed or not isinstance(value, dict):
            return within(value, *self.path, keyed=self.is_keyed)
        return Unfolded("", [("", value)], "\n")

    def records(self, lines: Lines) -> Iterator[Record | str]:
        """The records; values without records come as text.

        Raises:
            DataError: FILE:LINE of what is not JSON, or of a value of another kind.
        """
        for first, text in whole_values(lines):
            value, encoding = parsed(text, first.place), encoding_of(text, first)
            found = self.unfold(value)
            if found is None:
                raise DataError(
                    f"{first.place}: found {dumped(value)[:40]}; expected an object that holds "
                    "hypotheses, or an array of them"
                )
            head, entries, tail = found
            before = first.start + escaped(head, encoding)
            if not entries:
                yield before + escaped(tail, encoding)
            for i, (key, entry) in enumerate(entries, 1):
                which = repr(key[:80]) if key else f"list {i}"
                place = f"{first.place}: {which}" if head else first.place
                if not isinstance(entry, dict):
                    raise DataError(f"{place}: found {dumped(entry)[:40]}; expected an object")
                lead = f"{dumped(string(key, place))}: " if key else ""
                before += escaped(lead, encoding)
                after = escaped(tail, encoding) if i == len(entries) else ",\n"
                yield Record(entry, place, key, before, after, encoding)
                before = ""

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list per record; a record without hypotheses is passed on if they may be missing."""
        check_options(source, self.name, *self.takes)
        self._rest = ""
        with lines_of(source) as lines:
            yield from self.lists(lines, source)

    def lists(self, lines: Lines, source: Source) -> Iterator[NbestList]:
        once, number = ids_once(), 1
        passed: list[str] = []
        for found in self.records(lines):
            if isinstance(found, str):
                passed.append(found)
                continue
            content = self.content(found, source)
            if content is None:
                passed.append(found.text(found.value))
                continue
            record = found._replace(key=self.id_of(found) or str(number))
            once(record.key, record.place)
            number += 1
            if _is_missing(content, record, source):
                passed.append(record.text(record.value))
                continue
            passed.append(record.before)
            yield self._list(content, record._replace(before="".join(passed)), source)
            passed = []
        self._rest = "".join(passed)

    def _list(self, content: RecordContent, record: Record, source: Source) -> NbestList:
        order = by_rank([candidate.rank for candidate in content.candidates])
        candidates = [content.candidates[i] for i in order]
        hypotheses = [
            Hypothesis(each.words, each.features, f"{record.place}: hypothesis {i + 1}")
            for i, each in zip(order, candidates, strict=True)
        ]
        slots = [candidate.slot for candidate in candidates]
        return NbestList(
            record.key,
            with_finite_features(record.key, hypotheses, source=source, ragged=self.is_ragged),
            recording=content.recording,
            reference=content.reference,
            original=JsonList(record, slots),
        )

    def times(self, nbest: NbestList, which: int, *, frame_shift: float | None) -> list[Span]:
        hypothesis = nbest.hypotheses[which]
        place = hypothesis.place
        timed = self.timed(self.value_of(nbest, which), place, frame_shift=frame_shift)
        return aligned(in_pieces(hypothesis.words), timed, place=place)

    def value_of(self, nbest: NbestList, which: int) -> Json:
        """A hypothesis as it stands in its record."""
        found = nbest.original
        assert isinstance(found, JsonList)
        return _at(found.record.value, found.slots[which])

    def timed(self, hypothesis: Json, place: str, *, frame_shift: float | None) -> Iterable[Timed]:
        """The pieces of a hypothesis with their times, as for `times`."""
        raise NotImplementedError(self.name)  # asked only where times_in is not empty

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """One piece per list; the text that was read after the last list comes last."""
        for item in lists:
            yield Piece("", self.text(item, reranked=reranked))
        if self._rest:
            yield Piece("", self._rest)

    def text(self, item: Rescored, *, reranked: bool) -> str:
        found = item.nbest.original
        assert isinstance(found, JsonList)
        order = item.ranking if reranked else range(len(item.nbest.hypotheses))
        return found.record.text(self.changed(found, item, order=order))

    def changed(self, found: JsonList, item: Rescored, *, order: Sequence[int]) -> JsonObject:
        """The record's value with its hypotheses in this order, and with their scores."""
        old = found.record.value
        new = {
            name: list(value) if isinstance(value, list) else value for name, value in old.items()
        }
        for slot, which in zip(found.slots, order, strict=True):
            score = None
            if item.scores:
                score = new_score(item.scores[which], item.nbest.hypotheses[which])
            _put(new, slot, self.placed(_at(old, found.slots[which]), score, at=_at(old, slot)))
        return new

    def placed(self, hypothesis: Json, score: Number | None, *, at: Json) -> Json:
        """A hypothesis, with its score if there is one, for the place where `at` stood."""
        assert isinstance(hypothesis, dict)
        return hypothesis if score is None else {**hypothesis, FEATURE: score}


def timed_objects(
    hypothesis: Json, name: str, *, times: Sequence[str] = (), place: str, remedy: str
) -> list[JsonObject]:
    """The objects of a hypothesis that hold the times of its words, each with all of `times`.

    Raises:
        DataError: no array of such objects; the message ends with `remedy`.
    """
    found = hypothesis.get(name) if isinstance(hypothesis, dict) else None
    objects = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    if not objects or any(each.get(key) is None for each in objects for key in times):
        fields = f" as {' and '.join(map(repr, times))}" if times else ""
        raise DataError(
            f"{place}: found no times of words; expected them in {name!r}{fields}; {remedy}"
        )
    return objects


def encoding_of(text: str, line: Line) -> str:
    """The encoding in which a value of `text` is written: ASCII if the text is ASCII already."""
    return ASCII if text.isascii() else line.encoding


def new_score(score: float, hypothesis: Hypothesis) -> Number:
    """A score as it is written.

    Raises:
        DataError: no finite number, or a list that has such scores already.
    """
    refuse_twice(hypothesis)
    return Number(score_text(score, hypothesis))


def _at(value: JsonObject, slot: Slot) -> Json:
    name, index = slot
    found = value[name]
    if index is None:
        return found
    assert isinstance(found, list)
    return found[index]


def _put(value: JsonObject, slot: Slot, new: Json) -> None:
    name, index = slot
    if index is None:
        value[name] = new
    else:
        array = value[name]
        assert isinstance(array, list)
        array[index] = new


def _is_missing(content: RecordContent, record: Record, source: Source) -> bool:
    if content.candidates:
        return False
    if not source.allow_missing:
        raise DataError(
            f"{record.place}: found no hypothesis of {record.key[:80]!r}; expected at least one; "
            "--allow-missing passes it on as it is"
        )
    source.notices.pass_over(WITHOUT_HYPOTHESIS, 1)
    return True


def whole_values(lines: Lines, *, most: int = MAX_CHARACTERS) -> Iterator[tuple[Line, str]]:
    """Whole values with the line on which each begins; a value that never ends comes as it is.

    Raises:
        DataError: a value of more than `most` characters.
    """
    texts: list[str] = []
    first: Line | None = None
    depth = size = 0
    for line in lines:
        if first is None and not line.text.strip(BLANKS):
            continue
        first = first or line
        texts.append(line.text + line.end)
        size += len(line.text)
        if size > most:
            raise DataError(
                f"{first.place}: found a value of more than {most} characters; expected a smaller "
                "one; write one object a line"
            )
        for found in MARKS.finditer(line.text):
            depth += (found[0] in ("{", "[")) - (found[0] in ("}", "]"))
        if depth <= 0:
            yield first, "".join(texts)
            texts, first, depth, size = [], None, 0, 0
    if first is not None:
        yield first, "".join(texts)


def within(value: Json, *path: str, keyed: bool = False) -> Unfolded | None:
    """The elements of the array at `path` or, if `keyed`, the members of the object there.

    The text around them is kept. None if there is no such array or object.
    """
    head = tail = ""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        members = [f"{dumped(key)}: {dumped(each)}" for key, each in value.items()]
        at = list(value).index(name)
        head += f"{{{''.join(f'{member}, ' for member in members[:at])}{dumped(name)}: "
        tail = f"{''.join(f', {member}' for member in members[at + 1 :])}}}{tail}"
        value = value[name]
    if keyed and isinstance(value, dict):
        return Unfolded(f"{head}{{\n", list(value.items()), f"\n}}{tail}\n")
    if keyed or not isinstance(value, list):
        return None
    end = "\n]" if value else "]"
    return Unfolded(f"{head}[\n", [("", each) for each in value], f"{end}{tail}\n")


@lru_cache(maxsize=1)  # all JSON formats ask for those of one sample
def first_keys(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of the first object, and those of the objects that are its values.

    For detection: the lines may be the beginning of something longer. Empty if they are not JSON.
    """
    text = "\n".join(lines).lstrip(BLANKS)
    if not text.startswith(("{", "[")):
        return ()
    keys: list[str] = []
    around: list[str] = []  # the brackets that are open
    depth, is_key = -1 if text[0] == "[" else 0, False
    for found in MARKS.finditer(text):
        mark = found[0]
        if mark[0] == '"':
            if is_key and 1 <= depth <= 2:
                keys.append(mark.strip('"'))
            is_key = False
        elif mark in "{[":
            depth, is_key = depth + 1, mark == "{"
            around.append(mark)
        elif mark in "}]":
            depth -= 1
            del around[-1:]
            if depth <= 0:
                break
        else:
            is_key = around[-1:] == ["{"]
    return tuple(keys)
