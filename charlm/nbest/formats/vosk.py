"""Vosk's results with alternatives: `{"alternatives": [{"confidence": 1.5, "text": "we know"}]}`.

With SetWords(True), an alternative also has `"result": [{"word": "we", "start": 0.1, "end": 0.3}]`.
A confidence is like a log-probability, but of no known scale (vosk-api, issue 604): its weight must
be tuned. Each result has a line, or several, of its own; Vosk gives utterances no ids.
"""

from collections.abc import Iterable

from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.json_lists import (
    JsonFormat,
    Record,
    RecordContent,
    first_keys,
    timed_objects,
)
from charlm.nbest.reading.json_values import Json, score_in, string
from charlm.nbest.reading.word_times import Span, Timed


class VoskFormat(JsonFormat):
    """The feature is `confidence`; the id is the member `id`, or the running number of the result.

    Partial results (`{"partial": …}`) are not lists and are passed on as they are.
    """

    name = "vosk"
    weights = {"confidence": 1.0}
    times_in = "seconds"

    def claims(self, sample: Sample) -> bool:
        """The first object has `alternatives`; partial results may come before it."""
        keys = first_keys(sample.lines)
        return "alternatives" in keys or (
            "partial" in keys and any('"alternatives"' in line for line in sample.lines)
        )

    def content(self, record: Record, source: Source) -> RecordContent | None:
        if "partial" in record.value:
            return None
        expected = "one; let the recogniser give several (SetMaxAlternatives)"
        return RecordContent(
            record.candidates("alternatives", text="text", score="confidence", what=expected)
        )

    def timed(self, hypothesis: Json, place: str, *, frame_shift: float | None) -> Iterable[Timed]:
        """Times from the start of what the recogniser was given, in seconds."""
        names, remedy = ("start", "end"), "let the recogniser give them (SetWords)"
        for each in timed_objects(hypothesis, "result", times=names, place=place, remedy=remedy):
            times = (score_in(each[name], f"{place}: {name!r}") for name in names)
            yield string(each.get("word"), f"{place}: 'word'"), Span(*times)
