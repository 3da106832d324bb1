"""All formats of n-best lists, by their --format names, and detection of a list's format.

Detection looks at the first 64 KiB of a file, or at the file names in a folder. Every format is
asked: if two could read a list, that is an error that names both, since a wrong guess gives wrong
scores. The RNNLM toolkit's lists and plain sentences demand so little of a line that they give way
to other formats.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import dropwhile
from typing import NoReturn

from charlm.errors import ConfigError, DataError
from charlm.nbest.formats.aws import AwsFormat
from charlm.nbest.formats.azure import AzureFormat
from charlm.nbest.formats.csv_tables import CsvFormat
from charlm.nbest.formats.ctranslate2 import Ctranslate2Format
from charlm.nbest.formats.cued import CuedFormat
from charlm.nbest.formats.espnet import EspnetFormat
from charlm.nbest.formats.espnet1 import Espnet1Format
from charlm.nbest.formats.fairseq import FairseqFormat
from charlm.nbest.formats.google import GoogleFormat
from charlm.nbest.formats.huggingface import HuggingFaceFormat
from charlm.nbest.formats.hyporadise import HyporadiseFormat
from charlm.nbest.formats.jsonl import JsonlFormat
from charlm.nbest.formats.kaldi import KaldiFormat
from charlm.nbest.formats.mlm_scoring import MlmScoringFormat
from charlm.nbest.formats.moses import MosesFormat
from charlm.nbest.formats.nbestlist import NbestList1Format, NbestList2Format
from charlm.nbest.formats.one_best import KaldiTextFormat, TrnFormat
from charlm.nbest.formats.pyctcdecode import PyctcdecodeFormat
from charlm.nbest.formats.rnnlm import RnnlmFormat
from charlm.nbest.formats.srilm import SrilmFormat
from charlm.nbest.formats.text import TextFormat, may_be_id
from charlm.nbest.formats.tsv import TsvFormat, is_comment
from charlm.nbest.formats.vosk import VoskFormat
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.reading.format import Format, Sample, Source
from charlm.nbest.reading.list_lines import SAMPLE_BYTES, opened
from charlm.nbest.reading.policies import is_number
from charlm.text.io.files import display_name
from charlm.text.io.lines import split_words
from charlm.text.io.table_lines import refuse_table_lines

FORMATS: dict[str, type[Format]] = {
    kind.name: kind
    for kind in (
        KaldiFormat,
        EspnetFormat,
        Espnet1Format,
        VoskFormat,
        HuggingFaceFormat,
        Ctranslate2Format,
        PyctcdecodeFormat,
        AzureFormat,
        GoogleFormat,
        AwsFormat,
        HyporadiseFormat,
        MlmScoringFormat,
        JsonlFormat,
        MosesFormat,
        FairseqFormat,
        NbestList1Format,
        NbestList2Format,
        SrilmFormat,
        CuedFormat,
        RnnlmFormat,
        TsvFormat,
        CsvFormat,
        KaldiTextFormat,
        TrnFormat,
        TextFormat,
    )
}
JSON_BEGIN = re.compile(r"\s*(\{|\[\s*[\[{\"])")
MAY_BE_CUT = SAMPLE_BYTES // 4  # a sample of more characters may not be the whole file
LONGEST_CUT = 6  # characters of what is wrong because the sample ends within it: \u0645, false
FILE_NAMES = 10  # lines that are looked at
CHANNELS = ("1", "2", "A", "B")  # of the recordings in NIST's files
LISTS = (
    "lists or sentences; write a header above it that calls its columns id and text, with commas "
    "between (csv), or give --format text if its lines are sentences"
)


@contextmanager
def open_lists(source: Source, *, name: str = "") -> Iterator[tuple[Format, Iterator[NbestList]]]:
    """The lists of a source, after their format: that of this name or, without one, as detected.

    The format object that reads lists must also write them. With a name, nothing is read ahead, so
    the first list of a pipe comes at once.

    Raises:
        ConfigError: no format of this name, or several formats that could read the list.
        DataError: no format that could read the list, an empty file, or no such file.
    """
    if name:
        chosen = format_of(name)
        yield chosen, chosen.read(source)
        return
    with opened(source) as found:
        chosen = detect(found.sample)
        yield chosen, chosen.read(found)


def format_of(name: str) -> Format:
    """The format of this name.

    Raises:
        ConfigError: there is none; the message lists the known ones.
    """
    if name not in FORMATS:
        raise ConfigError(f"format {name!r}: no such format; expected one of {', '.join(FORMATS)}")
    return FORMATS[name]()


def detect(sample: Sample, *, likely: str = "") -> Format:
    """The format of a list with this beginning; `likely` decides between several.

    Raises:
        ConfigError: several formats could read the list.
        DataError: an empty list, a binary file, CSV that `CsvFormat` does not claim, or no known
            format.
    """
    where = display_name(sample.path)
    if not sample.names and not any(line.strip(" \t") for line in sample.lines):
        raise DataError(f"{where}: found nothing in it; expected lists of hypotheses")
    for number, line in enumerate(sample.lines, 1):
        if "\0" in line:
            raise DataError(
                f"{where}:{number}: found a NUL byte; expected text, not a binary file; a binary "
                "archive of Kaldi's has a copy tool that writes text (ark,t:-)"
            )
    if CsvFormat().claims(sample):
        return CsvFormat()
    refuse_table_lines([*dropwhile(is_comment, sample.lines)], sample.path, expected=LISTS)
    _refuse_file_names(sample, where=where)
    _refuse_ctm(sample, where=where)
    claiming = [name for name, kind in FORMATS.items() if kind().claims(sample)]
    if likely in claiming:
        return format_of(likely)
    for loose in (TextFormat.name, RnnlmFormat.name):
        if len(claiming) > 1:
            claiming = [name for name in claiming if name != loose]
    if not claiming:
        _refuse(sample, where=where)
    if len(claiming) > 1:
        raise ConfigError(
            f"{where}: found what could be {' or '.join(claiming)}; expected one; name it with "
            "--format"
        )
    return format_of(claiming[0])


def _refuse(sample: Sample, *, where: str) -> NoReturn:
    """Raises DataError for a list that no format claims: says what it is, or which line is off."""
    words = [word for line in sample.lines for word in split_words(line)]
    if words and all(map(is_number, words)):
        raise DataError(
            f"{where}: found nothing but numbers; expected a format of lists, or sentences; give "
            "--format text if all of a line is words, or the name of the format"
        )
    claimed = {name: _n_claimed(kind(), sample) for name, kind in FORMATS.items()}
    del claimed[TextFormat.name]  # there the majority of lines decides, not a single one
    name, n_lines = max(claimed.items(), key=lambda each: each[1])
    if n_lines:
        raise DataError(
            f"{where}:{n_lines + 1}: found a line that does not go with those above it, which "
            f"could be {name}; expected one format of lists; mend the line, or give --format "
            f"{name}, which says what is wrong with it"
        )
    if sample.names:
        raise DataError(
            f"{where}: is a folder that no format of lists knows; expected the one that a "
            "recogniser wrote, or a file of lists; name a file or folder in it"
        )
    _refuse_json(sample, where=where)
    _refuse_sentences(sample, where=where)
    raise DataError(
        f"{where}: found the beginning of no format of lists or lattices; expected slf or "
        f"kaldi-lattice of lattices, or of lists one of {', '.join(FORMATS)}; name it with "
        "--format, or look at its first lines"
    )


def _refuse_file_names(sample: Sample, *, where: str) -> None:
    """Raises DataError for what SRILM's -nbest-files and -in-lattice-list take."""
    names = list(filter(None, (line.strip(" \t") for line in sample.lines)))[:FILE_NAMES]
    if names and all(map(os.path.isfile, names)):
        raise DataError(
            f"{where}: found names of files ({names[0]:.80}); expected lists, lattices or "
            "sentences; name their folder, or one of them, or give --format text if they are words"
        )


def _refuse_ctm(sample: Sample, *, where: str) -> None:
    """Raises DataError for what `--write ctm` writes, which would be read as sentences."""
    rows = [split_words(line) for line in sample.lines if not line.startswith(";;")]
    if any(rows) and all(map(_is_ctm, filter(None, rows))):
        raise DataError(
            f"{where}: found words with times, as NIST's CTM has them; expected lists, lattices or "
            "sentences; write the hypotheses as trn, or give --format text if all of a line is "
            "words"
        )


def _is_ctm(row: list[str]) -> bool:
    """Whether a row is `recording channel start duration word [confidence]`."""
    has_times = 5 <= len(row) <= 6 and all("." in each and is_number(each) for each in row[2:4])
    return has_times and row[1] in CHANNELS and all(map(is_number, row[5:]))


def _refuse_sentences(sample: Sample, *, where: str) -> None:
    """Raises DataError for what may be sentences behind ids, or sentences with a TAB in one."""
    firsts = [split_words(line)[0] for line in sample.lines if split_words(line)]
    ids = [word for word in firsts if may_be_id(word) and not is_number(word)]
    is_table = any("\t" in line or "|||" in line for line in sample.lines)
    if 2 * len(ids) > len(firsts) and not is_table:
        raise DataError(
            f"{where}: found lines that begin with what may be ids ({ids[0]:.40}) and hold no "
            "TAB; expected a format of lists; give --format kaldi-text if each id has one line, "
            "kaldi if ids end in ranks, as utt-1, rnnlm if a list's id begins each of its lines, "
            "text if all of a line is words"
        )
    tabs = [n for n, line in enumerate(sample.lines, 1) if "\t" in line]
    if len(tabs) == 1 < tabs[0]:
        raise DataError(
            f"{where}:{tabs[0]}: found a TAB, which no line before has; expected sentences "
            "without any, or a list with one in each line; give --format text if all are sentences"
        )


def _refuse_json(sample: Sample, *, where: str) -> None:
    """Raises DataError for JSON that is broken, or valid but of no known format."""
    text = "\n".join(sample.lines)
    if JSON_BEGIN.match(text) is None:
        return
    try:
        # As floats, since Python refuses whole numbers of more than 4,300 digits.
        decoder = json.JSONDecoder(parse_int=float)
        value, _ = decoder.raw_decode(text, len(text) - len(text.lstrip()))
    except RecursionError:
        return
    except json.JSONDecodeError as error:
        is_last = error.pos >= len(text.rstrip()) - LONGEST_CUT
        if len(text) > MAY_BE_CUT and (is_last or error.msg.startswith("Unterminated")):
            return  # it continues after the sample
        raise DataError(
            f"{where}:{error.lineno}: not valid JSON ({error.msg.removesuffix(' at')} at column "
            f"{error.colno}); expected lists of hypotheses; mend it, or write it again"
        ) from None
    record = value
    while isinstance(record, list) and record:
        record = record[0]
    members = ", ".join(map(repr, record)) if isinstance(record, dict) else ""
    raise DataError(
        f"{where}: found JSON whose first object has {members or 'no member':.80}; expected a "
        "format of lists; bring it into the simplest, a line a list: "
        '{"id": "u1", "hyps": [{"text": "the cat", "am": -12.5}]}'
    )


def _n_claimed(form: Format, sample: Sample) -> int:
    """The number of first lines that could be of a format but not with one more line; or 0."""
    claimed, too_many = 0, len(sample.lines)
    while too_many - claimed > 1:
        middle = (claimed + too_many) // 2
        if form.claims(sample._replace(lines=sample.lines[:middle])):
            claimed = middle
        else:
            too_many = middle
    return claimed
