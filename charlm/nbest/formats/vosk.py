"""Vosk's results with alternatives: `{"alternatives": [{"confidence": 1.5, "text": "we know"}]}`.

A confidence is like a log-probability, but of no known scale (vosk-api, issue 604): its weight must
be tuned. Results come one after another, on one line or on many; an utterance has no id there.
"""

from charlm.errors import DataError
from charlm.nbest.format import Sample
from charlm.nbest.formats.json_objects import Block, Candidate, ObjectsFormat
from charlm.nbest.formats.json_records import Record, first_keys, running_id, scores_of, words_in
from charlm.nbest.formats.json_text import elements, members


class VoskFormat(ObjectsFormat):
    """The feature is `confidence`; the id is the member `id`, or the running number of the result.

    Partial results (`{"partial": …}`) are no lists and are passed on as they are.
    """

    name = "vosk"
    weights = {"confidence": 1.0}

    def claims(self, sample: Sample) -> bool:
        """The first object has `alternatives`; partial results may come before it."""
        keys = first_keys(sample.lines)
        return "alternatives" in keys or (
            "partial" in keys and any('"alternatives"' in line for line in sample.lines)
        )

    def block(self, record: Record, number: int) -> Block | None:
        """The alternatives; None of a partial result.

        Raises:
            DataError: no alternatives, or one without its text.
        """
        if "partial" in record.value:
            return None
        found = record.value.get("alternatives")
        if not isinstance(found, list):
            raise DataError(
                f"{record.place}: found no array 'alternatives'; expected one; let the recogniser "
                "give several (SetMaxAlternatives)"
            )
        spans = elements(record.text, members(record.text)["alternatives"].start)
        candidates = []
        for rank, (each, span) in enumerate(zip(found, spans, strict=True), 1):
            where = f"{record.place}: hypothesis {rank}"
            if not isinstance(each, dict):
                raise DataError(f"{where}: found no object; expected one with 'text'")
            features = scores_of(each, "confidence", where=where)
            candidates.append(Candidate(span, words_in(each.get("text"), where), features))
        return Block(running_id(record.value, number, place=record.place), candidates)
