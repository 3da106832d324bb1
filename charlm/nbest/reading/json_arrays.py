"""JSON in which a list's texts and scores are parallel arrays; the new scores are one more array.

When a list is re-ranked, the elements of all arrays with one element per hypothesis move together.
"""

import re
from abc import abstractmethod
from collections.abc import Sequence

from charlm.errors import DataError
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.reading.format import FEATURE, Source
from charlm.nbest.reading.json_lists import (
    Candidate,
    JsonFormat,
    JsonList,
    Record,
    RecordContent,
    Slot,
    new_score,
)
from charlm.nbest.reading.json_values import Json, JsonObject, Number, optional_words, score_in

MAX_LENGTH = 1e9  # of a text, in tokens
SCORES = re.compile(rf"score|log_?prob|^{FEATURE}$")

Texts = Sequence[tuple[Slot, tuple[str, ...]]]


class ArraysFormat(JsonFormat):
    """The base of formats that say where the texts are.

    Arrays with one number per hypothesis are features if `score`, `logprob` or `log_prob` is in
    their name; arrays of as many words are not moved, since they may be a reference.
    """

    reference_key = "reference"
    score_array = ""  # the array that becomes the feature `score`; others keep their names

    @abstractmethod
    def texts(self, record: Record) -> Texts:
        """Where the text of each hypothesis stands, and its words.

        Raises:
            DataError: FILE:LINE of what is missing.
        """

    def reference(self, record: Record) -> tuple[str, ...] | None:
        return optional_words(record.value, self.reference_key, place=record.place)

    def lengths(self, record: Record, n: int) -> Sequence[Json]:
        """The number of tokens that each score was divided by.

        Raises:
            DataError: no array `lengths` with the numbers of tokens, the end included.
        """
        lengths = record.value.get("lengths")
        if not isinstance(lengths, list) or len(lengths) != n:
            raise DataError(
                f"{record.place}: found no array 'lengths' of {n} numbers; expected those of the "
                "tokens that were generated, since a length penalty is to be undone; write them "
                "into the list"
            )
        return lengths

    def content(self, record: Record, source: Source) -> RecordContent:
        texts = self.texts(record)
        features = self._features(record, len(texts)) if texts else []
        scores = record.value.get(self.score_array)
        may_lack = scores == [] or (source.allow_missing and scores is None)
        if source.length_penalty and texts and not may_lack:
            record.array(self.score_array, what="the scores that were divided by the length")
            lengths = self.lengths(record, len(texts))
            features = _summed(record, features, lengths=lengths, penalty=source.length_penalty)
        candidates = [
            Candidate(slot, words, found)
            for (slot, words), found in zip(texts, features, strict=True)
        ]
        return RecordContent(candidates, self.reference(record))

    def _features(self, record: Record, n: int) -> list[dict[str, float]]:
        results: list[dict[str, float]] = [{} for _ in range(n)]
        for name, value in record.value.items():
            if not isinstance(value, list) or not SCORES.search(name):
                continue
            if name == self.score_array and not value:
                continue  # the decoder was not asked for scores
            if name != self.score_array and any(isinstance(each, list) for each in value):
                continue  # of tokens, as transition_scores
            if len(value) != n:
                raise DataError(
                    f"{record.place}: found {len(value)} numbers in {name[:40]!r} for {n} "
                    "hypotheses; expected one each"
                )
            for i, said in enumerate(value):
                where = f"{record.place}: hypothesis {i + 1}: {name[:40]!r}"
                feature = "score" if name == self.score_array else name
                if feature in results[i]:
                    raise DataError(
                        f"{record.place}: found both 'score' and {self.score_array!r}; expected "
                        "one, since either is the feature 'score'; rename or drop the other"
                    )
                results[i][feature] = score_in(said, where)
        return results

    def changed(self, found: JsonList, item: Rescored, *, order: Sequence[int]) -> JsonObject:
        value = super().changed(found, item, order=order)
        for name, array in found.record.value.items():
            if (
                isinstance(array, list)
                and len(array) == len(order)
                and name != self.reference_key
                and not any(isinstance(each, str) for each in array)
            ):
                value[name] = [array[which] for which in order]
        if item.scores:
            hypotheses = item.nbest.hypotheses
            value[FEATURE] = [new_score(item.scores[each], hypotheses[each]) for each in order]
        return value

    def placed(self, hypothesis: Json, score: Number | None, *, at: Json) -> Json:
        """A text holds no score."""
        return hypothesis


def _summed(
    record: Record, features: list[dict[str, float]], *, lengths: Sequence[Json], penalty: float
) -> list[dict[str, float]]:
    """The features with the decoder's score times its length to the power of `penalty`.

    Scores of other arrays, such as charlm's, are sums already.
    """
    results = []
    for found, said in zip(features, lengths, strict=True):
        length = score_in(said, f"{record.place}: 'lengths'")
        if not 1 <= length <= MAX_LENGTH:
            raise DataError(
                f"{record.place}: found the length {length:g}; expected that of a text, 1 or more"
            )
        results.append({**found, "score": found["score"] * length**penalty})
    return results
