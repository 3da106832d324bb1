"""Google's speech to text: `{"results": [{"alternatives": [{"transcript": "we know"}]}]}`.

Each result is a list; an operation, by which long recordings are recognised, has the results in
its `response`. Documented at cloud.google.com/speech-to-text, RecognizeResponse and
SpeechRecognitionAlternative: `transcript`, `confidence` (only the first alternative of a result is
sure to have one) and `words`. Other members, such as `resultEndTime`, are kept.
"""

from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.json_lists import (
    JsonFormat,
    Record,
    RecordContent,
    Unfolded,
    first_keys,
    within,
)
from charlm.nbest.reading.json_values import Json


class GoogleFormat(JsonFormat):
    """`confidence` is 0 in all alternatives of a result unless each has one above 0.

    0 stands for a confidence that was not set. Such a list has only its order.
    """

    name = "google"
    weights = {"confidence": 1.0}
    path = ("results",)

    def claims(self, sample: Sample) -> bool:
        keys, text = first_keys(sample.lines), "\n".join(sample.lines)
        return (
            "results" in keys
            and "transcripts" not in keys  # Amazon's
            and '"alternatives"' in text
            and '"transcript"' in text
        )

    def unfold(self, value: Json) -> Unfolded | None:
        return within(value, "response", *self.path) or super().unfold(value)

    def content(self, record: Record, source: Source) -> RecordContent | None:
        if "alternatives" not in record.value:
            return None
        candidates = record.candidates(
            "alternatives", text="transcript", score="confidence", what="some", lacking=""
        )
        if not all(each.features.get("confidence", 0) > 0 for each in candidates):
            for each in candidates:
                each.features["confidence"] = 0.0
        return RecordContent(candidates)
