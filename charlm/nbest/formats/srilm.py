"""SRILM's own lists: `am lm n words`, log10; one file an utterance, which bears its name.

The number of words is SRILM's, which leaves out pauses and noise; it is kept and not checked.
"""

from charlm.errors import DataError
from charlm.nbest.format import Sample
from charlm.nbest.formats.score_files import UtteranceFormat, first_lines
from charlm.nbest.formats.templates import OtherLine, Row
from charlm.nbest.list_lines import Line
from charlm.nbest.policies import LN10, is_number, number, plain_words
from charlm.text.io.lines import split_words


class SrilmFormat(UtteranceFormat):
    """Features am, old_lm, and nwords. A file, or a folder of files, one an utterance.

    With new scores these are written, one log10 a line: from a folder, a folder of scores under the
    same names, as `rescore-reweight` and `nbest-lattice` take them beside the lists.
    """

    name = "srilm"
    weights = {"am": 1.0, "old_lm": 8.0}  # rescore-reweight: lmw 8, wtw 0

    def claims(self, sample: Sample) -> bool:
        lines = first_lines(sample)
        return bool(lines) and all(_looks_so(line) for line in lines)

    def row(self, line: Line, key: str) -> Row | OtherLine:
        fields = split_words(line.text)
        if len(fields) < 3:
            raise DataError(
                f"{line.place}: found {len(fields)} fields; expected an acoustic and a language "
                "model score, a number of words, and words"
            )
        features = {
            "am": LN10 * number(fields[0], f"{line.place}: the acoustic score"),
            "old_lm": LN10 * number(fields[1], f"{line.place}: the language model score"),
            "nwords": number(fields[2], f"{line.place}: the number of words"),
        }
        words = plain_words(" ".join(fields[3:]), line.place)
        return Row(line, key, words, features, line.text)


def _looks_so(line: str) -> bool:
    fields = split_words(line)
    return len(fields) >= 3 and all(map(is_number, fields[:2])) and fields[2].isdecimal()
