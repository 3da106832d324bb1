"""Lists of the translation systems Moses, Marian and Joshua: `id ||| words ||| features ||| total`.

The separator is `|||` with or without blanks, since some writers leave out the one after the id. A
label applies to all numbers up to the next label: `tm= -1 -2` are the features tm_1 and tm_2.
Marian writes alignments and the scores of words before the features, others after the total; they
are kept and not read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.reading.format import FEATURE, Sample, Source
from charlm.nbest.reading.list_lines import Line, lines_of
from charlm.nbest.reading.policies import (
    check_options,
    is_number,
    number,
    plain_words,
    refuse_twice,
    score_text,
)
from charlm.nbest.reading.templates import ListBuilder, OtherLine, Row, TemplateFormat
from charlm.text.io.lines import split_words

BAR = "|||"
ALIGNMENT = re.compile(r"[0-9][-0-9.,e+]*")  # 0-0, or soft: 0.1,0.9


class MosesFormat(TemplateFormat):
    """Features as they stand, and the model's own `total`, which ranked the list.

    The new feature goes to the end of the others, labelled like its neighbours; the total stays as
    the decoder wrote it. A single number after the words is a total without features. A feature
    that only some hypotheses of a list have is 0 in the others: decoders leave out zeros. Blank
    lines mean nothing and are kept.
    """

    name = "moses"
    weights = {"total": 1.0}

    def claims(self, sample: Sample) -> bool:
        """Every line has a whole number, `|||`, words, `|||`, labelled features, and a total."""
        lines = [line for line in sample.lines if line.strip(" \t")]
        return bool(lines) and all(_looks_so(line) for line in lines)

    def read(self, source: Source) -> Iterator[NbestList]:
        check_options(source, self.name)
        with lines_of(source) as lines:
            builder = ListBuilder(source, name=lines.name, ragged=True)
            yield from map(_with_zeros, builder.lists(map(_row, lines)))

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        original = hypothesis.original
        assert isinstance(original, tuple)
        if score is None:
            return BAR.join(original)
        refuse_twice(hypothesis)
        fields = _whole(original)
        which = _features_at(fields)
        kept = fields[which].rstrip(" \t")
        blank = fields[which][len(kept) :] or (" " if fields[which + 1 :] else "")
        mark = ":" if kept.endswith(":") or re.search(r"\S:(\s|$)", kept) else "="
        # `lm_0=-12.5` of Joshua and cdec, whose readers expect a number right behind a label
        gap = "" if mark == "=" and re.search(r"=[^ \t=]+$", kept) else " "
        fields[which] = f"{kept} {FEATURE}{mark}{gap}{score_text(score, hypothesis)}{blank}"
        return BAR.join(fields)


def _with_zeros(nbest: NbestList) -> NbestList:
    """The list with the zeros that decoders leave out: those of features, not of scores."""
    zeros = {name: 0.0 for each in nbest.hypotheses for name in each.features}
    for score in ("total", FEATURE):
        zeros.pop(score, None)
    hypotheses = (replace(each, features={**zeros, **each.features}) for each in nbest.hypotheses)
    return replace(nbest, hypotheses=tuple(hypotheses))


def _row(line: Line) -> Row | OtherLine:
    if not line.text.strip(" \t"):
        return OtherLine(line)
    original = line.text.split(BAR)
    fields = _whole(original)
    if len(fields) < 3:
        raise DataError(
            f"{line.place}: found {len(fields)} fields between '|||'; expected at least 3 "
            "(id ||| words ||| features ||| total)"
        )
    key = fields[0].strip(" \t")
    if not key:
        raise DataError(f"{line.place}: found no id before the first '|||'; expected a number")
    features: dict[str, float] = {}
    at = _features_at(fields)
    _refuse_words(fields[2:at], line.place)
    named = list(_labelled(fields[at], line.place))
    named += [("total", field.strip(" \t")) for field in fields[at + 1 : at + 2]]
    for name, value in named:
        if name in features:
            raise DataError(
                f"{line.place}: found the feature {name!r} twice; expected each once, and 'total' "
                "is the field behind the features; rename its label"
            )
        features[name] = number(value, f"{line.place}: feature {name!r}")
    return Row(line, key, plain_words(fields[1], line.place), features, tuple(original))


def _refuse_words(between: Sequence[str], place: str) -> None:
    """Raises DataError for words between the words and the features: a text that holds `|||`."""
    for token in split_words(" ".join(between)):
        if not (ALIGNMENT.fullmatch(token) or is_number(token) or _label(token)):
            raise DataError(
                f"{place}: found {token[:40]!r} between the words and the features; expected "
                "alignments or scores; if the words hold '|||', write it otherwise; if this is a "
                "field of its own, as a tree, take it out"
            )


def _whole(fields: Sequence[str]) -> list[str]:
    """The fields, with an empty field of features if only a total follows the words."""
    if len(fields) == 3 and is_number(fields[2].strip(" \t")):
        return [*fields[:2], " ", fields[2]]
    return list(fields)


def _features_at(fields: Sequence[str]) -> int:
    """The index of the field of features: the third or, in Marian's, the one before the total."""
    before = (at - 1 for at in range(3, len(fields)) if is_number(fields[at].strip(" \t")))
    found = next(before, 2)
    return found if "=" in fields[found] else 2


def _labelled(field: str, place: str) -> Iterator[tuple[str, str]]:
    """Names and values of a field of features; a name applies to all numbers up to the next."""
    owned: dict[str, list[str]] = {}
    label = ""
    for token in split_words(field):
        found = _label(token)
        if found is None:
            owned.setdefault(label, []).append(token)
            continue
        label, value = found
        if label in owned:
            raise DataError(f"{place}: found the label {label!r} twice; expected each once")
        owned[label] = [value] if value else []
    for label, values in owned.items():
        name = label or "f"
        if label and len(values) == 1:
            yield label, values[0]
        else:
            yield from ((f"{name}_{i}", value) for i, value in enumerate(values, 1))


def _label(token: str) -> tuple[str, str] | None:
    """The name in `lm=`, `lm:` or `lm=-1`, and what follows it; None for a number on its own."""
    if len(token) > 1 and token[-1] in "=:":
        return token[:-1], ""
    name, _, value = token.rpartition("=")  # the last `=`: names of sparse features hold others
    return (name, value) if name else None


def _looks_so(line: str) -> bool:
    fields = line.split(BAR)
    if len(fields) < 3 or not fields[0].strip(" \t").isdecimal():
        return False
    at = _features_at(fields)
    numbers = [token for token in split_words(fields[at]) if _label(token) is None]
    totals = [field.strip(" \t") for field in fields[at + 1 : at + 2]]
    return all(map(is_number, [*numbers, *totals]))
