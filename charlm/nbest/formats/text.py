"""Plain sentences: each line is a list of its own with one hypothesis; its id is its number."""

import re
from collections.abc import Iterator

from charlm.nbest.hypotheses import NbestList
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import plain_words
from charlm.nbest.reading.score_files import ScoreFileFormat
from charlm.nbest.reading.templates import OtherLine, Row
from charlm.text.corpus.normalisation.labels import BRACED
from charlm.text.io.lines import split_words

JSON_ARRAYS = re.compile(r'\[+["{]')  # of arrays too, as beams and pipelines give them
IN_PARENTHESES = re.compile(r"\([^()]+\)")  # sclite's ids stand so behind the words
LOOKED_AT = 1000  # sentences that are checked for an id at the beginning


class TextFormat(ScoreFileFormat):
    """Sentences. Scores are written alone, one log10 per line: line n for sentence n.

    A blank line is an empty sentence. Detected if there are no marks of other formats, and at least
    half of the lines do not begin with a word that may be an id.
    """

    name = "text"
    is_alone = True

    def claims(self, sample: Sample) -> bool:
        """No TAB, no `|||`, no JSON at the start, and most lines begin with no id and no JSON."""
        lines = [line for line in sample.lines if line.strip(" \t")]
        if not lines or lines[0].startswith("NBestList") or JSON_ARRAYS.match(lines[0]):
            return False
        if lines[0].startswith("{") and not BRACED.match(lines[0]):
            return False
        if lines[0].strip(" \t") == "[":  # JSON over many lines
            return False
        if any("\t" in line or "|||" in line for line in lines):
            return False
        firsts = [split_words(line)[0] for line in lines]
        n_keyed = sum(may_be_id(first) or first.startswith('{"') for first in firsts)
        return 2 * n_keyed <= len(firsts)  # one bad line does not turn a list with ids into text

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list per line; notes first or last words if most are distinct and look like ids."""
        firsts: list[str] = []
        lasts: list[str] = []
        for nbest in super().read(source):
            if len(firsts) < LOOKED_AT:
                firsts += nbest.hypotheses[0].words[:1]
                lasts += nbest.hypotheses[0].words[-1:]
            yield nbest
        for words, looks_so in ((firsts, may_be_id), (lasts, IN_PARENTHESES.fullmatch)):
            found = set(filter(looks_so, words))
            if len(words) > 1 and 2 * len(found) > len(words):
                source.notices.ids_read_as_words = words[:3]

    def row(self, line: Line, key: str) -> Row | OtherLine:
        words = plain_words(line.text, line.place)
        return Row(line, str(line.number), words, {}, line.text)


def may_be_id(word: str) -> bool:
    """Whether a sentence's first word looks like the name of an utterance."""
    return any(c.isdigit() or c == "(" for c in word)
