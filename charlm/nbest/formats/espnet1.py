"""ESPnet 1's data.json: `{"utts": {"u": {"output": [{"rec_text": "▁we<eos>", "score": -1}]}}}`.

The score is the decoder's weighted sum (natural logs of attention, CTC and language model, with the
bonus for length); its parts are not written. The whole file is in memory, since it is one value.
"""

import re

from charlm.errors import DataError
from charlm.nbest.format import Sample
from charlm.nbest.formats.json_objects import Block, Candidate, ObjectsFormat
from charlm.nbest.formats.json_records import Entry, Record, first_keys, keyed, scores_of, words_in
from charlm.nbest.formats.json_text import Json, elements, members

MARKS = re.compile(r"<(?:sos/)?eos>|<blank>")


class Espnet1Format(ObjectsFormat):
    """The feature is `score`, the text `rec_text`: `▁` begins a word, `<eos>` ends the sentence.

    The reference is `text`, which ESPnet writes into each hypothesis.
    """

    name = "espnet1"
    weights = {"score": 1.0}

    def claims(self, sample: Sample) -> bool:
        """The file is an object that begins with `utts`."""
        return first_keys(sample.lines)[:1] == ("utts",)

    def unfold(self, text: str, value: Json) -> list[Entry] | None:
        """The members of `utts`."""
        if not isinstance(value, dict) or "utts" not in value:
            return None
        return keyed(text, value["utts"], start=members(text)["utts"].start)

    def block(self, record: Record, number: int) -> Block:
        """The hypotheses in `output`.

        Raises:
            DataError: no array there, a hypothesis without `rec_text`, or a score that is none.
        """
        found = record.value.get("output")
        if not isinstance(found, list):
            raise DataError(
                f"{record.place}: found no array 'output' for {record.key[:80]!r}; expected the "
                "hypotheses of ESPnet's recognition"
            )
        if not record.key:
            raise DataError(f"{record.place}: found an empty id; expected that of an utterance")
        spans = elements(record.text, members(record.text)["output"].start)
        candidates, reference = [], None
        for rank, (each, span) in enumerate(zip(found, spans, strict=True), 1):
            where = f"{record.place}: hypothesis {rank}"
            if not isinstance(each, dict):
                raise DataError(f"{where}: found no object; expected one with 'rec_text'")
            features = scores_of(each, "score", where=where)
            words = recognised(words_in(each.get("rec_text"), f"{where}: 'rec_text'"))
            candidates.append(Candidate(span, words, features))
            if reference is None and each.get("text") is not None:
                reference = words_in(each["text"], f"{where}: 'text'")
        return Block(record.key, candidates, reference)


def recognised(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words as people write them: pieces are joined and ESPnet's own marks left out."""
    text = MARKS.sub("", " ".join(words)).replace("\N{LOWER ONE EIGHTH BLOCK}", " ")
    return type(words)(word for word in text.split(" ") if word)
