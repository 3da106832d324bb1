"""Lists of the CUED-RNNLM toolkit, `id am lm n words`, and score files with one log10 per line.

The toolkit ranks by `am + 12·lm`, where lm is a log10. Both scores are therefore read as log10,
whatever base the recogniser used: only with one base for both does the scale keep its meaning.
"""

from charlm.errors import DataError
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import is_number
from charlm.nbest.reading.score_files import ScoreFileFormat, row_of_scores
from charlm.nbest.reading.templates import OtherLine, Row
from charlm.text.io.lines import split_words


class CuedFormat(ScoreFileFormat):
    """Features am, old_lm, and nwords as given in the line, which does not count `<s>` and `</s>`.

    New scores are written alone, one log10 per line, in the list's order.
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
