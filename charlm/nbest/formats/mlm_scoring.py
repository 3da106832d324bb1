"""mlm-scoring's lists: `{"u": {"ref": "we know", "hyp_1": {"score": -1.2, "text": "we know"}}}`.

Scores are natural logs of the recogniser. The whole file is in memory, since it is one value.
"""

import re

from charlm.errors import DataError
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.json_lists import Candidate, JsonFormat, Record, RecordContent, first_keys
from charlm.nbest.reading.json_values import optional_words, scores_of, words_in

HYP = re.compile(r"hyp_([0-9]{1,9})")


class MlmScoringFormat(JsonFormat):
    """The feature is `score`, the numbers in the keys are ranks, and `ref` is the reference.

    When re-ranked, the best hypothesis goes to `hyp_1`. Members of other names are left alone.
    """

    name = "mlm-scoring"
    weights = {"score": 1.0}
    is_keyed = True

    def claims(self, sample: Sample) -> bool:
        return "hyp_1" in first_keys(sample.lines)[1:]

    def content(self, record: Record, source: Source) -> RecordContent:
        candidates = []
        for name, value in record.value.items():
            matched = HYP.fullmatch(name)
            if matched is None:
                continue
            where = f"{record.place}: {name}"
            if not isinstance(value, dict):
                raise DataError(f"{where}: found no object; expected one with 'score' and 'text'")
            words = words_in(value.get("text"), f"{where}: 'text'")
            scores = scores_of(value, "score", where=where)
            candidates.append(Candidate((name, None), words, scores, int(matched[1])))
        return RecordContent(candidates, optional_words(record.value, "ref", place=record.place))
