"""References for lists (what was really said), from the usual kinds of files.

References without ids are matched by order. A file with the ids of another set could pass for such
plain text, so a file counts as plain only if its lines do not look as if they began with ids.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from charlm.errors import DataError, first_few
from charlm.nbest.formats.csv_tables import CsvFormat
from charlm.nbest.formats.one_best import COMMENT, id_before, id_behind, refuse_alternatives
from charlm.nbest.formats.tsv import Columns, TsvFormat, columns_named, is_comment
from charlm.nbest.hypotheses import NbestList, StrippedWords
from charlm.nbest.reading.json_values import Number, dumped, parsed
from charlm.nbest.reading.list_lines import Line as ListLine
from charlm.nbest.reading.policies import DECIMAL, plain_words
from charlm.nbest.reading.repairs import Notices
from charlm.settings import shown
from charlm.text.corpus.normalisation.labels import BRACED
from charlm.text.io.files import display_name
from charlm.text.io.lines import LIST, LineRules, read_lines, split_words
from charlm.text.io.table_lines import (
    REFERENCES,
    TEXTS,
    csv_hint,
    is_csv_header,
    names_columns,
    refuse_table_lines,
)

References = Mapping[str, tuple[str, ...]]
ReferenceFormat = Literal["jsonl", "stm", "trn", "tsv", "csv", "kaldi", "plain"]

ID_KEYS = ("id", "utt", "utt_id", "key")
TEXT_KEYS = ("ref", "reference", "text")
COLUMNS = (*REFERENCES, *TEXTS)  # what a table may call its references
WITHOUT_REFERENCE = "lists without a reference"
MARKED = "<s> or </s> at the ends of references"
MAX_DIGITS = 10  # of an id that counts lists
# NIST's: the recording, its channel, the speaker, begin and end in seconds, labels, the text. The
# channel may be called anything, but without labels or the mark it could be a word.
NOT_SCORED = "ignore_time_segment_in_scoring"
CHANNEL = rf"(?:[0-9AB]|\S+(?= \S+ {DECIMAL} {DECIMAL} (?:<[^>]*>|(?i:{NOT_SCORED}))))"
STM = re.compile(
    rf"(\S+) {CHANNEL} \S+ ({DECIMAL}) ({DECIMAL})( <[^>]*>)?(?: (.*))?".replace(" ", "[ \t]+")
)
# NIST's too, for words: recording, channel, begin and duration, the word, perhaps its confidence.
CTM = re.compile(rf"\S+ [0-9AB] [0-9]+\.[0-9]+ {DECIMAL} \S+(?: {DECIMAL})?".replace(" ", "[ \t]+"))
NIST = ("stm", "trn")
OPTIONAL = re.compile(r"\([^()]+\)")  # NIST's: `(uh)` is right as `uh`, and where it is left out
NO_HEADER = (
    "references; write a header above it that calls its columns id and ref, with commas between, "
    "or save it as utt TAB text, without quotes"
)


Line = tuple[int, str]
Entry = tuple[int, str, str]  # the number of a line, its id and its text


def read_references(
    path: str | Path,
    ids: Sequence[str],
    *,
    notices: Notices,
    allow_missing: bool = False,
    rules: LineRules = LIST,
) -> dict[str, tuple[str, ...]]:
    """The reference of each list, by the list's id.

    Accepted are `utt TAB text`, or a table whose header names columns as lists do (tsv, csv),
    `utt text` (kaldi), `text (utt)` (trn), NIST's `utt channel speaker begin end text` (stm), JSON
    lines with id and ref, and lines in the order of the lists (plain). `<s>` and `</s>` at the ends
    are left out, as in hypotheses. `allow_missing`: lists without a reference, and references
    without a list, are left out. The latter are counted in `notices`.

    Raises:
        DataError: none of these forms, a repeated id, ids that are not those of the lists, or
            `<s>` or `</s>` inside.
    """
    name = display_name(path)
    lines = list(read_lines(path, rules=rules))
    form = _detect(lines, ids=ids, name=name)
    if form == "plain":
        pairs = zip(ids, lines, strict=True)
        return {id: _words(text, f"{name}:{n}", notices=notices) for id, (n, text) in pairs}
    found: dict[str, tuple[str, ...]] = {}
    for number, id, text in _entries(form, lines, name=name):
        if form == "stm" and _is_ignored(text):
            if not allow_missing:
                raise DataError(
                    f"{name}:{number}: {shown(text.strip())}; expected the words that were said; "
                    "--allow-missing leaves such out"
                )
            notices.pass_over("segments that are not to be scored", 1)
            continue
        if id in found:
            raise DataError(
                f"{name}:{number}: a second reference for {id!r}; expected one: "
                "further ones of each list have a file of their own"
            )
        found[id] = _words(text, f"{name}:{number}", notices=notices)
        if form in NIST:
            notices.n_optional += sum(map(bool, map(OPTIONAL.fullmatch, found[id])))
            refuse_alternatives(found[id], text=text, place=f"{name}:{number}")
    if not allow_missing:
        _require_same_ids(found, ids, name=name)
    notices.pass_over("references without a list", len(set(found) - set(ids)))
    return {id: found[id] for id in ids if id in found}


class SeveralReferences(dict[str, tuple[str, ...]]):
    """The references in the first of several files, of the lists that have one in each of them."""

    def __init__(self, files: Sequence[References]) -> None:
        of_all = set.intersection(*map(set, files))
        super().__init__({id: words for id, words in files[0].items() if id in of_all})
        self.files = files


def by_file(references: References) -> Sequence[References]:
    """The references in each of several files, or in the only one."""
    return references.files if isinstance(references, SeveralReferences) else [references]


def _words(text: str, where: str, *, notices: Notices) -> tuple[str, ...]:
    words = plain_words(text, where)
    notices.pass_over(MARKED, isinstance(words, StrippedWords))
    return tuple(words)


def require_references(path: str | Path, *, rules: LineRules) -> None:
    """Raises DataError for a file that is missing or empty; a pipe is not touched."""
    if Path(path).exists() and not Path(path).is_file():
        return
    if not any(text.strip(" \t") for _, text in read_lines(path, rules=rules)):
        raise DataError(f"{display_name(path)}: empty; expected references")


def _is_ignored(text: str) -> bool:
    return text.casefold().split() == [NOT_SCORED]


def own_references(
    lists: Sequence[NbestList], *, allow_missing: bool = False
) -> dict[str, tuple[str, ...]]:
    """The references in the lists themselves.

    `allow_missing`: lists without one are left out.

    Raises:
        DataError: a list that holds none.
    """
    for nbest in lists:
        if nbest.reference is None and not allow_missing:
            raise DataError(
                f"list {nbest.id!r}: no reference in it; give a file with --refs, or leave such "
                "lists out with --allow-missing"
            )
    return {each.id: each.reference for each in lists if each.reference is not None}


def _require_same_ids(found: References, ids: Sequence[str], *, name: str) -> None:
    known = set(ids)
    missing = [id for id in ids if id not in found]
    surplus = [id for id in found if id not in known]
    parts = []
    if missing:
        parts.append(f"no reference for {len(missing)} of {len(ids)} lists ({_first(missing)})")
    if surplus:
        parts.append(f"{len(surplus)} references for no list ({_first(surplus)})")
    if parts:
        raise DataError(
            f"{name}: {' and '.join(parts)}; expected the ids of the lists; "
            f"{_unicode_form_hint(missing, surplus) or '--allow-missing leaves such out'}"
        )


def _unicode_form_hint(ids: Iterable[str], others: Iterable[str]) -> str:
    """A hint if ids differ in Unicode form alone, as in names of files from macOS; else ""."""
    composed, known = partial(unicodedata.normalize, "NFC"), {*ids}
    if {*map(composed, known)}.isdisjoint(map(composed, {*others} - known)):
        return ""
    return "some differ in Unicode form alone (NFC, NFD): write both alike"


def _first(ids: Sequence[str]) -> str:
    return first_few([*map(shown, ids)])


def _detect(lines: Sequence[Line], *, ids: Sequence[str], name: str) -> ReferenceFormat:
    """The form in which most lines have the id of a list; plain if hardly any line has one."""
    full = [(number, text) for number, text in lines if text.strip(" \t")]
    if not full:
        raise DataError(f"{name}: empty; expected references")
    if marked := _marked_form(full, name=name):
        return marked
    full = [(number, text) for number, text in full if not text.startswith(COMMENT)]
    refuse_table_lines([text for _, text in full], name, expected=NO_HEADER)
    if full and all(CTM.fullmatch(text.rstrip(" \t")) for _, text in full):
        raise DataError(
            f"{name}: each line is a word with its times (CTM); expected all words of an utterance "
            "on one line, as `utt text` or in STM"
        )
    known = set(ids)
    forms: tuple[ReferenceFormat, ...] = ("trn", "tsv", "kaldi")
    hits = {form: sum(_keyed(form, text)[0] in known for _, text in full) for form in forms}
    best = max(hits, key=lambda form: hits[form])
    if 2 * hits[best] >= min(len(full), len(known)):
        return best
    if len(lines) == len(ids) and not _keyed_form([text for _, text in full]):
        _require_order(ids, name=name)
        return "plain"
    of_lines = f" in {len(lines)} lines" if len(full) < len(lines) else ""
    hint = _unicode_form_hint(known, (_keyed(form, text)[0] for form in forms for _, text in full))
    raise DataError(
        f"{name}: {len(full)} references{of_lines} for {len(ids)} lists, {hits[best]} with an id "
        f"of theirs; expected ids such as {shown(ids[0]) if ids else 'none'}, or a line for each "
        f"list{hint and f'; {hint}'}{_numbers_hint(ids, n_lines=len(lines))}"
    )


def _numbers_hint(ids: Sequence[str], *, n_lines: int) -> str:
    """A hint for more lines than lists whose ids are lines' numbers: decoders skip empty ones."""
    if not (ids and n_lines > len(ids) and _are_numbers(ids)):
        return ""
    numbers = [*map(int, ids)]
    first = int(max(numbers) == n_lines)
    if max(numbers) >= n_lines + first:
        return ""
    other = "" if first or 0 in numbers else " (-v1 if they count from 1)"
    return (
        f"; if the ids are numbers of lines, nl -ba -w1 -v{first} REFS writes them{other}, and "
        "--allow-missing leaves out lines without a list"
    )


def form_alone(lines: Iterable[Line], *, name: str) -> ReferenceFormat | None:
    """The form that references show by themselves, without the lists; None for a plain text."""
    full = [(n, text) for n, text in lines if text.strip(" \t") and text[:2] != COMMENT]
    if not full:
        return None
    form = _marked_form(full, name=name)
    if form == "jsonl":
        with suppress(DataError):  # a text may begin with a brace
            _from_json(full[0][1], number=1, where=name)
            return form
        return None
    return form or _keyed_form([text for _, text in full])


def texts_of(lines: Sequence[Line], form: ReferenceFormat, *, name: str) -> Iterator[Line]:
    """The lines of references without their ids, except segments that are not scored.

    Raises:
        DataError: a line that is not of this form.
    """
    entries = list(_entries(form, lines, name=name))
    if not entries:  # STM is told by all lines together
        raise DataError(f"{name}: begins as {form} and goes on as something else; expected one")
    yield from ((n, text) for n, _, text in entries if form != "stm" or not _is_ignored(text))


def _marked_form(full: Sequence[Line], *, name: str) -> ReferenceFormat | None:
    """The form of references that are JSON, a table with a header, or STM."""
    first = full[0][1]
    if first.startswith("{") and not (_keyed("trn", first)[0] or BRACED.match(first)):
        return "jsonl"
    return _table_form(full) or ("stm" if _segments(full, name=name) else None)


def _require_order(ids: Sequence[str], *, name: str) -> None:
    """Raises DataError for ids that count the lists, but in another order than their numbers."""
    if not _are_numbers(ids):
        return
    numbers = [*map(int, ids)]
    counts = sorted(numbers)
    if numbers != counts and counts[0] in (0, 1) and counts == [*range(counts[0], counts[-1] + 1)]:
        raise DataError(
            f"{name}: a line for each list, whose ids are {counts[0]} to {counts[-1]} in another "
            "order; expected lists in order, or references with ids "
            f"(nl -ba -w1 -v{counts[0]} REFS)"
        )


def _are_numbers(ids: Sequence[str]) -> bool:
    return all(id.isascii() and id.isdecimal() and len(id) < MAX_DIGITS for id in ids)


def _segments(full: Sequence[Line], *, name: str) -> list[Entry]:
    """Number, id and text of STM's segments; empty if the lines are something else.

    They are STM only if all have times, and these cannot be mere digits that were spoken.
    """
    found = [(n, line, STM.fullmatch(line)) for n, line in full if line[:2] != COMMENT]
    segments = [(n, each) for n, _, each in found if each and float(each[2]) <= float(each[3])]
    if len(segments) < len(found) or not any(each[4] or "." in each[0] for _, each in segments):
        if len(found) == len(full) or all(_keyed("trn", line)[0] for _, line, _ in found):
            return []
        n, line = next(((n, line) for n, line, each in found if not each), full[0])
        raise DataError(
            f"{name}:{n}: {shown(line)}; expected STM, as other lines begin with ;;, a segment "
            "`utt channel speaker begin end text`"
        )
    have_labels = all(each[4] for _, each in segments if not _is_ignored(each[5] or ""))
    return [(n, each[1], _said(each, have_labels=have_labels)) for n, each in segments]


def _said(segment: re.Match[str], *, have_labels: bool) -> str:
    """The text of an STM segment; `<o,f0,male>` is a label, `<unk>` only if all have such."""
    tag, text = segment[4] or "", segment[5] or ""
    return text if have_labels or "," in tag else f"{tag} {text}"


def _keyed_form(texts: Sequence[str]) -> ReferenceFormat | None:
    """The form in which lines look as if they began, or ended, with ids; None if one has none."""
    if all(_keyed("trn", text)[0] for text in texts):
        return "trn"
    if all("\t" in text for text in texts):
        return "tsv"
    first = [split_words(text)[0] for text in texts]
    are_ids = len(set(first)) == len(first) and all(re.search("[0-9]", word) for word in first)
    return "kaldi" if are_ids else None


def _keyed(form: ReferenceFormat, line: str) -> tuple[str, str]:
    """Id and text of a line; an empty id if it has none."""
    if form == "trn":
        return id_behind(line)
    if form == "tsv":
        id, tab, text = line.partition("\t")
        return (id.strip(" "), text) if tab else ("", line)
    return id_before(line)


def _table_form(lines: Iterable[Line]) -> Literal["tsv", "csv"] | None:
    """The form of a table whose first line names its columns; None if it names none."""
    first = next((text for _, text in lines if not is_comment(text)), "")
    if names_columns(first.split("\t"), texts=COLUMNS):
        return "tsv"
    return "csv" if is_csv_header(first, texts=COLUMNS) else None


def _table_entries(
    form: Literal["tsv", "csv"], lines: Iterable[Line], *, name: str
) -> Iterator[Entry]:
    """The references of a table, from its column `ref`, or `text` if there is none."""
    table = CsvFormat() if form == "csv" else TsvFormat()
    columns = None
    rows = table.records(ListLine(number, text, f"{name}:{number}") for number, text in lines)
    for line, fields, _ in rows:
        if is_comment(line.text):
            continue
        if columns is None:
            columns = _columns(fields, line.place)
            continue
        table.check_width(fields, columns, place=line.place)
        id, text = (fields[columns.roles[role]] for role in ("id", "text"))
        if not id:
            raise DataError(f"{line.place}: found an empty id; expected the name of an utterance")
        yield line.number, id, text


def _columns(names: Sequence[str], place: str) -> Columns:
    """The columns of a table of references; `text` is the column that holds them."""
    has_text = names_columns(names)
    called = [TEXTS[0] if not has_text and name.lower() in REFERENCES else name for name in names]
    found = columns_named(called, place, error=DataError)
    text = found.roles.get("ref", found.roles["text"])
    return replace(found, names=tuple(names), roles={**found.roles, "text": text})


def _entries(form: ReferenceFormat, lines: Sequence[Line], *, name: str) -> Iterable[Entry]:
    if form == "csv" or (form == "tsv" and _table_form(lines) == "tsv"):
        yield from _table_entries(form, lines, name=name)
        return
    full = [(number, line) for number, line in lines if line.strip(" \t")]
    if form == "stm":
        yield from _segments(full, name=name)
        return
    if form == "tsv":
        _refuse_columns(full, name=name)
    shapes = {"trn": "text (utt)", "tsv": "utt TAB text", "kaldi": "utt text"}
    for number, line in full:
        if form == "trn" and line.startswith(COMMENT):
            continue
        if form == "jsonl":
            yield _from_json(line, number=number, where=f"{name}:{number}")
            continue
        id, text = _keyed(form, line)
        if not id:
            raise DataError(
                f"{name}:{number}: {shown(line)}; expected {shapes[form]}{csv_hint(line)}"
            )
        yield number, id, text


def _refuse_columns(full: Sequence[Line], *, name: str) -> None:
    """Raises DataError for a table of three columns and more that does not say which is which."""
    widths = {line.count("\t") + 1 for _, line in full}
    further = "".join(field for _, line in full for field in line.split("\t")[2:])
    if len(widths) == 1 and further.strip(" "):
        raise DataError(
            f"{name}:{full[0][0]}: found {max(widths)} fields between TABs; expected utt TAB text; "
            "drop the others, or write a header above that calls two of the columns id and ref"
        )


def _from_json(line: str, *, number: int, where: str) -> Entry:
    value = parsed(line, where)
    if isinstance(value, dict):
        id = next((value[key] for key in ID_KEYS if key in value), None)
        text = next((value[key] for key in TEXT_KEYS if key in value), None)
        if isinstance(id, Number) and id.is_whole:
            id = id.text
        if isinstance(id, str) and isinstance(text, str):
            return number, id, text
    raise DataError(f'{where}: {dumped(value)[:80]}; expected {{"id": …, "ref": …}}')
