"""SRILM's own lists: `am lm n words` with log10 scores; one file per utterance, named after it.

The number of words is SRILM's, which leaves out pauses and noise; it is kept and not checked.
"""

from charlm.errors import DataError
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import is_number
from charlm.nbest.reading.score_files import UtteranceFormat, first_lines, row_of_scores
from charlm.nbest.reading.templates import OtherLine, Row
from charlm.text.io.lines import split_words


class SrilmFormat(UtteranceFormat):
    """Features am, old_lm, and nwords: a file, or a folder with one file per utterance.

    New scores are written alone, one log10 per line: for a folder, as a folder of scores under the
    same names, as `rescore-reweight` and `nbest-lattice` take them beside the lists.
    """

    name = "srilm"
    weights = {"am": 1.0, "old_lm": 8.0}  # rescore-reweight: lmw 8, wtw 0

    def claims(self, sample: Sample) -> bool:
        """Every line begins with three numbers; a file of digits alone may be what was said."""
        lines = first_lines(sample)
        said = {field for line in lines for field in split_words(line)}
        are_words = not sample.names and all(map(str.isdecimal, said))
        return bool(lines) and all(map(_looks_so, lines)) and not are_words

    def row(self, line: Line, key: str) -> Row | OtherLine:
        fields = split_words(line.text)
        if len(fields) < 3:
            raise DataError(
                f"{line.place}: found {len(fields)} fields; expected an acoustic and a language "
                "model score, a number of words, and words"
            )
        return row_of_scores(line, fields, key=key)


def _looks_so(line: str) -> bool:
    fields = split_words(line)
    return len(fields) >= 3 and all(map(is_number, fields[:2])) and fields[2].isdecimal()
