"""How tables are recognised, by names of columns and marks of CSV; how fields of ours are quoted.

CSV is never read as text: its ids and quotes would be scored. Few texts are CSV and many have
commas, so lines are taken for CSV only if they begin with names of columns, ids or quotes, line
after line; a blank after the first comma, as in text, speaks against it. Sentences behind ids, as
Kaldi keeps them, and counts of n-grams, as SRILM does, are not read as text either.
"""

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from charlm.errors import DataError
from charlm.text.io.files import display_name
from charlm.text.io.lines import LONGEST

IDS = ("id", "utt", "utt_id", "utterance")
TEXTS = ("text", "hyp", "hypothesis", "sentence", "sent", "transcript", "words", "word")
REFERENCES = ("ref", "reference")

SENTENCES = "a sentence a line; save the column of sentences as a text of its own, without quotes"
SEPARATORS = (",", ";")
LOOKED_AT = 5  # lines
LEAST_ROWS = 3  # where no names stand above them
MOST_CHARACTERS = 10_000  # of a line
COLUMN = re.compile(r"[^\W\d][\w .:/()\[\]%-]{0,39}")
SEPARATOR = re.compile(r'"?sep=([,;:|\t])"?')  # the first line of CSV that Excel reads
HEADING = re.compile(r"(?! ).{0,40}(?<! )")  # of any column, beside ones called id and text
ROW_ID = re.compile(r"(?=.*\d)[^\s\"'(){}\[\]<>]+")
NUMBER = re.compile(r"\d+[,;]\d")  # 1,5 or 2,4-D at the beginning of a sentence
THOUSANDS = re.compile(r"\d{1,3}[,;]\d{3}(?!\d)")
ID = re.compile(r"[^\W_][\w.:-]*", re.ASCII)  # of an utterance, if it has digits enough
SPEAKER_CHAPTER_LINE = re.compile(r"\d+-\d+-\d{4}")  # ids without a letter, as LibriSpeech's
DATE = re.compile(r"\d{1,4}[-_.]\w{1,3}[-_.]\d{1,4}(?!\d)")
LONGEST_ID = 100
NEEDS_QUOTES = re.compile('["\t\n\r]')
CUT_IDS = "sed 's/^[^[:blank:]]*[[:blank:]]*//' FILE"  # of an empty sentence, too

# A field may be as long as a line; Python's limit, 131,072 characters, is shorter than a chapter.
csv.field_size_limit(max(csv.field_size_limit(), LONGEST))


def quoted_field(text: str) -> str:
    """A field of a table, quoted where R and pandas would misread it."""
    if NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def names_columns(fields: Sequence[str], *, texts: Sequence[str] = TEXTS) -> bool:
    """Whether a first line names columns: one is called `id` or the like, another `text`."""
    plain = {field.lower() for field in fields}
    return not plain.isdisjoint(IDS) and not plain.isdisjoint(texts)


def may_name_columns(fields: Sequence[str]) -> bool:
    """Whether a first line could name columns: it has a known name and no number."""
    plain = {field.strip(" ").lower() for field in fields}
    return (
        1 < len(fields) == len(plain)
        and all(COLUMN.fullmatch(_without_marks(field)) for field in plain)
        and not plain.isdisjoint(IDS + TEXTS + REFERENCES)
        and not any(character.isdecimal() for field in plain for character in field)
    )


def _without_marks(name: str) -> str:
    r"""A name without combining marks: the vowels of Hindi, Thai and many more are no \w."""
    return "".join(each for each in name if unicodedata.category(each)[0] != "M")


def refuse_tables(
    lines: Iterable[tuple[int, str]], path: str | Path, *, expected: str = SENTENCES
) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text, unless the first ones are CSV, or as `_refuse_rows`.

    If the first line begins none of these it is passed on at once: a pipe may be slow.

    Raises:
        DataError: CSV, sentences behind ids, counts.
    """
    rest, head = iter(lines), []
    for line in islice(rest, LOOKED_AT):
        head.append(line)
        if not ("\t" in line[1] or _has_separator(line[1]) or _id_before(line[1])):
            break
    _refuse_head([line for _, line in head], path, expected=expected)
    yield from chain(head, rest)


def refuse_table_lines(lines: Sequence[str], path: str | Path, *, expected: str) -> None:
    """Raises DataError for a file that begins as CSV does."""
    if is_csv(lines):
        raise DataError(
            f"{display_name(path)}: looks like CSV (begins {lines[0]!r:.40}); expected {expected}"
        )


def refuse_table_bytes(lines: Sequence[bytes], path: str | Path, *, encoding: str) -> None:
    """`refuse_tables` for a text whose first lines are not decoded yet."""
    texts = [line[: 4 * MOST_CHARACTERS].decode(encoding, "replace") for line in lines]
    texts[:1] = [text.removeprefix("\ufeff") for text in texts[:1]]
    _refuse_head(texts, path, expected=SENTENCES)


def _refuse_head(lines: Sequence[str], path: str | Path, *, expected: str) -> None:
    """Raises DataError for a text whose first lines are a table, or as `_refuse_rows`."""
    rows = [line[:MOST_CHARACTERS].split("\t") for line in lines if line]
    if rows and (names_columns(rows[0]) or _are_under_names(rows)):
        raise DataError(
            f"{display_name(path)}: looks like a table (begins {lines[0]!r:.40}); expected "
            f"{expected}"
        )
    refuse_table_lines(lines, path, expected=expected)
    _refuse_rows(lines, path)


def _are_under_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows of one width follow a first one that may name columns, none with a blank."""
    has_blank = any(" " in name for name in rows[0])
    is_even = len(rows) > 1 and len({len(row) for row in rows}) == 1
    return is_even and not has_blank and may_name_columns(rows[0])


def _refuse_rows(lines: Sequence[str], path: str | Path) -> None:
    """Raises DataError for a text whose first lines are sentences behind ids, or counts."""
    if len(lines) < LEAST_ROWS:
        return
    begins = f"(begins {lines[0]!r:.40}); expected a sentence a line"
    if all(map(_is_counted, lines)) and any(map(str.isalpha, "".join(lines))):
        raise DataError(
            f"{display_name(path)}: looks like counts of n-grams, or sentences with labels "
            f"{begins}; cut -f1 FILE leaves labels out; `charlm ngram --counts FILE` reads counts"
        )
    ids = {_id_before(line) for line in lines}
    if "" not in ids and len(ids) == len(lines) and any(" " in line for line in lines):
        raise DataError(
            f"{display_name(path)}: looks like sentences behind ids {begins}; {CUT_IDS} leaves the "
            "ids out"
        )


def _is_counted(line: str) -> bool:
    ngram, _, number = line.rpartition("\t")
    return number.isdecimal() and "\t" not in ngram and not ngram.isspace() and bool(ngram)


def _id_before(line: str) -> str:
    """The name of an utterance that stands before a sentence; "" if there may be none.

    Before a TAB, whatever has a digit is a name. Elsewhere 18-year-old and 1990s are words, and
    where other words look like a name, too, all are of some code.
    """
    word, *rest = line[:MOST_CHARACTERS].split("\t")
    if len(rest) == 1 and " " not in word and any(map(str.isdigit, word)):
        return word
    word, *rest = line[:MOST_CHARACTERS].replace("\t", " ").split(" ")
    return word if _may_be_id(word) and not any(map(_may_be_id, rest)) else ""


def _may_be_id(word: str) -> bool:
    if len(word) > LONGEST_ID or not ID.fullmatch(word) or DATE.match(word):
        return False
    least = 4 if "-" in word or "_" in word else 6
    has_letter = any(map(str.isalpha, word))
    return sum(map(str.isdigit, word)) >= least and (
        has_letter or SPEAKER_CHAPTER_LINE.fullmatch(word) is not None
    )


def csv_hint(line: str) -> str:
    """A hint that CSV may be meant, for the message about a line that is no row of a table."""
    if "\t" in line or not re.search(r"\S[,;]\S", line):
        return ""
    return "; it looks like CSV: save it with TABs between the fields"


def is_csv(lines: Sequence[str]) -> bool:
    """Whether a file that begins with these lines is CSV, with commas or semicolons."""
    head = [line[:MOST_CHARACTERS] for line in lines[:LOOKED_AT]]
    n_rows = next((n for n, line in enumerate(head) if not _has_separator(line)), len(head))
    ends_there = not any(line.strip() for line in head[n_rows:])
    return bool(head and SEPARATOR.fullmatch(head[0])) or any(
        _is_csv(head[:n_rows], mark, ends_there=ends_there) for mark in SEPARATORS
    )


def is_csv_header(line: str, mark: str = SEPARATORS[0], *, texts: Sequence[str] = TEXTS) -> bool:
    """Whether a line names columns, an id and a text among them, with commas between."""
    names = _row(line[:MOST_CHARACTERS], mark)
    return names_columns(names, texts=texts) and all(map(HEADING.fullmatch, names))


def _has_separator(line: str) -> bool:
    return "\t" not in line and any(mark in line for mark in SEPARATORS)


def _is_csv(lines: Sequence[str], mark: str, *, ends_there: bool) -> bool:
    rows = [_row(line, mark) for line in lines]
    if not rows:
        return False
    names, widths = rows[0], {len(row) for row in rows}
    if is_csv_header(lines[0], mark):
        return True  # whatever comes: bare commas, or quotes that are closed lines later
    if len(rows) > 1 and " " not in lines[0] and may_name_columns(names):
        return min(widths) == len(names)
    if not ends_there or len(rows) < LEAST_ROWS or min(widths) < 2:
        return False
    is_even = len(widths) == 1
    if is_even and all(line.startswith('"') for line in lines):
        return True
    number = THOUSANDS if is_even else NUMBER
    return not any(number.match(line) for line in lines) and _have_ids(rows)


def _have_ids(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows begin with ids, closely followed by a field of several words."""
    return (
        all(ROW_ID.fullmatch(row[0]) and not row[1].startswith(" ") for row in rows)
        and sum(any(" " in field.strip(" ") for field in row[1:]) for row in rows) >= LEAST_ROWS
    )


def _row(line: str, mark: str) -> list[str]:
    """The fields of a line; none if a quote is closed before the end of a field."""
    try:
        return next(csv.reader([line], delimiter=mark, strict=line.startswith('"')), [])
    except csv.Error:
        return []
