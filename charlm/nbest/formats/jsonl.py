"""JSONL, in two forms: an object a list, or an object a hypothesis.

`{"id": "u", "hyps": [{"text": "we know", "am": -12.3}], "ref": "we know"}` or, line by line,
`{"id": "u", "rank": 1, "text": "we know", "scores": {"am": -12.3}}`. Numbers are in nats, larger is
better. A list of the first form is handed on at once, of the second when another id comes.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import nan

from charlm.errors import DataError
from charlm.nbest.format import FEATURE, Piece, Sample, Source
from charlm.nbest.formats.json_text import (
    Json,
    Span,
    elements,
    members,
    numeric,
    parsed,
    string,
    with_member,
)
from charlm.nbest.formats.templates import Frame, FramedFormat, Gathering, Loose, Row, by_rank
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.list_lines import Line, lines_of
from charlm.nbest.policies import ids_once, only, plain_words, refuse_twice, settled, written

NO_FEATURES = ("id", "rank")  # numbers of a hypothesis that are none


class JsonlFormat(FramedFormat):
    """Features are the numbers in `scores`, or without it those of the hypothesis itself.

    The new one goes where they are, in nats. Hypotheses of a list may have different features;
    `null` is NaN. They are read in order of `rank`, if all have one; re-ranked ones get the ranks
    of the places where they go. Other members stay as they are; `recording` and `ref` are read.
    """

    name = "jsonl"

    def __init__(self) -> None:
        self._rest = ""  # blank lines below the last list, which is handed on before they come

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

    def read(self, source: Source) -> Iterator[NbestList]:
        """The lists, of the form that the first line has.

        Raises:
            ConfigError: names of columns, or further files.
            DataError: FILE:LINE of what is not an object of that form.
        """
        only(source, self.name)
        with lines_of(source) as lines:
            blank: list[Line] = []
            for first in lines:
                if first.text.strip(" \t"):
                    again = chain(blank, [first], lines)
                    if "hyps" in _object(first):
                        yield from self._nested(again, source)
                    else:
                        gathering = Gathering(source, name=lines.name, ragged=True)
                        yield from gathering.lists(map(_flat, again))
                    return
                blank.append(first)
            self._rest = "".join(line.raw for line in blank)

    def _nested(self, lines: Iterable[Line], source: Source) -> Iterator[NbestList]:
        once = ids_once()
        blank = ""
        for line in lines:
            if not line.text.strip(" \t"):
                blank += line.raw
                continue
            found = _list(line, blank, source)
            once(found.id, line.place)
            yield found
            blank = ""
        self._rest = blank

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """A piece a list; what this object read last below the last list comes last."""
        yield from super().write(lists, reranked=reranked)
        rest, self._rest = self._rest, ""
        if rest:
            yield Piece("", rest)

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        """The object, with the score where its features are."""
        text, there = hypothesis.original, at.original
        assert isinstance(text, str)
        assert isinstance(there, str)
        spans, changes = members(text), {}
        if at is not hypothesis and "rank" in spans and "rank" in members(there):
            changes[spans["rank"]] = there[slice(*members(there)["rank"])]
        if score is not None:
            refuse_twice(hypothesis)
            into, value = spans.get("scores"), written(score, hypothesis)
            if into is None:
                return with_member(_changed(text, changes), FEATURE, value=value)
            changes[into] = with_member(text[slice(*into)], FEATURE, value=value)
        return _changed(text, changes)


def _changed(text: str, changes: Mapping[Span, str]) -> str:
    """The text with others at some places."""
    for span in sorted(changes, reverse=True):
        text = text[: span.start] + changes[span] + text[span.end :]
    return text


def _object(line: Line) -> dict[str, Json]:
    value = parsed(line.text, line.place)
    if not isinstance(value, dict):
        raise DataError(f"{line.place}: found no object; expected one a line, as {{...}}")
    return value


def _flat(line: Line) -> Row | Loose:
    if not line.text.strip(" \t"):
        return Loose(line)
    value = _object(line)
    if "hyps" in value:
        raise DataError(
            f"{line.place}: found a whole list among single hypotheses; expected one form in a file"
        )
    return Row(
        line,
        _id(value, line.place),
        _text(value, line.place),
        _features(value, line.place),
        line.text,
        rank=_rank(value, line.place),
        recording=_optional(value, "recording", line.place) or "",
        reference=_reference(value, line.place),
    )


def _list(line: Line, blank: str, source: Source) -> NbestList:
    """The list that a line is."""
    value = _object(line)
    hyps = value.get("hyps")
    if not isinstance(hyps, list) or not hyps or not all(isinstance(h, dict) for h in hyps):
        raise DataError(
            f"{line.place}: found no hypotheses in 'hyps'; expected a list of objects, at least one"
        )
    found = [hyp for hyp in hyps if isinstance(hyp, dict)]
    spans = elements(line.text, members(line.text)["hyps"].start)
    places = [f"{line.place}: hypothesis {i}" for i in range(1, len(found) + 1)]
    order = by_rank([_rank(hyp, place) for hyp, place in zip(found, places, strict=True)])
    key = _id(value, line.place)
    features = settled(
        key,
        [_features(found[i], places[i]) for i in order],
        places=[places[i] for i in order],
        on_nan=source.on_nan,
        notices=source.notices,
        ragged=True,
    )
    edges = [0, *(edge for span in spans for edge in span), len(line.text)]
    gaps = [line.text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]
    gaps[0], gaps[-1] = blank + line.start + gaps[0], gaps[-1] + line.end
    return NbestList(
        key,
        tuple(
            Hypothesis(
                _text(found[i], places[i]),
                numbers,
                places[i],
                line.text[slice(*spans[i])],
            )
            for i, numbers in zip(order, features, strict=True)
        ),
        recording=_optional(value, "recording", line.place) or "",
        reference=_reference(value, line.place),
        original=Frame(tuple(gaps), tuple(order)),
    )


def _id(value: dict[str, Json], place: str) -> str:
    found = value.get("id")
    key = str(found) if type(found) is int else string(found, f"{place}: 'id'")
    if not key:
        raise DataError(f"{place}: found an empty 'id'; expected the name of an utterance")
    return key


def _text(value: dict[str, Json], place: str) -> tuple[str, ...]:
    return plain_words(string(value.get("text"), f"{place}: 'text'"), place)


def _optional(value: dict[str, Json], name: str, place: str) -> str | None:
    found = value.get(name)
    return None if found is None else string(found, f"{place}: {name!r}")


def _reference(value: dict[str, Json], place: str) -> tuple[str, ...] | None:
    text = _optional(value, "ref", place)
    return None if text is None else plain_words(text, f"{place}: 'ref'")


def _rank(value: dict[str, Json], place: str) -> int | None:
    rank = value.get("rank")
    if rank is not None and type(rank) is not int:
        raise DataError(f"{place}: found the rank {str(rank)[:40]!r}; expected a whole number")
    return rank


def _features(value: dict[str, Json], place: str) -> dict[str, float]:
    """The numbers in `scores`, all; without it those members that are numbers."""
    if "scores" not in value:
        found = {name: numeric(number) for name, number in value.items() if name not in NO_FEATURES}
        return {string(name, place): number for name, number in found.items() if number is not None}
    scores = value["scores"]
    if not isinstance(scores, dict):
        raise DataError(f"{place}: found no object in 'scores'; expected names with numbers")
    features = {}
    for name, said in scores.items():
        number = nan if said is None else numeric(said)
        if number is None:
            raise DataError(
                f"{place}: found {str(said)[:40]!r} for the score {name!r}; expected a number"
            )
        features[string(name, place)] = number
    return features
