"""mlm-scoring's lists: `{"u": {"ref": "we know", "hyp_1": {"score": -1.2, "text": "we know"}}}`.

Scores are natural logs of the recogniser. The whole file is in memory, since it is one value.
"""

import re

from charlm.errors import DataError
from charlm.nbest.format import Sample
from charlm.nbest.formats.json_objects import Block, Candidate, ObjectsFormat
from charlm.nbest.formats.json_records import (
    Entry,
    Record,
    first_keys,
    keyed,
    refuse_double,
    scores_of,
    words_in,
)
from charlm.nbest.formats.json_text import Json, pairs

HYP = re.compile(r"hyp_([0-9]{1,9})")


class MlmScoringFormat(ObjectsFormat):
    """The feature is `score`, ranks are the numbers of the keys; `ref` is the reference.

    Re-ranked, the best hypothesis goes to `hyp_1`. Members of other names are left alone.
    """

    name = "mlm-scoring"
    weights = {"score": 1.0}

    def claims(self, sample: Sample) -> bool:
        """The first utterance has a `hyp_1`."""
        return "hyp_1" in first_keys(sample.lines)[1:]

    def unfold(self, text: str, value: Json) -> list[Entry] | None:
        """Each member of the object is an utterance."""
        return keyed(text, value)

    def block(self, record: Record, number: int) -> Block:
        """The members called `hyp_` and a number.

        Raises:
            DataError: one that is no object, or has no text, or comes twice.
        """
        if not record.key:
            raise DataError(f"{record.place}: found an empty id; expected that of an utterance")
        found = list(pairs(record.text))
        refuse_double([key for key, _ in found], record.place)
        candidates = []
        for key, span in found:
            matched, value = HYP.fullmatch(key), record.value[key]
            if matched is None:
                continue
            where = f"{record.place}: {key}"
            if not isinstance(value, dict):
                raise DataError(f"{where}: found no object; expected one with 'score' and 'text'")
            features = scores_of(value, "score", where=where)
            words = words_in(value.get("text"), f"{where}: 'text'")
            candidates.append(Candidate(span, words, features, int(matched[1])))
        said = record.value.get("ref")
        reference = None if said is None else words_in(said, f"{record.place}: 'ref'")
        return Block(record.key, candidates, reference)
