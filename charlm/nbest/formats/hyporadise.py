"""HyPoradise's lists: `[{"input": ["we know", "we no"], "output": "we know"}]`.

Lists are filled up to five with random copies, so duplicates say nothing about a recogniser. A set
is one array, held in memory as a whole; objects on lines of their own are read one by one.
"""

import re

from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.json_arrays import ArraysFormat, Texts
from charlm.nbest.reading.json_lists import Record, Slot, first_keys
from charlm.nbest.reading.json_values import Json, words_in

ARRAY = re.compile(r'"input"\s*:\s*\[')  # of hypotheses; in other JSON, "input" is a text
EMPTY = ("<UNK>",)  # how an empty text is written


class HyporadiseFormat(ArraysFormat):
    """Features are arrays of scores such as `score` and `am_score`, which seem to be token means.

    Most sets have no scores, only ranks. Later sets have `input1`, the best hypothesis, and
    `input2`, an array of the others. `output` is the reference; `<UNK>` stands for an empty text.
    Without `id`, lists are numbered from 1.
    """

    name = "hyporadise"
    reference_key = "output"

    def claims(self, sample: Sample) -> bool:
        keys = set(first_keys(sample.lines))
        has_array = "input" in keys and ARRAY.search("\n".join(sample.lines)) is not None
        return has_array or keys >= {"input1", "input2"}

    def reference(self, record: Record) -> tuple[str, ...] | None:
        said = record.value.get(self.reference_key)
        return None if said is None else _words(said, f"{record.place}: 'output'")

    def texts(self, record: Record) -> Texts:
        is_split = "input1" in record.value
        key = "input2" if is_split else "input"
        others = record.array(key, what="the hypotheses, each a text of its own")
        found: list[tuple[Slot, Json]] = [((key, i), each) for i, each in enumerate(others)]
        if is_split:
            found.insert(0, (("input1", None), record.value["input1"]))
        return [
            (slot, _words(each, f"{record.place}: hypothesis {i}"))
            for i, (slot, each) in enumerate(found, 1)
        ]


def _words(value: Json, where: str) -> tuple[str, ...]:
    words = words_in(value, where)
    return () if words == EMPTY else words
