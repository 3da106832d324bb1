"""ESPnet 1's data.json: `{"utts": {"u": {"output": [{"rec_text": "▁we<eos>", "score": -1}]}}}`.

The score is the decoder's weighted sum (natural logs of attention, CTC and language model, with the
bonus for length); its parts are not written. The whole file is in memory, since it is one value.
"""

import re

from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.json_lists import JsonFormat, Record, RecordContent, first_keys
from charlm.nbest.reading.json_values import optional_words

MARKS = re.compile(r"<(?:sos/)?eos>|<blank>")


class Espnet1Format(JsonFormat):
    """The feature is `score`, the text is `rec_text`: `▁` begins a word, `<eos>` ends the sentence.

    The reference is `text`, which ESPnet writes into each hypothesis.
    """

    name = "espnet1"
    weights = {"score": 1.0}
    path, is_keyed = ("utts",), True

    def claims(self, sample: Sample) -> bool:
        return first_keys(sample.lines)[:1] == ("utts",)

    def content(self, record: Record, source: Source) -> RecordContent:
        expected = "the hypotheses of ESPnet's recognition"
        found = record.objects("output", member="rec_text", what=expected)
        hypotheses = record.candidates("output", text="rec_text", score="score", what=expected)
        candidates = [each._replace(words=recognised(each.words)) for each in hypotheses]
        references = (optional_words(each, "text", place=where) for each, where in found)
        reference = next((words for words in references if words is not None), None)
        return RecordContent(candidates, reference)


def recognised(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words as people write them: pieces are joined and ESPnet's own marks left out."""
    text = MARKS.sub("", " ".join(words)).replace("\N{LOWER ONE EIGHTH BLOCK}", " ")
    return type(words)(word for word in text.split(" ") if word)  # may be StrippedWords
