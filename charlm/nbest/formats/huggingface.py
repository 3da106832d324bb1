"""Results of `generate` of Hugging Face's transformers as JSON, one object per list.

The library writes no file of its own. The layout, with an object on one line or over several, or
all objects in an array, is:
`{"id": "u", "sequences": ["we know", "we do"], "sequences_scores": [-0.3, -0.4]}`. Sequences are
texts (`tokenizer.batch_decode`), not ids.
"""

from charlm.errors import DataError
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.json_arrays import ArraysFormat, Texts
from charlm.nbest.reading.json_lists import Record, first_keys
from charlm.nbest.reading.json_values import words_in


class HuggingFaceFormat(ArraysFormat):
    """`sequences_scores` becomes the feature `score`; other arrays of scores keep their names.

    Without `id`, lists are numbered from 1; `reference` is read. A score is a sum of natural logs
    divided by the number of tokens to the power of `length_penalty`, which is 1 unless `generate`
    was told otherwise. Given the same penalty, the sum is restored from the numbers of tokens in
    `lengths`.
    """

    name = "huggingface"
    weights = {"score": 1.0}
    takes = ("length_penalty",)
    score_array = "sequences_scores"

    def claims(self, sample: Sample) -> bool:
        keys = first_keys(sample.lines)
        return "sequences" in keys and not {"sequences_ids", "no_speech_prob"} & set(keys)

    def texts(self, record: Record) -> Texts:
        found = record.array("sequences", what="one of texts")
        if any(not isinstance(each, str) for each in found):
            raise DataError(
                f"{record.place}: found a sequence that is no text; expected texts; decode the ids "
                "with tokenizer.batch_decode(…, skip_special_tokens=True)"
            )
        return [
            (("sequences", i), words_in(each, f"{record.place}: hypothesis {i + 1}"))
            for i, each in enumerate(found)
        ]
