"""Vosk's results with alternatives: `{"alternatives": [{"confidence": 1.5, "text": "we know"}]}`.

A confidence is like a log-probability, but of no known scale (vosk-api, issue 604): its weight must
be tuned. Results follow each other, on one line or on many; Vosk gives utterances no ids.
"""

from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.json_lists import JsonFormat, Record, RecordContent, first_keys


class VoskFormat(JsonFormat):
    """The feature is `confidence`; the id is the member `id`, or the running number of the result.

    Partial results (`{"partial": …}`) are not lists and are passed on as they are.
    """

    name = "vosk"
    weights = {"confidence": 1.0}

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
