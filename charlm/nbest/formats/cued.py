"""Lists of the CUED-RNNLM toolkit: `id am lm n words`, and beside them a log10 a line.

The toolkit weighs `am + 12·lm`, its lm a log10; so both are read as log10, whatever base the
recogniser had: only with the same base for both does the toolkit's scale mean what it does there.
"""

from charlm.errors import DataError
from charlm.nbest.format import Sample
from charlm.nbest.formats.score_files import ScoreFileFormat, row_of_scores
from charlm.nbest.formats.templates import OtherLine, Row
from charlm.nbest.list_lines import Line
from charlm.nbest.policies import is_number
from charlm.text.io.lines import split_words


class CuedFormat(ScoreFileFormat):
    """Features am, old_lm, and nwords as the line counts them; `<s>` and `</s>` are no words.

    With new scores these are written, one log10 a line, in their order.
    """

    name = "cued"
    weights = {"am": 1.0, "old_lm": 12.0}  # -lmscale; -ip is 0

    def claims(self, sample: Sample) -> bool:
        return bool(sample.lines) and all(_looks_so(line) for line in sample.lines)

    def row(self, line: Line, key: str) -> Row | OtherLine:
        fields = split_words(line.text)
        if len(fields) < 4:
            raise DataError(
                f"{line.place}: found {len(fields)} fields; expected an id, an acoustic and a "
                "language model score, a number of words, and words"
            )
        return row_of_scores(line, fields[1:], key=fields[0])


def _looks_so(line: str) -> bool:
    fields = split_words(line)
    if len(fields) < 4 or not all(is_number(field) for field in fields[1:4]):
        return False
    words = [word for word in fields[4:] if word not in ("<s>", "</s>")]
    return fields[3] == str(len(words))
