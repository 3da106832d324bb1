"""Amazon Transcribe's alternatives for each segment of a transcription job.

`{"results": {"transcripts": [...], "segments": [{"start_time": "1.04", "end_time": "5.065",
"alternatives": [{"transcript": "We know.", "items": [{"type": "pronunciation", "content": "We",
"confidence": "0.9"}]}]}]}}`; other members are kept. Documented at docs.aws.amazon.com,
transcribe/latest/dg/alternatives.html. The whole file is in memory, since it is one JSON value.
"""

from collections.abc import Iterable
from math import log

from charlm.errors import DataError
from charlm.nbest.reading.format import FEATURE, Sample, Source
from charlm.nbest.reading.json_lists import (
    Candidate,
    JsonFormat,
    Record,
    RecordContent,
    Unfolded,
    first_keys,
    timed_objects,
)
from charlm.nbest.reading.json_values import Json, JsonObject, scores_of, string, words_in
from charlm.nbest.reading.word_times import Span, Timed
from charlm.text.io.lines import number_in

LEAST = 1e-3  # a word's confidence is printed with three digits


class AwsFormat(JsonFormat):
    """The feature `confidence` is the sum of the logarithms of the words' confidences.

    Alternatives have no score of their own: they stand in the order of falling confidence. If one
    lacks confidences of words, it is 0 in its whole list. Lists are numbered from 1.
    """

    name = "aws"
    weights = {"confidence": 1.0}
    path = ("results", "segments")
    times_in = "seconds"

    def claims(self, sample: Sample) -> bool:
        keys = first_keys(sample.lines)
        return "results" in keys and "transcripts" in keys

    def unfold(self, value: Json) -> Unfolded | None:
        """The segments; without any the whole value, so that `content` says what is missing."""
        found = super().unfold(value)
        return Unfolded("", [("", value)], "\n") if found is None else found

    def content(self, record: Record, source: Source) -> RecordContent:
        expected = "some; ask the job for them (ShowAlternatives, MaxAlternatives)"
        found = record.objects("alternatives", member="transcript", what=expected)
        candidates = [
            Candidate(
                ("alternatives", i),
                words_in(each.get("transcript"), f"{where}: 'transcript'"),
                _confidence(each, where) | scores_of(each, FEATURE, where=where),
            )
            for i, (each, where) in enumerate(found)
        ]
        if not all("confidence" in each.features for each in candidates):
            for each in candidates:
                each.features["confidence"] = 0.0
        return RecordContent(candidates)

    def timed(self, hypothesis: Json, place: str, *, frame_shift: float | None) -> Iterable[Timed]:
        """Times in the recording, in seconds; punctuation has none."""
        items = timed_objects(hypothesis, "items", place=place, remedy="ask the job for them")
        for item in items:
            text = string(item.get("content"), f"{place}: 'content'")
            said = [item.get(name) for name in ("start_time", "end_time")]
            times = [number_in(each) for each in said if isinstance(each, str)]
            yield text, Span(*times) if len(times) == len(said) else None


def _confidence(alternative: JsonObject, where: str) -> dict[str, float]:
    items = alternative.get("items")
    if not isinstance(items, list):
        return {}
    said = [
        item.get("confidence")
        for item in items
        if isinstance(item, dict) and item.get("type") == "pronunciation"
    ]
    confidences = [number_in(each) for each in said if isinstance(each, str)]
    if not all(0 <= each <= 1 for each in confidences):  # NaN compares false
        raise DataError(
            f"{where}: found a 'confidence' that is none; expected a number from 0 to 1, as text"
        )
    if len(confidences) < len(said):
        return {}
    return {"confidence": sum(log(max(each, LEAST)) for each in confidences)}
