"""Best hypotheses alone, one line an utterance: Kaldi's `utt1 we know`, sclite's `we know (utt1)`.

References come in the same two forms and are read by the same rules.
"""

import re
from collections.abc import Collection, Iterator

from charlm.errors import DataError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.list_lines import Line, lines_of
from charlm.nbest.reading.policies import check_options, plain_words
from charlm.nbest.reading.score_files import ScoreFileFormat
from charlm.nbest.reading.templates import OtherLine, Row
from charlm.settings import shown

COMMENT = ";;"  # of NIST's formats, text (utt) and STM
ALTERNATIVES = {"{", "/", "}"}  # NIST's: `{ um / uh }`
# A digit tells an id from (laughs), and something else than digits from the year of a film.
TRN = re.compile(r"(?:.*[ ])?\((?![0-9]+\))([^ ()0-9]*+[0-9][^ ()]*)\) *")


class OneBestFormat(ScoreFileFormat):
    """Each list is one hypothesis. New scores are written alone, one log10 per line, in order."""

    def read(self, source: Source) -> Iterator[NbestList]:
        check_options(source, self.name, "features")
        with lines_of(source) as lines:
            yield from self._gathered(self._rows(lines), source, lines.name)

    def _rows(self, lines: Iterator[Line]) -> Iterator[Row | OtherLine]:
        seen: set[str] = set()
        for line in lines:
            row = OtherLine(line) if not line.text.strip(" \t") else self.row(line, "")
            if isinstance(row, Row):
                if row.id in seen:
                    raise DataError(
                        f"{line.place}: found the id {shown(row.id)} again; expected one line for "
                        "each id; --format rnnlm takes several, with ids before the words"
                    )
                seen.add(row.id)
            yield row


class KaldiTextFormat(OneBestFormat):
    """An id, then words; an id alone is an empty hypothesis. Blank lines are passed over."""

    name = "kaldi-text"

    def claims(self, sample: Sample) -> bool:
        """Nothing: any sentences look like it."""
        return False

    def row(self, line: Line, key: str) -> Row | OtherLine:
        id, text = id_before(line.text)
        return Row(line, id, plain_words(text, line.place), {}, line.text)


class TrnFormat(OneBestFormat):
    """Words, then an id in parentheses. Blank lines and those that begin with `;;` are comments."""

    name = "trn"

    def claims(self, sample: Sample) -> bool:
        """Several lines, with an id of its own in parentheses at the end of each; no TAB."""
        lines = [line for line in sample.lines if line.strip(" ") and line[:2] != COMMENT]
        found = [TRN.fullmatch(line) for line in lines if "\t" not in line and "|||" not in line]
        ids = {each[1] for each in found if each}
        return 1 < len(ids) == len(lines)

    def row(self, line: Line, key: str) -> Row | OtherLine:
        if line.text.startswith(COMMENT):
            return OtherLine(line)
        id, text = id_behind(line.text)
        if not id:
            raise DataError(f"{line.place}: {shown(line.text)}; expected text (utt)")
        words = plain_words(text, line.place)
        refuse_alternatives(words, text=text, place=line.place)
        return Row(line, id, words, {}, line.text)


def id_before(line: str) -> tuple[str, str]:
    """The id and the text of a line of Kaldi's."""
    id, _, text = line.strip(" \t").replace("\t", " ").partition(" ")
    return id, text


def id_behind(line: str) -> tuple[str, str]:
    """The id and the text of a line of sclite's; the id is empty where none ends the line."""
    text, bracket, rest = line.rstrip(" \t").rpartition("(")
    return (rest[:-1].strip(" \t"), text) if bracket and rest.endswith(")") else ("", line)


def refuse_alternatives(words: Collection[str], *, text: str, place: str) -> None:
    """Raises DataError for words of NIST's that leave open what was said."""
    if ALTERNATIVES.issubset(words):
        raise DataError(
            f"{place}: {shown(text.strip())}; expected one text, and no alternatives; write one"
        )
