"""Results of `decode_beams` of pyctcdecode as JSON, one object per list.

`{"id": "u", "beams": [["we know", null, [["we", [3, 9]], ["know", [11, 20]]], -2.1, -5.4]]}`: a
beam holds the text, the state of the language model (null, since KenLM's is not JSON), the words
with their frames, the logit score and the language-model score; `decode_beams_batch` leaves the
state out. Documented in pyctcdecode/decoder.py (OutputBeam, OutputBeamMPSafe). One object per line
is charlm's own layout.
"""

from collections.abc import Iterable

from charlm.errors import ConfigError, DataError
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.json_arrays import ArraysFormat, Texts
from charlm.nbest.reading.json_lists import Record, first_keys
from charlm.nbest.reading.json_values import Json, score_in, string, words_in
from charlm.nbest.reading.word_times import Span, Timed

MEMBERS = (4, 5)  # of a beam, without the state and with it


class PyctcdecodeFormat(ArraysFormat):
    """Features are `logit` and `lm`, whose sum is what the library calls `lm_score`.

    `lm` is in natural logs, weighted by `alpha`, with `beta` for each word. The two features are
    separated so that each may get its own weight. Without `id`, lists are numbered from 1;
    `reference` is read.
    """

    name = "pyctcdecode"
    weights = {"logit": 1.0, "lm": 1.0}
    times_in = "frames"

    def claims(self, sample: Sample) -> bool:
        return "beams" in first_keys(sample.lines)

    def texts(self, record: Record) -> Texts:
        return [
            (("beams", i), words_in(beam[0], f"{record.place}: hypothesis {i + 1}"))
            for i, beam in enumerate(_beams(record))
        ]

    def timed(self, hypothesis: Json, place: str, *, frame_shift: float | None) -> Iterable[Timed]:
        """Frames of the acoustic model's output, from the first to the one after the last."""
        if frame_shift is None:
            raise ConfigError(
                "--write ctm: times of pyctcdecode are frames; expected their length; give "
                "--frame-shift SECONDS, inputs_to_logits_ratio / sampling_rate of the model (0.02 "
                "for wav2vec 2.0)"
            )
        assert isinstance(hypothesis, list)
        found = hypothesis[-3]
        for each in found if isinstance(found, list) else ():
            word, frames = each if isinstance(each, list) and len(each) == 2 else (None, None)
            if not isinstance(frames, list) or len(frames) != 2:
                raise DataError(
                    f'{place}: found a word without its frames; expected ["we", [3, 9]] for each'
                )
            span = Span(*(frame_shift * score_in(frame, f"{place}: frames") for frame in frames))
            yield string(word, f"{place}: frames"), span

    def _features(self, record: Record, n: int) -> list[dict[str, float]]:
        features = super()._features(record, n)
        for i, beam in enumerate(_beams(record)):
            logit, both = (
                score_in(each, f"{record.place}: hypothesis {i + 1}") for each in beam[-2:]
            )
            features[i] = {"logit": logit, "lm": both - logit, **features[i]}
        return features


def _beams(record: Record) -> list[list[Json]]:
    beams = []
    for i, beam in enumerate(record.array("beams", what="what decode_beams gives"), 1):
        if not isinstance(beam, list) or len(beam) not in MEMBERS:
            raise DataError(
                f"{record.place}: hypothesis {i}: found no beam; expected an array of text, state, "
                "frames, logit score and language-model score"
            )
        beams.append(beam)
    return beams
