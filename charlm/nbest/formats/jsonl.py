"""JSONL in two forms: one object per list, or one object per hypothesis.

`{"id": "u", "hyps": [{"text": "we know", "am": -12.3}], "ref": "we know"}` or, line by line,
`{"id": "u", "rank": 1, "text": "we know", "scores": {"am": -12.3}}`. Numbers are in nats, larger is
better. A list of the first form is passed on at once, one of the second when another id comes.
"""

from collections.abc import Iterable, Iterator

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.reading.format import FEATURE, Sample, Source
from charlm.nbest.reading.json_lists import (
    BLANKS,
    Candidate,
    JsonFormat,
    JsonList,
    Record,
    RecordContent,
    encoding_of,
    new_score,
)
from charlm.nbest.reading.json_values import (
    ID,
    Json,
    JsonObject,
    Number,
    optional_words,
    parsed,
    said_id,
    score_in,
    string,
    words_in,
)
from charlm.nbest.reading.list_lines import Line, Lines
from charlm.nbest.reading.policies import is_number
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.reading.templates import ListBuilder, OtherLine, Row, TemplateFormat
from charlm.nbest.reading.word_times import Span, Timed
from charlm.text.io.lines import split_words

NO_FEATURES = ("id", "rank")  # numbers of a hypothesis that are not features
NO_SCORES = (*NO_FEATURES, "text", "ref", "recording")  # numbers in quotes may be right there
MAX_DIGITS = 18  # of a rank


class JsonlFormat(JsonFormat, TemplateFormat):
    """Features are the numbers in `scores` or, without it, those of the hypothesis itself.

    The new feature is written in the same place, in nats. Hypotheses of a list may have different
    features; `null` in `scores` is NaN. Hypotheses are read in order of `rank` if all have one;
    when re-ranked, they get the ranks of their new places. `recording` and `ref` are read, and
    `times` where they are asked for; other members stay as they are.
    """

    name = "jsonl"
    is_ragged = True
    times_in = "seconds"

    def claims(self, sample: Sample) -> bool:
        """The first line is an object with an id and hypotheses, or an id and a text."""
        line = next((line for line in sample.lines if line.strip(" \t")), "")
        if len(sample.lines) == 1 and not line.rstrip(" \t").endswith("}"):
            return line.startswith("{") and '"id"' in line and '"hyps"' in line  # a long one, cut
        try:
            value = parsed(line, "")
        except DataError:
            return False
        return isinstance(value, dict) and "id" in value and ("hyps" in value or "text" in value)

    def lists(self, lines: Lines, source: Source) -> Iterator[NbestList]:
        """The lists, in the form of the first line."""
        while (first := lines.peek()) is not None and not first.text.strip(BLANKS):
            next(lines)
        if first is None:
            return
        if "hyps" in _object(first):
            yield from super().lists(lines, source)
        else:
            builder = ListBuilder(source, name=lines.name, ragged=True)
            yield from builder.lists(_flat(line, source.notices) for line in lines)

    def records(self, lines: Lines) -> Iterator[Record | str]:
        for line in lines:
            if line.text.strip(BLANKS):
                encoding = encoding_of(line.text, line)
                yield Record(_object(line), line.place, before=line.start, encoding=encoding)

    def id_of(self, record: Record) -> str:
        return _id(record.value, record.place)

    def content(self, record: Record, source: Source) -> RecordContent:
        value, place = record.value, record.place
        candidates, expected = [], "one of hypotheses"
        for i, (each, where) in enumerate(record.objects("hyps", member="text", what=expected)):
            words, rank = words_in(each.get("text"), f"{where}: 'text'"), _rank(each, where)
            features = _features(each, where, notices=source.notices)
            candidates.append(Candidate(("hyps", i), words, features, rank))
        reference = optional_words(value, "ref", place=place)
        return RecordContent(candidates, reference, _recording(value, place))

    def value_of(self, nbest: NbestList, which: int) -> Json:
        record = nbest.hypotheses[which].original
        return record.value if isinstance(record, Record) else super().value_of(nbest, which)

    def timed(self, hypothesis: Json, place: str, *, frame_shift: float | None) -> Iterable[Timed]:
        """`times`, the start and the end of each word of the text in seconds."""
        assert isinstance(hypothesis, dict)
        words, times = split_words(str(hypothesis["text"])), hypothesis.get("times")
        pairs = times if isinstance(times, list) else []
        if len(pairs) != len(words) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
            raise DataError(
                f"{place}: found {len(pairs) or 'no'} times of {len(words)} words; expected "
                '"times": [[0.1, 0.35], …], the start and the end of each in seconds'
            )
        for word, pair in zip(words, pairs, strict=True):
            assert isinstance(pair, list)
            yield word, Span(*(score_in(each, f"{place}: 'times'") for each in pair))

    def text(self, item: Rescored, *, reranked: bool) -> str:
        if isinstance(item.nbest.original, JsonList):
            return super().text(item, reranked=reranked)
        return self.filled(item, reranked=reranked)

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        record, there = hypothesis.original, at.original
        assert isinstance(record, Record)
        assert isinstance(there, Record)
        new = None if score is None else new_score(score, hypothesis)
        value = self.placed(record.value, new, at=there.value)
        assert isinstance(value, dict)
        return record.text(value)

    def placed(self, hypothesis: Json, score: Number | None, *, at: Json) -> Json:
        """The object with the rank of its place, and the score where its features are."""
        assert isinstance(hypothesis, dict)
        assert isinstance(at, dict)
        new = dict(hypothesis)
        if "rank" in new and "rank" in at:
            new["rank"] = at["rank"]
        if score is None:
            return new
        scores = new.get("scores")
        if isinstance(scores, dict):
            return new | {"scores": {**scores, FEATURE: score}}
        return {**new, FEATURE: score}


def _object(line: Line) -> JsonObject:
    value = parsed(line.text, line.place)
    if not isinstance(value, dict):
        raise DataError(f"{line.place}: found no object; expected one a line, as {{...}}")
    return value


def _flat(line: Line, notices: Notices) -> Row | OtherLine:
    if not line.text.strip(BLANKS):
        return OtherLine(line)
    value, place = _object(line), line.place
    if "hyps" in value:
        raise DataError(
            f"{place}: found a whole list among single hypotheses; expected one form in a file"
        )
    if "text" not in value:
        raise DataError(
            f"{place}: found neither 'hyps' nor 'text'; expected a list as "
            '{"id": "u", "hyps": [{"text": "a b"}]}, or a hypothesis as {"id": "u", "text": "a b"}'
        )
    return Row(
        line,
        _id(value, place),
        words_in(value.get("text"), f"{place}: 'text'"),
        _features(value, place, notices=notices),
        Record(value, place, after="", encoding=encoding_of(line.text, line)),
        rank=_rank(value, place),
        recording=_recording(value, place),
        reference=optional_words(value, "ref", place=place),
    )


def _id(value: JsonObject, place: str) -> str:
    return said_id(value, place) or string(None, f"{place}: 'id'", expected=ID)


def _recording(value: JsonObject, place: str) -> str:
    found = value.get("recording")
    return "" if found is None else string(found, f"{place}: 'recording'")


def _rank(value: JsonObject, place: str) -> int | None:
    rank = value.get("rank")
    if rank is None:
        return None
    if not isinstance(rank, Number) or not rank.is_whole or len(rank.text) > MAX_DIGITS:
        raise DataError(f"{place}: found the rank {str(rank)[:40]!r}; expected a whole number")
    return int(rank.text)


def _features(value: JsonObject, place: str, *, notices: Notices) -> dict[str, float]:
    """All numbers in `scores`; without it, the members that are numbers, but not in quotes."""
    if "scores" not in value:
        for name, each in value.items():
            if name not in NO_SCORES and isinstance(each, str) and is_number(each):
                notices.pass_over(f"numbers in quotes, which are no features ({name!r:.40})", 1)
        numbers = ((name, each) for name, each in value.items() if name not in NO_FEATURES)
        return {
            string(name, place): float(each) for name, each in numbers if isinstance(each, Number)
        }
    scores = value["scores"]
    if not isinstance(scores, dict):
        raise DataError(f"{place}: found no object in 'scores'; expected names with numbers")
    return {
        string(name, place): score_in(said, f"{place}: 'scores': {name[:40]!r}")
        for name, said in scores.items()
    }
