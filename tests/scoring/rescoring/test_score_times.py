"""`charlm.score(write="ctm")`: where times come from, and what is refused."""

import json
import re
from pathlib import Path

import pytest

import charlm
from charlm.errors import CharlmError, ConfigError, DataError
from charlm.nbest.scorers import FunctionScorer

KALDI = """\
utt-A
0\t1\t<eps>\t0,0,1_1
1\t2\twe\t1,10,2_3_3
2\t3\t<eps>\t0,0,9
3\t4\tknow\t1,10,4_4
3\t4\tno\t2,12,4_4_5
4\t0,0,7_7

"""
SLF = """\
VERSION=1.0
UTTERANCE=utt-A
N=6  L=6
I=0 t=0.00
I=1 W=!NULL
I=2 t=0.13
I=3 t=0.30
I=4 t=0.35
I=5
J=0 S=0 E=2 W=we a=-1
J=1 S=0 E=2 W=they a=-2
J=2 S=2 E=3 W=!NULL a=0
J=3 S=3 E=4 W=know a=-1
J=4 S=4 E=1 a=0
J=5 S=1 E=5 W=</s> a=0
"""
ON_NODES = """\
VERSION=1.0
N=4  L=4
I=0 t=0.00
I=1 t=0.12 W=we
I=2 t=0.13 W=they
I=3 t=0.30 W=know
J=0 S=0 E=1 a=-2
J=1 S=0 E=2 a=-1
J=2 S=1 E=3 a=-3
J=3 S=2 E=3 a=-3
"""
NO = FunctionScorer(lambda texts: [[-5.0 * (w == "know") for w in (*text, "")] for text in texts])


def ctm(text: str | Path, folder: Path, **options: object) -> str:
    """The CTM of lists as text, without confidences."""
    path = folder / "lists"
    if isinstance(text, str):
        path.write_text(text)
    pieces: list[str] = []
    charlm.score(path, write="ctm", out=pieces.append, **options)  # type: ignore[arg-type]
    rows = (line.split(" ") for line in "".join(pieces).splitlines())
    return "".join(f"{' '.join(row[:5])}\n" for row in rows)


def test_words_of_kaldi_last_as_long_as_their_alignments(tmp_path: Path) -> None:
    assert ctm(KALDI, tmp_path) == "utt-A 1 0.020 0.030 we\nutt-A 1 0.060 0.020 know\n"
    three = ctm(KALDI, tmp_path, frame_shift=0.03)
    assert three == "utt-A 1 0.060 0.090 we\nutt-A 1 0.180 0.060 know\n"


def test_the_path_that_wins_by_a_model_has_its_own_times(tmp_path: Path) -> None:
    assert ctm(KALDI, tmp_path, scorer=NO) == "utt-A 1 0.020 0.030 we\nutt-A 1 0.060 0.030 no\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\t1,10,2_3_3", "").replace("10,4_4", "10,4_4_4"),
        lambda text: text.replace("1,10,2_3_3", "1,10,").replace("1,10,4_4", "1,10,4_4_4"),
    ],
)
def test_an_arc_without_an_alignment_takes_no_time(change, tmp_path: Path) -> None:
    found = ctm(change(KALDI), tmp_path)
    assert found == "utt-A 1 0.020 0.000 we\nutt-A 1 0.030 0.030 know\n"


def test_words_of_htk_lie_between_the_times_of_nodes(tmp_path: Path) -> None:
    assert ctm(SLF, tmp_path) == "utt-A 1 0.000 0.130 we\nutt-A 1 0.300 0.050 know\n"
    assert ctm(ON_NODES, tmp_path) == "lists 1 0.000 0.130 they\nlists 1 0.130 0.170 know\n"


VOSK = {
    "alternatives": [
        {
            "text": "we know",
            "confidence": 2.5,
            "result": [
                {"word": "we", "start": 0.12, "end": 0.3},
                {"word": "know", "start": 0.36, "end": 0.6},
            ],
        },
        {"text": "we no", "confidence": 1.5},
        {"text": "", "confidence": 0.5},
    ]
}
AWS_ITEMS = [
    {"type": "pronunciation", "content": "We", "start_time": "1.04", "end_time": "1.2"},
    {"type": "pronunciation", "content": "know", "start_time": "1.2", "end_time": "1.575"},
    {"type": "punctuation", "content": "."},
]
AWS = {
    "results": {
        "transcripts": [{"transcript": "We know."}],
        "segments": [{"alternatives": [{"transcript": "We know.", "items": AWS_ITEMS}]}],
    }
}
AZURE = {
    "NBest": [
        {
            "Confidence": 0.9,
            "Lexical": "we know",
            "Words": [
                {"Word": "we", "Offset": 1200000, "Duration": 1800000},
                {"Word": "know", "Offset": 3600000, "Duration": 2400000},
            ],
        }
    ]
}
AZURE_WORDS = [
    {"word": "we", "offset": "PT0.12S", "offsetInTicks": 1200000.0, "durationInTicks": 1800000.0},
    {"word": "know", "offset": "PT0.36S", "offsetInTicks": 3.6e6, "durationInTicks": 2.4e6},
]
AZURE_BATCH = {
    "recognizedPhrases": [
        {"nBest": [{"confidence": 0.9, "lexical": "we know", "words": AZURE_WORDS}]}
    ]
}
BEAMS = {"beams": [["we know", None, [["we", [6, 15]], ["know", [18, 30]]], -2.5, -5.5]]}
TIMES = [[0.12, 0.3], [0.36, 0.6]]
JSONL = {"id": "1", "hyps": [{"text": "we know", "am": -1, "times": TIMES}]}
FLAT = {"id": "1", "text": "<s> we know", "am": -1, "times": [[0, 0.1], *TIMES]}
SAME = "1 1 0.120 0.180 we\n1 1 0.360 0.240 know\n"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (VOSK, SAME),
        (AWS, "1 1 1.040 0.160 We\n1 1 1.200 0.375 know.\n"),
        (AZURE, SAME),
        (AZURE_BATCH, SAME),
        (BEAMS, SAME),
        (JSONL, SAME),
        (FLAT, SAME),
    ],
)
def test_lists_in_json_have_times_in_their_own_units(value, expected, tmp_path: Path) -> None:
    frame_shift = 0.02 if value is BEAMS else None
    assert ctm(json.dumps(value) + "\n", tmp_path, frame_shift=frame_shift) == expected


def decipher(*words: str) -> str:
    """A list with words that begin and end there: `we 0.1 0.2`."""
    groups = (each.split() for each in words)
    text = (f"{word} ( st: {st} et: {et} g: -1 a: -2 )" for word, st, et in groups)
    return f"NBestList2.0\n(-9) {' '.join(text)}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # the last frame of a word begins at et, and a phone lies within
            decipher("<s> 0 0.09", "we 0.1 0.19", "w[i] 0.1 0.14", "know 0.2 0.4"),
            "lists 1 0.100 0.100 we\nlists 1 0.200 0.210 know\n",
        ),
        (
            decipher("we 0.1 0.2", "know 0.2 0.4"),
            "lists 1 0.100 0.100 we\nlists 1 0.200 0.210 know\n",
        ),
    ],
)
def test_decipher_counts_the_last_frame(text: str, expected: str, tmp_path: Path) -> None:
    assert ctm(text, tmp_path) == expected


def test_segments_make_times_of_recordings(tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("utt-A tape 12.5 20\n")
    found = ctm(KALDI, tmp_path, segments=tmp_path / "segments")
    assert found == "tape 1 12.520 0.030 we\ntape 1 12.560 0.020 know\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            re.sub(r",[0-9_]+$", ",", KALDI, flags=re.MULTILINE),
            "1: utterance 'utt-A': no alignment on its arcs, which tells the times; expected a ",
        ),
        ("u\n0\t1\t5\twe\t1,2\n1\n\n", "1: utterance 'u': no alignment on its arcs, which tells"),
        (
            SLF.replace("I=3 t=0.30", "I=3"),
            "7: no time at this node, where 'know' begins or ends; expected t=SECONDS, as HTK's ",
        ),
        (
            json.dumps(VOSK).replace("result", "results"),
            "1: hypothesis 1: found no times of words; expected them in 'result' as 'start' and ",
        ),
        (
            json.dumps(AZURE).replace("Words", "Silence"),
            "1: hypothesis 1: found no times of words; expected them in 'Words' as 'Offset' and ",
        ),
        (
            json.dumps(AWS).replace("know.", "knew."),
            "1: list 1: hypothesis 1: times of words: found 'know.' for the word 'knew.'; expe",
        ),
        (
            json.dumps(AZURE).replace('Offset": 12', 'Start": 12'),
            "1: hypothesis 1: found no times of words; expected them in 'Words' as 'Offset' and ",
        ),
        (
            json.dumps(BEAMS).replace("15", "15, 16"),
            '1: hypothesis 1: found a word without its frames; expected ["we", [3, 9]] for each',
        ),
        (
            json.dumps(JSONL).replace(", [0.36, 0.6]", ""),
            "1: hypothesis 1: found 1 times of 2 words; expected ",
        ),
    ],
)
def test_hypotheses_without_their_times_are_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        ctm(text, tmp_path, frame_shift=0.02 if "beams" in text else None)
    assert str(caught.value).startswith(f"{tmp_path / 'lists'}:{said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "id\tam\ttext\nu\t-1\twe know\n",
            "--write ctm: lists of the format tsv do not say when words were said; expected "
            "lattices, or one of vosk, pyctcdecode, azure, aws, jsonl, nbestlist2; --write trn ",
        ),
        (json.dumps(BEAMS), "--write ctm: times of pyctcdecode are frames; expected their length"),
    ],
)
def test_formats_without_times_are_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        ctm(text, tmp_path)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("text", [SLF, json.dumps(JSONL)])
def test_seconds_are_no_frames(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--frame-shift 0.03: times of the format \w+ are seco"):
        ctm(text, tmp_path, frame_shift=0.03)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"segments": "s"}, "--segments s: --write trn has no times; expected --write ctm; drop"),
        ({"frame_shift": 0.5}, "--frame-shift 0.5: --write trn has no times; expected --write ct"),
        ({"line_buffered": True, "write": "ctm"}, "--write ctm --line-buffered: rows are written "),
    ],
)
def test_options_of_other_layouts_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(CharlmError) as caught:
        charlm.score("a", **{"write": "trn", **options})  # type: ignore[arg-type]
    assert str(caught.value).startswith(said)


def test_what_is_taken_for_granted_of_kaldi_is_said(tmp_path: Path) -> None:
    path = tmp_path / "lattices"
    path.write_text(KALDI)
    told = [
        any("a frame is taken to last 0.01 s" in each for each in result.notices.said_otherwise)
        for result in (
            charlm.score(path, write="ctm"),
            charlm.score(path, write="ctm", frame_shift=0.01),
            charlm.score(path, write="trn"),
        )
    ]
    assert told == [True, False, False]
