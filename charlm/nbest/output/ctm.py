"""`ctm`: the words of the best hypotheses with their times, as NIST's sclite reads them.

`recording channel start duration word [confidence]`, in seconds with three decimals, sorted by
recording, channel and start. The channel is 1, as in Kaldi. Without segments, the recording is the
utterance and times are those of the lists. Starts and ends are rounded, and durations lie between
them, so that a word ends where the next one begins if it did so before.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from charlm.errors import DataError
from charlm.nbest.hypotheses import JoinedWords, Rescored
from charlm.nbest.output.output_layouts import require_fit
from charlm.nbest.ranking.confidences import word_confidences
from charlm.nbest.reading.format import Format, Piece
from charlm.nbest.reading.policies import number
from charlm.nbest.reading.word_times import Span, aligned
from charlm.text.corpus.normalisation.pieces import without_mark
from charlm.text.io.files import display_name
from charlm.text.io.lines import LineRules, read_lines, split_words

CHANNEL = "1"
SLACK = 0.1  # seconds by which a last frame may go beyond its segment


class Segment(NamedTuple):
    """Where an utterance stands in its recording."""

    recording: str
    start: float  # in seconds
    end: float


class _Row(NamedTuple):
    recording: str
    start: int  # in milliseconds
    end: int
    rest: str


def read_segments(path: str | Path, *, rules: LineRules) -> dict[str, Segment]:
    """Kaldi's segments: `utterance recording start end` on each line; an end of -1 is none.

    Raises:
        DataError: another layout, or an utterance that comes again.
    """
    segments: dict[str, Segment] = {}
    for n, line in read_lines(path, rules=rules):
        row, place = split_words(line), f"{display_name(path)}:{n}"
        if not row:
            continue
        if len(row) != 4:
            raise DataError(
                f"{place}: found {len(row)} fields; expected utterance, recording, start and end"
            )
        start, end = (number(each, place) for each in row[2:])
        end = math.inf if end == -1 else end
        if not 0 <= start < end:
            raise DataError(f"{place}: found {row[2]} to {row[3]}; expected seconds that rise")
        if row[0] in segments:
            raise DataError(f"{place}: {row[0]!r:.80} for the second time; expected it once")
        segments[row[0]] = Segment(row[1], start, end)
    return segments


def write_ctm(
    lists: Iterable[Rescored],
    form: Format,
    *,
    frame_shift: float | None,
    segments: Mapping[str, Segment] | None,
) -> Iterator[Piece]:
    """A line for each word; all at the end, since recordings are sorted.

    Raises:
        ConfigError: frames of a length that must be given.
        DataError: a hypothesis without times, or with times that fall; no segment for it, or one
            that is shorter; an id that cannot be a recording.
    """
    rows: list[_Row] = []
    for item in lists:
        if item.best.words:
            rows += _rows(item, word_times(item, form, frame_shift=frame_shift), segments)
    rows.sort(key=lambda row: row[:2])
    lines = (
        f"{recording} {CHANNEL} {start / 1000:.3f} {(end - start) / 1000:.3f} {rest}\n"
        for recording, start, end, rest in rows
    )
    yield Piece("", "".join(lines))


def word_times(item: Rescored, form: Format, *, frame_shift: float | None) -> list[Span]:
    """When each word of the best hypothesis was said.

    Raises:
        ConfigError: frames of a length that must be given.
        DataError: no times, those of other words, or times that fall.
    """
    best = item.best
    spans = form.times(item.nbest, item.ranking[0], frame_shift=frame_shift)
    if isinstance(best.words, JoinedWords):
        texts = (without_mark(piece, best.words.mark) for piece in best.words.pieces)
        spans = aligned(best.words, zip(texts, spans, strict=True), place=best.place)
    before = 0.0
    for word, (start, end) in zip(best.words, spans, strict=True):
        if not before <= start <= end < math.inf:  # NaN compares false
            raise DataError(
                f"{best.place}: found {word!r:.40} from {start:g} to {end:g} s, after a word that "
                f"begins at {before:g}; expected times that rise"
            )
        before = start
    return spans


def _rows(
    item: Rescored, spans: list[Span], segments: Mapping[str, Segment] | None
) -> Iterator[_Row]:
    require_fit(item, "ctm")
    key, last = item.nbest.id, spans[-1].end
    segment = Segment(key, 0.0, math.inf) if segments is None else segments.get(key)
    if segment is None:
        raise DataError(
            f"{item.best.place}: utterance {key!r:.80} has no segment; expected one for each; give "
            "the segments of these lists"
        )
    if last > segment.end - segment.start + SLACK:
        raise DataError(
            f"{item.best.place}: utterance {key!r:.80} ends {last:.2f} s after its start, and its "
            f"segment after {segment.end - segment.start:.2f} s; expected times in the segment; "
            "give the right --frame-shift, or, if times are of the recording, segments from 0"
        )
    said = word_confidences(item).tolist() if item.totals else []
    for n, (word, span) in enumerate(zip(item.best.words, spans, strict=True)):
        start, end = (round(1000 * (segment.start + each)) for each in span)
        confidence = f" {said[n]:.6f}" if said else ""
        yield _Row(segment.recording, start, end, word + confidence)
