"""HyPoradise's lists: `[{"input": ["we know", "we no"], "output": "we know"}]`.

Lists are filled up to five with random copies, so duplicates say nothing about a recogniser. A set
is one array and in memory as a whole; objects on lines of their own are read one by one.
"""

from charlm.errors import DataError
from charlm.nbest.format import Sample
from charlm.nbest.formats.json_arrays import ArraysFormat
from charlm.nbest.formats.json_records import Record, first_keys, words_in
from charlm.nbest.formats.json_text import Json, Span, elements, members

EMPTY = ("<UNK>",)  # what an empty text is written as


class HyporadiseFormat(ArraysFormat):
    """Features are the arrays of scores, as `score` and `am_score`: means over tokens, it seems.

    Most sets have none: rank is all that the recogniser said. Later sets have `input1`, the best,
    and `input2`, an array of the others. `output` is the reference; a text `<UNK>` is empty.
    Without `id`, lists are numbered from 1.
    """

    name = "hyporadise"
    reference_key = "output"

    def claims(self, sample: Sample) -> bool:
        """The first object has `input`, or `input1` and `input2`, and `output`."""
        keys = set(first_keys(sample.lines))
        return bool(keys >= {"input"} or keys >= {"input1", "input2"}) and (
            "output" in keys or len(sample.lines) == 1
        )

    def reference(self, record: Record) -> tuple[str, ...] | None:
        """The member `output`."""
        said = record.value.get(self.reference_key)
        return None if said is None else _words(said, f"{record.place}: 'output'")

    def texts(self, record: Record) -> tuple[list[tuple[str, ...]], tuple[Span, ...]]:
        """The inputs.

        Raises:
            DataError: none, or the others as one text, in which they cannot be told apart.
        """
        value, at = record.value, members(record.text)
        first, key = [], "input"
        if "input1" in value:
            first, key = [(value["input1"], at["input1"])], "input2"
        rest = value.get(key)
        if not isinstance(rest, list):
            raise DataError(
                f"{record.place}: found no array {key!r}; expected the hypotheses, each a text of "
                "its own"
            )
        found = [*first, *zip(rest, elements(record.text, at[key].start), strict=True)]
        words = [
            _words(each, f"{record.place}: hypothesis {i}") for i, (each, _) in enumerate(found, 1)
        ]
        return words, tuple(span for _, span in found)


def _words(value: Json, where: str) -> tuple[str, ...]:
    words = words_in(value, where)
    return () if words == EMPTY else words
