"""Decipher's lists, which SRILM reads: `(score) words`; version 2 adds times and scores per word.

Scores are bytelogs: integers of which 10000.5 / 1024 make a nat. The total holds both models. In
version 2, phones and states stand among the words as 11 fields each, like a word. They are those
whose times lie within the previous word's, or whose names are like `ih-1`. That is SRILM's rule
with one exception: SRILM also leaves out a word that begins when the previous one ends, which
occurs with times that are not frames.
"""

import math
import re
from collections.abc import Iterator
from typing import ClassVar

from charlm.errors import DataError
from charlm.nbest.hypotheses import NbestList, in_pieces
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import number, plain_words
from charlm.nbest.reading.score_files import UtteranceFormat, first_lines
from charlm.nbest.reading.templates import OtherLine, Row
from charlm.nbest.reading.word_times import FRAME_SHIFT, Span, aligned
from charlm.text.io.lines import split_words

NATS = 1024 / 10000.5  # of a bytelog
MARKS = {1: "(", 2: "st:", 4: "et:", 6: "g:", 8: "a:", 10: ")"}  # places within a word's fields
WIDTH = 11
STATE = re.compile(r".*-[0-9]", re.DOTALL)
SCORE = re.compile(r"[ \t]*\(-?[0-9]+\)(?:[ \t]|\Z)")  # what a line begins with


class NbestList1Format(UtteranceFormat):
    """Version 1, with the feature total: a file, or a folder with one file per utterance.

    The header may be missing. New scores are written alone, one log10 per line: for a folder, as a
    folder of scores under the same names.
    """

    name = "nbestlist1"
    weights = {"total": 1.0}
    header: ClassVar[str] = "NBestList1.0"

    def claims(self, sample: Sample) -> bool:
        lines = first_lines(sample)
        if lines and lines[0].startswith("NBestList"):
            return lines[0].strip(" \t") == self.header
        return self.name == "nbestlist1" and bool(lines) and all(map(SCORE.match, lines))

    def row(self, line: Line, key: str) -> Row | OtherLine:
        if line.number == 1 and line.text.startswith("NBestList"):
            if line.text.strip(" \t") != self.header:
                raise DataError(
                    f"{line.place}: found {line.text[:40]!r}; expected {self.header}; give another "
                    "--format"
                )
            return OtherLine(line)
        fields = split_words(line.text)
        if not fields or not (fields[0].startswith("(") and fields[0].endswith(")")):
            raise DataError(
                f"{line.place}: found {line.text[:40]!r}; expected a score in parentheses and words"
            )
        total = NATS * number(fields[0][1:-1], f"{line.place}: the score")
        words, features = self.words(fields[1:], line.place)
        return Row(
            line,
            key,
            plain_words(" ".join(words), line.place),
            {"total": total, **features},
            line.text,
        )

    def words(self, fields: list[str], place: str) -> tuple[list[str], dict[str, float]]:
        """The words in the fields after the score, and their own features."""
        return fields, {}


class NbestList2Format(NbestList1Format):
    """Version 2: also am and old_lm, the sums over words."""

    name = "nbestlist2"
    header = "NBestList2.0"
    times_in = "frames"

    def words(self, fields: list[str], place: str) -> tuple[list[str], dict[str, float]]:
        """The first of every 11 fields, unless they are a phone or a state, and sums of scores."""
        words, am, lm = [], 0.0, 0.0
        for word, (_, _, grammar, acoustic) in _words(fields, place):
            words.append(word)
            am, lm = am + NATS * acoustic, lm + NATS * grammar
        return words, {"am": am, "old_lm": lm}

    def times(self, nbest: NbestList, which: int, *, frame_shift: float | None) -> list[Span]:
        """A word ends a frame after `et:`, where its last frame begins, or with the next word."""
        hypothesis = nbest.hypotheses[which]
        fields = split_words(str(hypothesis.original))[1:]
        found = [(word, begins, ends) for word, (begins, ends, *_) in _words(fields, "")]
        nexts = [*(begins for _, begins, _ in found[1:]), math.inf]
        shift = FRAME_SHIFT if frame_shift is None else frame_shift
        timed = [
            (word, Span(begins, max(ends, min(ends + shift, following))))
            for (word, begins, ends), following in zip(found, nexts, strict=True)
        ]
        return aligned(in_pieces(hypothesis.words), timed, place=hypothesis.place)


def _words(fields: list[str], place: str) -> Iterator[tuple[str, list[float]]]:
    """The words among the groups of 11 fields, each with its numbers; no phones, no states."""
    if len(fields) % WIDTH:
        raise DataError(
            f"{place}: found {len(fields)} fields after the score; expected {WIDTH} a word, "
            "as in `word ( st: 0.1 et: 0.2 g: -120 a: -3450 )`"
        )
    end = -1.0
    for start in range(0, len(fields), WIDTH):
        group = fields[start : start + WIDTH]
        begins, ends, *scores = _numbers(group, place)
        is_within = begins <= end and ends <= end
        if not (is_within or STATE.fullmatch(group[0])):
            yield group[0], [begins, ends, *scores]
            end = ends


def _numbers(group: list[str], place: str) -> list[float]:
    """Start, end, language model and acoustic score of a word."""
    for at, mark in MARKS.items():
        if group[at] != mark:
            raise DataError(
                f"{place}: found {group[at][:40]!r} in the fields of {group[0][:40]!r}; expected "
                f"{mark!r}"
            )
    return [number(group[at], f"{place}: {group[0]!r}, {MARKS[at - 1]}") for at in (3, 5, 7, 9)]
