"""Azure speech to text in its detailed form: one object per phrase, with hypotheses in `NBest`.

`{"RecognitionStatus": "Success", "Offset": 0, "Duration": 1, "NBest": [{"Confidence": 0.9,
"Lexical": "we know", "ITN": "we know", "MaskedITN": "we know", "Display": "We know."}]}` is the
form of the REST API for short audio and of the SDK's JSON result. A batch transcription has its
phrases in `recognizedPhrases`, each with `nBest` and names in lower case. Documented at
learn.microsoft.com, azure/ai-services/speech-service: rest-speech-to-text-short,
batch-transcription-get.
"""

from collections.abc import Iterable

from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.json_lists import (
    JsonFormat,
    Record,
    RecordContent,
    Unfolded,
    first_keys,
    timed_objects,
    within,
)
from charlm.nbest.reading.json_values import Json, score_in, string
from charlm.nbest.reading.word_times import Span, Timed

SHORT = ("NBest", "Lexical", "Confidence")
BATCH = ("nBest", "lexical", "confidence")
SHORT_TIMES = ("Words", "Word", "Offset", "Duration")
BATCH_TIMES = ("words", "word", "offsetInTicks", "durationInTicks")
TICKS = 1e7  # in a second
ASK = "ask the service for timestamps of words"


class AzureFormat(JsonFormat):
    """The text is `Lexical`, the recognised words; the feature is `Confidence`, from 0 to 1.

    Phrases without hypotheses, such as silence, are passed on unchanged. Lists are numbered from 1.
    """

    name = "azure"
    weights = {"confidence": 1.0}
    times_in = "seconds"

    def claims(self, sample: Sample) -> bool:
        """The first object has `NBest`, or phrases; silence may come before it.

        A batch begins with its whole text, in four forms, which may be longer than the sample.
        """
        keys = set(first_keys(sample.lines))
        return not keys.isdisjoint(("recognizedPhrases", "combinedRecognizedPhrases")) or (
            ("NBest" in keys or "RecognitionStatus" in keys)
            and any('"NBest"' in line for line in sample.lines)
        )

    def unfold(self, value: Json) -> Unfolded | None:
        return within(value, "recognizedPhrases") or super().unfold(value)

    def content(self, record: Record, source: Source) -> RecordContent | None:
        array, text, confidence = BATCH if BATCH[0] in record.value else SHORT
        if array not in record.value:
            return None
        return RecordContent(record.candidates(array, text=text, score=confidence, what="some"))

    def timed(self, hypothesis: Json, place: str, *, frame_shift: float | None) -> Iterable[Timed]:
        """Times in the recording, out of ticks."""
        is_short = isinstance(hypothesis, dict) and SHORT[1] in hypothesis
        array, text, *ticks = SHORT_TIMES if is_short else BATCH_TIMES
        for each in timed_objects(hypothesis, array, times=ticks, place=place, remedy=ASK):
            start, duration = (score_in(each[name], f"{place}: {name!r}") for name in ticks)
            span = Span(start / TICKS, (start + duration) / TICKS)
            yield string(each.get(text), f"{place}: {text!r}"), span
