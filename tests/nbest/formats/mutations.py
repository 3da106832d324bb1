"""Broken lists: seeds of every format, seeded ways to break them, and what must hold all the same.

A broken list gives one of two results. Either it is refused in one line that names the file. Or its
lists have only words from the file, are written again as the same bytes (in JSON as the same
values, members in order and numbers digit by digit), and can be scored and re-ranked.
"""

import gzip
import json
import os
import random
import re
from contextlib import suppress
from pathlib import Path

from charlm.errors import CharlmError, ConfigError
from charlm.nbest.formats import FORMATS, format_of, open_lists
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.reading.format import Format, Source
from charlm.nbest.reading.json_lists import JsonFormat

Files = dict[str, str]  # by name within a folder; "" is a file of its own

KEYS = ("utt-A-1", "utt-A-10", "utt-A-2", "utt-B-1")
TEXTS = ("we know", "", "we do know", "naïve 日本 it 's")
COSTS = ("2434.05", "-1e2", "2431.77", "0")
SEEDS: dict[str, list[Files]] = {
    "kaldi": [
        {
            "words_text": "".join(f"{k} {t}\n" for k, t in zip(KEYS, TEXTS, strict=True)),
            "acwt": "".join(f"{k} {c}\n" for k, c in zip(KEYS, COSTS, strict=True)),
            "lmwt": "".join(f"{k} {c}\n" for k, c in zip(KEYS, COSTS[::-1], strict=True)),
        },
        {"": "".join(f"{k} {t}\n" for k, t in zip(KEYS, TEXTS, strict=True))},
    ],
    "espnet": [
        {
            "output.1/1best_recog/text": "u1 we know\nu2  \nu3 日本\n",
            "output.1/1best_recog/score": "u1 tensor(-1.5)\nu2 0\nu3 -2.25\n",
            "output.1/1best_recog/token": "u1 ▁we ▁know\nu2 \nu3 ▁日本\n",
            "output.1/2best_recog/text": "u1 we no\nu3 本\n",
            "output.1/2best_recog/score": "u1 tensor(-2.5)\nu3 -3\n",
            "output.1/2best_recog/token": "u1 ▁we ▁no\nu3 ▁本\n",
            "output.2/1best_recog/text": "u4 yes\n",
            "output.2/1best_recog/score": "u4 -1\n",
        }
    ],
    "espnet1": [
        {
            "": '{"utts": {"u1": {"output": [{"rec_text": "▁we▁know<eos>", "score": -12.3, '
            '"text": "we know"},\n {"rec_text": "▁we<eos>", "score": -13}]},\n'
            ' "u2": {"input": [], "output": [{"rec_text": "", "score": 0}]}}}\n'
        }
    ],
    "vosk": [
        {
            "": '{"partial": "we"}\n{\n  "alternatives" : [{\n      "confidence" : 297.03,\n'
            '      "text" : "we know"\n    }, {\n      "confidence" : 296.1,\n'
            '      "text" : "we do \\u00e9"\n    }]\n}\n'
            '{"alternatives": [{"confidence": 1, "text": ""}]}\n'
        }
    ],
    "huggingface": [
        {
            "": '{"id": "u-1", "sequences": ["we know", "we"], "sequences_scores": [-0.5, -0.75]}\n'
            '{"id": "u-2", "sequences": ["日本"], "sequences_scores": [-1e-3], "reference": "x"}\n'
        }
    ],
    "ctranslate2": [
        {
            "": '{"id": "u-1", "sequences": [" we know", " naïve"], "scores": [-0.5, '
            '-0.75], "sequences_ids": [[1, 2], [1]], "no_speech_prob": 0.1}\n'
            '{"sequences": ["we <|en|> know"], "sequences_ids": [[1]], "scores": [0]}\n'
        }
    ],
    "pyctcdecode": [
        {
            "": '{"id": "u-1", "beams": [["we know", null, [["we", [0, 3]]], -1.5, -2.25], '
            '["", null, [], -2, -3]]}\n{"beams": [["日本", [], -1, -1]], "reference": "日本"}\n'
        }
    ],
    "azure": [
        {
            "": '{"RecognitionStatus": "InitialSilenceTimeout", "Offset": 5, "Duration": 0}\n'
            '{"RecognitionStatus": "Success", "NBest": [{"Confidence": 0.9, "Lexical": "we know", '
            '"Display": "We know."}, {"Confidence": 0.8, "Lexical": "naïve"}]}\n'
        },
        {
            "": '{"source": "a", "recognizedPhrases": [{"channel": 0, "nBest": [{"confidence": 0.9,'
            ' "lexical": "we know"}]}, {"nBest": [{"confidence": 1, "lexical": ""}]}], "x": [1]}\n'
        },
    ],
    "google": [
        {
            "": '{"results": [{"alternatives": [{"transcript": "we know", "confidence": 0.9}, '
            '{"transcript": " we do"}], "resultEndTime": "1.2s"},\n {"alternatives": [{"transcript"'
            ': "日本", "confidence": 0.5}]}], "totalBilledTime": "15s"}\n'
        }
    ],
    "aws": [
        {
            "": '{"jobName": "j", "results": {"transcripts": [{"transcript": "We know."}], '
            '"segments": [{"start_time": "1.0", "alternatives": [{"transcript": "We know.", '
            '"items": [{"type": "pronunciation", "content": "We", "confidence": "0.9"}, '
            '{"type": "punctuation", "content": ".", "confidence": "0.0"}]}, {"transcript": "We", '
            '"items": [{"type": "pronunciation", "content": "We", "confidence": "0.5"}]}]}]}, '
            '"status": "COMPLETED"}\n'
        }
    ],
    "hyporadise": [
        {
            "": '[\n {\n  "input": [\n   "i have a dream",\n   "i have"\n  ],\n'
            '  "output": "i have",\n  "score": [\n   -0.19,\n   -0.2\n  ]\n },\n {\n'
            '  "input": ["<UNK>", "a"],\n  "output": "<UNK>"\n }\n]\n'
        },
        {"": '[{"input1": "we know", "input2": ["we no", "no"], "output": "we know"}]'},
    ],
    "mlm-scoring": [
        {
            "": '{"utt1": {"hyp_1": {"score": -1.2, "text": "we know"}, "hyp_2": {"score": -1.3, '
            '"text": "we"}, "ref": "we know"},\n "utt2": {"hyp_1": {"score": 0, "text": ""}}}\n'
        }
    ],
    "jsonl": [
        {
            "": '{"id":"utt1","hyps":[{"text":"we know","am":-12.3},{"text":"we","am":-12.9}],'
            '"ref":"we know"}\n{"id": "utt2", "hyps": [{"text": "", "am": 0}]}\n'
        },
        {
            "": '{"id":"utt1","rank":2,"text":"we do know","scores":{"am":-12.9}}\n'
            '{"id":"utt1","rank":1,"text":"we know","scores":{"am":-12.3}}\n'
        },
    ],
    "moses": [
        {
            "": "0 ||| das ist ein haus ||| d: 0 -5.56 lm: -36.1 w: -7 ||| -9.2298 ||| 0-0 1-1\n"
            "0 ||| das ist ||| d: 0 -5.6 lm: -33 w: -6 ||| -9.9\n"
            "2 |||  ||| d: 0 1 lm: 2 w: 3 ||| -1.23\n"
        }
    ],
    "fairseq": [
        {
            "": "2022-05-05 10:00:00 | INFO | fairseq.tasks | [de] dictionary: 8 types\n"
            "S-12\twir wissen\nT-12\twe know\n"
            "H-12\t-0.31\twe know\nD-12\t-0.31\twe know\nP-12\t-0.2 -0.3 -0.43\n"
            "H-12\t-0.5\twe\nD-12\t-0.5\twe\nP-12\t-0.4 -0.6\nA-12\t0-0\n"
            "S-3\tja\nH-3\t-2\t\nD-3\t-2\t\nP-3\t-2.0000\nGenerate test with beam=5: BLEU4 = 1\n"
        },
        {"": "S-0\tx\nH-0\t-0.31\twe know\nH-0\t-0.5\twe\nS-1\t\nH-1\t-1e-2\tnaïve 日本\n"},
    ],
    "srilm": [
        {
            "utt1.nbest": "-1792.12 -16.0727 3 -pau- we know\n-1792.93 -15.8891 2 we know\n",
            "utt2.nbest": "-1 -2 0\n",
        },
        {"": "-1792.12 -16.0727 3 -pau- we know\n-1792.93 -15.8891 0\n"},
    ],
    "nbestlist1": [{"utt1.gz.txt": "NBestList1.0\n(-15234) i think so too\n(-15310) i think\n"}],
    "nbestlist2": [
        {
            "": "NBestList2.0\n(-15234) i ( st: 0.10 et: 0.18 g: -120 a: -3450 ) think "
            "( st: 0.18 et: 0.35 g: -92 a: -4211 )\n(-15310) i ( st: 0 et: 1 g: -12 a: -3 )\n"
        }
    ],
    "rnnlm": [{"": "1 WE KNOW\n1 WE DO KNOW\n2 NAÏVE\n3\n"}],
    "cued": [
        {"": "0 2750.14 -6.03843 2 <s> HERE YEAH </s>\n0 2751 -7 1 HERE\n1 -1 -2 0 <s> </s>\n"}
    ],
    "tsv": [
        {"": "utt1\t-12.3\twe know\nutt1\t-12.9\twe do know\nutt2\tNA\t\n"},
        {"": "# a comment\nid\trank\tam\ttext\nu-1\t1\t-1.5\twe know\nu-1\t2\t-2.5\twe\n"},
    ],
    "csv": [{"": 'id,am,text\nutt1,-1.5,"we, know"\nutt1,-2,"日""本\n"\nutt2,-3,\n'}],
    "kaldi-text": [{"": "utt1 we know\nutt2\n\nutt3\tnaïve  日本\n"}],
    "trn": [{"": ";; made today\nwe know (s-utt1)\n (s-utt2)\n\nnaïve 日本 (s-utt3)\n"}],
    "text": [{"": "we know\n\nnaïve 日本\n"}],
}
REAL = {  # files in the folder that CHARLM_TEST_DATA names
    "tsv": (
        "nbest-librispeech-espnet/dev_clean.nbest.tsv.gz",
        "nbest-hyporadise/atis.nbest.tsv.gz",
    ),
    "moses": ("nbest-mt/moses-run1.nbest.gz",),
}
NASTY = (
    *(b"\0", b"\x1b", b"\xff", b"\xed\xa0\x80", b"\xc2\x85", "\u2028\u00a0".encode()),
    *(b"nan", b"-inf", b"1e999", b"-" + b"9" * 5000, b"0x1p3", b"1_0", "٣".encode(), b"null"),
    *(b'"', b"\\", b"\\ud800", b"\\n", b"{", b"}", b"[", b"]", b"[" * 20000, b'{"a":' * 20000),
    *(b"<s>", b"</s>", b"..", b"/", b"../../x", b"", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf"),
    *(b" ||| ", b"|||", b"\t", b" ", b"=", b"(", b")", b"-1", b"utt-A-1", b'"id": 1, '),
)
JSON = {name for name, kind in FORMATS.items() if issubclass(kind, JsonFormat)}
FIELDS = re.compile(rb"(\s+|\|\|\||[,:{}\[\]])")


def seeds(name: str) -> list[Files]:
    """The small lists of a format, and the beginnings of real ones where there are any."""
    data = os.environ.get("CHARLM_TEST_DATA")
    real = []
    for file in REAL.get(name, ()) if data else ():
        with gzip.open(Path(str(data)) / file, "rt", encoding="utf-8", newline="") as lines:
            real.append({"": "".join(line for line, _ in zip(lines, range(60), strict=False))})
    assert name in SEEDS, f"SEEDS in {__file__} has no sample of it"
    return SEEDS[name] + real


def mutated(content: bytes, dice: random.Random) -> bytes:
    """A text with one thing broken."""
    way = dice.randrange(8)
    at, to = sorted(dice.randrange(len(content) + 1) for _ in range(2))
    if way == 0:  # cut
        return content[:at] if dice.random() < 0.5 else content[:at] + content[to:]
    if way == 1:  # flip a bit
        at = min(at, len(content) - 1)
        return content[:at] + bytes([content[at] ^ 1 << dice.randrange(8)]) + content[at + 1 :]
    if way in (2, 3):  # insert, or put in the place of a field
        if way == 2:
            return content[:at] + dice.choice(NASTY) + content[at:]
        fields = FIELDS.split(content)
        fields[dice.randrange(len(fields))] = dice.choice(NASTY)
        return b"".join(fields)
    parts = content.splitlines(keepends=True) if way in (4, 5) else FIELDS.split(content)
    one, other = dice.randrange(len(parts)), dice.randrange(len(parts))
    if dice.random() < 0.4:
        parts[one], parts[other] = parts[other], parts[one]
    elif dice.random() < 0.5:
        parts.insert(other, parts[one])
    else:
        del parts[one]
    return b"".join(parts)


def broken(name: str, number: int) -> dict[str, bytes]:
    """The files of the mutation of this number; the same at each call."""
    dice = random.Random(f"{name} {number}")
    files = {file: text.encode() for file, text in dice.choice(seeds(name)).items()}
    for _ in range(dice.choice((1, 1, 2, 3))):
        file = dice.choice(list(files))
        if files[file]:
            files[file] = mutated(files[file], dice)
    return files


def stored(files: dict[str, bytes], folder: Path) -> Path:
    """Writes these files and no others below `folder`; returns the path to read."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()  # folders stay, since removing them takes longer than all the rest
    for name, content in files.items():
        path = folder / (name or "list")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "list" if "" in files else folder


def outcome(name: str, path: Path, files: dict[str, bytes]) -> str:
    """What became of a broken list, in one word; AssertionError if a promise is broken."""
    with suppress(CharlmError), open_lists(Source(path)):  # detection may refuse it, or be wrong
        pass
    try:
        with open_lists(Source(path), name=name) as (chosen, lists):
            found = list(lists)
    except CharlmError as error:
        message = str(error)
        assert "\n" not in message, message
        assert str(path) in message or isinstance(error, ConfigError), message
        return "refused"
    for each in found:
        for hypothesis in each.hypotheses:
            assert stands(name, hypothesis), f"{hypothesis}: not on its line, as `stands` reads it"
    written = {"": ""} if "" in files else {}
    for piece in format_of(name).write([], reranked=False):
        written[piece.name] = piece.text
    for piece in chosen.write([Rescored(each) for each in found], reranked=False):
        written[piece.name] = written.get(piece.name, "") + piece.text
    for file, content in files.items():
        if name in JSON:
            assert values(written[file]) == values(content.decode()), file
        else:
            assert written.get(file, "").encode() == content, file
    rescored(chosen, found)
    return "read"


class Digits(str):
    """A number as it is written."""

    __slots__ = ()


def values(text: str) -> list[object]:
    """The JSON values of a text, members in their order and numbers as they are written."""
    decoder = json.JSONDecoder(
        object_pairs_hook=tuple, parse_int=Digits, parse_float=Digits, parse_constant=Digits
    )
    found, text = [], text.removeprefix("\ufeff").strip(" \t\r\n")
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip(" \t\r\n")
    return found


def stands(name: str, hypothesis: Hypothesis) -> bool:
    """Whether the words are on the line that the hypothesis claims to come from."""
    file, _, number = re.sub(r": .*", "", hypothesis.place).rpartition(":")
    lines = Path(file).read_bytes().decode("utf-8-sig").split("\n")[int(number) - 1 :]
    if name in JSON:  # an object may span many lines, and words may have escapes
        text = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), "".join(lines))
        text = re.sub("<eos>|<sos/eos>|<blank>", "", text)  # marks of ESPnet's
        return all(json.dumps(word, ensure_ascii=False)[1:-1] in text for word in hypothesis.words)
    if name == "csv":  # a row may span many lines, its quotes doubled
        text = "\n".join(lines).replace('""', '"')
        return all(word in text for word in hypothesis.words)
    line = lines[0].removesuffix("\r").replace("\t", " ")
    if name == "trn":  # a blank before the id may be missing
        line, _, _ = line.rpartition("(")
    if name == "moses":
        line = line.replace("|||", " ")
    line = re.sub(" +", " ", f" {line} ")
    if name == "nbestlist2":  # times and scores are between the words
        return all(f" {word} " in line for word in hypothesis.words)
    return not hypothesis.words or f" {' '.join(hypothesis.words)} " in line


def rescored(chosen: Format, lists: list[NbestList]) -> None:
    """Writes the lists with scores, and in reverse order; refused if `charlm` is there already."""
    for reranked in (False, True):
        items = [
            Rescored(
                each,
                scores=(-1.5,) * len(each.hypotheses),
                order=tuple(reversed(range(len(each.hypotheses)))),
            )
            for each in lists
        ]
        try:
            list(chosen.write(items, reranked=reranked))
        except CharlmError as error:
            assert "'charlm'" in str(error), error
