"""Output of fairseq-generate and fairseq-interactive: lines `H-ID`, `D-ID`, `P-ID` per hypothesis.

H has the score and the tokens, D the score and the text made of them (without BPE and the
tokeniser's marks), P a log2 for each token including the end; A, I and E may follow. Before them
come S (the source), T (the reference), W and C, and between lists there are log lines
(fairseq_cli/generate.py of fairseq 0.12.2). Files with only some of the lines, such as those that
`grep ^H` leaves, are read as well (H alone, which could be a table, with --format fairseq), but not
files in which sorting separated the lines of a hypothesis.
"""

import re
from collections.abc import Iterable, Iterator
from math import log
from typing import NamedTuple

from charlm.errors import DataError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.list_lines import Line, lines_of
from charlm.nbest.reading.policies import check_options, is_number, number, plain_words
from charlm.nbest.reading.score_files import ScoresBesideFormat
from charlm.nbest.reading.templates import OtherLine, Row

LN2 = log(2)
OF_HYPOTHESIS = "HDPAIE"  # in the order in which they are printed
MARKED = re.compile(r"([A-Z])-(0|[1-9][0-9]*)(?:_[0-9]+)?(?:\t(.*))?")  # E-12_3 has a step
LOG = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2} .* \| [A-Z]+ \| .*|Generate .*|[ \t]*"
    r"|\| .*|Namespace\(.*"  # before 0.10
)


class FairseqFormat(ScoresBesideFormat):
    """The feature is `score`, the words are those of D, or of H without D; T is the reference.

    A score is the sum of log2 divided by the number of tokens, including the end, to the power of
    `length_penalty` (fairseq's --lenpen, 1 unless it was told otherwise; 0 with --unnormalized).
    Given the same penalty, the sum is restored from the number of tokens in P. New scores are
    written alone, one log10 per line, in the list's order; when re-ranked, the lines of a
    hypothesis move together.
    """

    name = "fairseq"
    weights = {"score": 1.0}

    def claims(self, sample: Sample) -> bool:
        """Every line is from fairseq or its log, and at least one has a hypothesis' score."""
        marked = [MARKED.fullmatch(line) for line in sample.lines if not LOG.fullmatch(line)]
        return all(marked) and any(
            each[1] in "HD" and is_number((each[3] or "").partition("\t")[0])
            for each in marked
            if each is not None
        )

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list per id; files of features hold a log10 for each hypothesis."""
        check_options(source, self.name, "features", "length_penalty")
        with lines_of(source) as lines:
            rows = _rows(_blocks(lines), penalty=source.length_penalty)
            yield from self._gathered(rows, source, lines.name)


class _Marked(NamedTuple):
    """The parts of a line; a log line has no letter."""

    letter: str
    id: str
    rest: str


class _Block(NamedTuple):
    """The lines of a hypothesis, or a single other line."""

    lines: tuple[Line, ...]
    said: tuple[_Marked, ...]

    def goes_on(self, said: _Marked) -> bool:
        """Whether a line belongs to the same hypothesis."""
        last = self.said[-1]
        at, before = (OF_HYPOTHESIS.find(each.letter or " ") for each in (said, last))
        is_step = said.letter == last.letter == "E"
        return said.id == last.id and before >= 0 and (at > before or is_step)

    @property
    def at(self) -> int:
        """The index of the line that has the words: D, or the first."""
        letters = [each.letter for each in self.said]
        return letters.index("D") if "D" in letters else 0

    @property
    def line(self) -> Line:
        """All lines as one, whose place is that of the words."""
        raw = "".join(line.raw for line in self.lines)
        first, end = self.lines[0], self.lines[-1].end
        text = raw[len(first.start) : len(raw) - len(end)]
        return first._replace(text=text, end=end, place=self.lines[self.at].place)


def _marked(line: Line) -> _Marked:
    found = MARKED.fullmatch(line.text)
    if found is not None:
        return _Marked(found[1], found[2], found[3] or "")
    if LOG.fullmatch(line.text):
        return _Marked("", "", "")
    raise DataError(
        f"{line.place}: found {line.text[:40]!r}; expected a line of fairseq's, as H-12, TAB, a "
        "score, TAB, words, or of its log; leave others out (grep '^[A-Z]-[0-9]' FILE)"
    )


def _blocks(lines: Iterable[Line]) -> Iterator[_Block]:
    """The lines of each hypothesis together, and each other line alone."""
    block: _Block | None = None
    for line in lines:
        said = _marked(line)
        if block is not None and block.goes_on(said):
            block = _Block((*block.lines, line), (*block.said, said))
            continue
        if block is not None:
            yield block
        block = _Block((line,), (said,))
    if block is not None:
        yield block


def _rows(blocks: Iterable[_Block], *, penalty: float) -> Iterator[Row | OtherLine]:
    """Hypotheses, each with the reference of its id, which stands above them."""
    reference_id, reference = "", None
    for block in blocks:
        first, line = block.said[0], block.line
        if first.letter == "T":
            reference_id, reference = first.id, plain_words(first.rest, line.place)
        if not first.letter or first.letter not in OF_HYPOTHESIS:
            yield OtherLine(line)
            continue
        said = reference if first.id == reference_id else None
        yield _row(block, penalty=penalty)._replace(reference=said)


def _row(block: _Block, *, penalty: float) -> Row:
    line, best = block.line, block.said[block.at]
    if best.letter not in "HD":
        raise DataError(
            f"{line.place}: found {best.letter}-{best.id} without H-{best.id} before it; "
            "expected all lines of a hypothesis one below the other, as fairseq prints them; "
            "a file that was sorted has lost their order"
        )
    score, _, text = best.rest.partition("\t")
    value = LN2 * number(score.strip(" "), f"{line.place}: the score")
    if penalty:
        value *= _n_tokens(block) ** penalty
    return Row(line, best.id, plain_words(text, line.place), {"score": value}, line.text)


def _n_tokens(block: _Block) -> int:
    """The number of tokens that a score was divided by."""
    log_probs = [each.rest for each in block.said if each.letter == "P"]
    n_tokens = len(" ".join(log_probs).split())
    if not n_tokens:
        raise DataError(
            f"{block.line.place}: found no numbers of a line P-; expected one for each token, "
            "since a length penalty is to be undone; give the lines P- with the others"
        )
    return n_tokens
