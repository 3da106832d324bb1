"""NIST's CTM: its lines, their order, and where utterances stand in recordings."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.formats import format_of
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored, Sureness, joining
from charlm.nbest.output.ctm import Segment, read_segments, write_ctm
from charlm.nbest.reading.json_lists import Record
from charlm.nbest.reading.json_values import Number
from charlm.text.io.lines import LIST

Times = Sequence[tuple[str, str]]


def hypothesis(text: str, times: Times) -> Hypothesis:
    """One of the format jsonl."""
    value = {"text": text, "times": [[Number(start), Number(end)] for start, end in times]}
    record = Record(value, "f:1")  # type: ignore[arg-type]
    return Hypothesis(tuple(text.split()), {}, "f:1", record)


def ctm(*lists: Rescored, segments: Mapping[str, Segment] | None = None) -> str:
    pieces = write_ctm(lists, format_of("jsonl"), frame_shift=None, segments=segments)
    return "".join(piece.text for piece in pieces)


def alone(id: str, text: str, times: Times) -> Rescored:
    return Rescored(NbestList(id, (hypothesis(text, times),)))


def test_words_of_recordings_are_sorted_by_their_starts() -> None:
    late = alone("u-2", "so it", [("0.5", "0.75"), ("0.75", "1")])
    early = alone("u-1", "we know", [("0.1", "0.3"), ("0.4", "1.5")])
    other = alone("u-3", "no", [("10", "10.0004")])
    lists = (other, late, alone("u-4", "", []), early)
    assert ctm(*lists) == (
        "u-1 1 0.100 0.200 we\nu-1 1 0.400 1.100 know\n"
        "u-2 1 0.500 0.250 so\nu-2 1 0.750 0.250 it\n"
        "u-3 1 10.000 0.000 no\n"
    )
    segments = {
        "u-1": Segment("tape", 0.0, 3.0),
        "u-2": Segment("tape", 100.25, math.inf),
        "u-3": Segment("b", 2.0, 11.95),  # a frame may go beyond it
    }
    assert ctm(*lists, segments=segments) == (
        "b 1 12.000 0.000 no\n"
        "tape 1 0.100 0.200 we\ntape 1 0.400 1.100 know\n"
        "tape 1 100.750 0.250 so\ntape 1 101.000 0.250 it\n"
    )


def test_rounding_leaves_no_gap_between_words_that_touch() -> None:
    thirds = [("0", "0.3333"), ("0.3333", "0.6666"), ("0.6666", "1")]
    assert ctm(alone("u", "a b c", thirds)) == (
        "u 1 0.000 0.333 a\nu 1 0.333 0.334 b\nu 1 0.667 0.333 c\n"
    )


def test_confidences_are_those_of_the_best_hypothesis_words() -> None:
    found = (hypothesis("a b", [("0", "1"), ("1", "2")]), hypothesis("a c", [("0", "1")] * 2))
    totals = (-math.log(4), 0.0)  # a fifth and four fifths
    item = Rescored(NbestList("u", found), totals=totals, order=(1, 0), sureness=Sureness(1, 0.9))
    assert ctm(item) == "u 1 0.000 1.000 a 0.900000\nu 1 0.000 1.000 c 0.720000\n"


@pytest.mark.parametrize(
    ("mark", "pieces", "expected"),
    [
        ("@@", "we kn@@ ow it", "0 0.5 we 1 1.5 know 3 0.5 it"),
        ("+", "we kn+ +ow it", "0 0.5 we 1 1.5 know 3 0.5 it"),
        ("##", "we kn ##ow it", "0 0.5 we 1 1.5 know 3 0.5 it"),
        ("\u2581", "\u2581we \u2581kn ow \u2581 it", "0 0.5 we 1 1.5 know 4 0.5 it"),
        ("<w>", "<w> we <w> kn ow <w> it <w>", "1 0.5 we 3 1.5 know 6 0.5 it"),
        ("+", "a+ +b + c", "0 1.5 ab 2 0.5 + 3 0.5 c"),
    ],
)
def test_joined_pieces_begin_with_the_first_and_end_with_the_last(
    mark: str, pieces: str, expected: str
) -> None:
    times = [(f"{i}", f"{i}.5") for i in range(len(pieces.split()))]
    (joined,) = joining([NbestList("u", (hypothesis(pieces, times),))], mark)
    rows = (line.split()[2:] for line in ctm(Rescored(joined)).splitlines())
    found = [f"{float(start):g} {float(duration):g} {word}" for start, duration, word in rows]
    assert " ".join(found) == expected


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([("1", "2"), ("0.5", "3")], "found 'b' from 0.5 to 3 s, after a word that begins at 1;"),
        ([("1", "0.5"), ("2", "3")], "found 'a' from 1 to 0.5 s, after a word that begins at 0;"),
        ([("-1", "1"), ("2", "3")], "found 'a' from -1 to 1 s, after a word that begins at 0;"),
        ([("0", "NaN"), ("2", "3")], "found 'a' from 0 to nan s, after a word that begins at 0;"),
        ([("0", "1")], "found 1 times of 2 words; expected "),
        ([], "found no times of 2 words; expected "),
    ],
)
def test_times_that_fall_or_are_missing_are_refused(times: Times, said: str) -> None:
    with pytest.raises(DataError) as caught:
        ctm(alone("u", "a b", times))
    assert str(caught.value).startswith(f"f:1: {said}")


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ({}, "f:1: utterance 'u' has no segment; expected one for each; give the segments of "),
        (
            {"u": Segment("tape", 7.0, 7.8)},
            "f:1: utterance 'u' ends 1.00 s after its start, and its segment after 0.80 s; "
            "expected times in the segment; give the right --frame-shift, or, if times are of the "
            "recording, segments from 0",
        ),
    ],
)
def test_an_utterance_stands_in_its_segment(segments: dict[str, Segment], said: str) -> None:
    with pytest.raises(DataError) as caught:
        ctm(alone("u", "a", [("0", "1")]), segments=segments)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("id", ["a b", "", ";;u", "u\x1b"])
def test_ids_that_are_no_recording_are_refused(id: str) -> None:
    with pytest.raises(DataError, match="cannot stand in the layout 'ctm'; expected one without"):
        ctm(alone(id, "a", [("0", "1")]))


def test_segments_are_those_of_kaldi(tmp_path: Path) -> None:
    path = tmp_path / "segments"
    path.write_text("u-1 tape 0.5 2\n\nu-2 tape 2 -1\n")
    assert read_segments(path, rules=LIST) == {
        "u-1": Segment("tape", 0.5, 2.0),
        "u-2": Segment("tape", 2.0, math.inf),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("u tape 0", "1: found 3 fields; expected utterance, recording, start and end"),
        ("u tape 0 1 A", "1: found 5 fields; expected utterance, recording, start and end"),
        ("u tape 0 x", "1: found 'x'; expected a number"),
        ("u tape 2 1", "1: found 2 to 1; expected seconds that rise"),
        ("u tape nan 1", "1: found nan to 1; expected seconds that rise"),
        ("u tape 0 1\nu tape 1 2", "2: 'u' for the second time; expected it once"),
    ],
)
def test_other_files_are_no_segments(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "segments"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_segments(path, rules=LIST)
    assert str(caught.value) == f"{path}:{said}"
