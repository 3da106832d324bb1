"""Rules that replace words by words, one a line: `can't TAB ca n't`.

If several rules fit, the one with the most words is taken, and of those one without `*` first. `*`
stands for the rest of a word on both sides: `*n't TAB * n't` cuts every such word in two, and
`* n't TAB *n't` joins them again, but nothing to `<unk>`, which is no spelling. With nothing after
the TAB the words are removed. The result of a rule is not looked at again, and no rule may change
it by itself. Next to other words, or by what stands for `*`, one may: where a map is applied again,
as by all who read a corpus of `prep --map`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from charlm.errors import DataError
from charlm.text.corpus.tokens import is_mark
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines, split_words
from charlm.text.io.table_lines import csv_hint

Rules = tuple[tuple[str, str], ...]  # what stands there, what is read; words with a blank between

REST = "*"
NO_TEXT = re.compile("[\n\0\ud800-\udfff]")  # what no line of a text holds
MOST_REMEMBERED = 1 << 16  # phrases that a rule with `*` was tried on
LONG = 200  # characters: no word of a language, but junk, which would fill the memory


def rules_of(
    said: str | Path | Mapping[str, str] | None, *, plain: Callable[[str], str] = str
) -> Rules:
    """The rules of a file, or of a mapping.

    Blank lines of a file, and lines without a TAB that begin with `#`, are skipped. `plain` gives
    the case and Unicode form in which rules are applied, and in which they must not collide.

    Raises:
        DataError: FILE:LINE of a line that is not a rule, or a repeated one; a rule whose result
            another one would change.
    """
    if said is None:
        return ()
    if isinstance(said, Mapping):
        return _checked((("map", f"{old}\t{new}") for old, new in said.items()), plain, name="map")
    name = display_name(said)
    lines = (
        (f"{name}:{number}", line)
        for number, line in read_lines(said)
        if line.strip(" \t") and ("\t" in line or not line.startswith("#"))
    )
    return _checked(lines, plain, name=name)


def _checked(lines: Iterable[tuple[str, str]], plain: Callable[[str], str], *, name: str) -> Rules:
    """The rules of lines, each behind where it stands."""
    rules: dict[str, str] = {}
    applied: dict[str, str] = {}
    for where, line in lines:
        sides = [" ".join(split_words(each)) for each in line.split("\t")]
        if len(sides) != 2 or not plain(sides[0]) or NO_TEXT.search(line):
            raise DataError(
                f"{where}: found {line[:40]!r}; expected words, TAB, and what is read in their "
                f"place{csv_hint(line)}"
            )
        old, new = map(plain, sides)
        if not can_be_rule(old, new):
            raise DataError(
                f"{where}: found {line[:40]!r}; expected one {REST} on both sides or none, with "
                "letters or words beside it"
            )
        if applied.setdefault(old, new) != new:
            raise DataError(f"{where}: found a second rule for {old[:40]!r}; expected one")
        rules[sides[0]] = sides[1]
    changed = PhraseMap(tuple(applied.items()))
    for old, new in applied.items():
        again = " ".join(changed(split_words(new)))
        if again != new:
            raise DataError(
                f"{name}: {old[:40]!r} becomes {new[:40]!r}, and that {again[:40]!r} by another "
                "rule; expected rules that leave each other's results alone; write the last one"
            )
    return tuple(rules.items())


def can_be_rule(old: str, new: str) -> bool:
    """Whether words stand on the left, and `*` once on both sides, beside something, or on neither.

    The right side may be empty. Several `*` could take for ever to match.
    """
    is_even = old.count(REST) == new.count(REST) <= 1
    return old not in ("", REST) and (is_even or (old.count(REST) == 1 and not new))


class PhraseMap:
    """Words in, words out, by rules."""

    def __init__(self, rules: Rules) -> None:
        self._exact = {
            tuple(split_words(old)): split_words(new) for old, new in rules if REST not in old
        }
        self._patterns: dict[int, list[_Pattern]] = {}
        for old, new in rules:
            if REST in old:
                words = split_words(old)
                pattern = re.compile(re.escape(" ".join(words)).replace(r"\*", "([^ ]+)"))
                place = next(n for n, word in enumerate(words) if REST in word)
                self._patterns.setdefault(len(words), []).append(_Pattern(pattern, place, new))
        self._lengths = sorted({*map(len, self._exact), *self._patterns}, reverse=True)
        self._remembered: dict[str, list[str] | None] = {}

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The words that are read in the place of these."""
        read: list[str] = []
        at = 0
        while at < len(words):
            for length in self._lengths:
                phrase = tuple(words[at : at + length])
                found = self._exact.get(phrase)
                if found is None and length in self._patterns and len(phrase) == length:
                    found = self._by_pattern(" ".join(phrase), self._patterns[length])
                if found is not None:
                    read += found
                    at += length
                    break
            else:
                read.append(words[at])
                at += 1
        return read

    @property
    def has_phrases(self) -> bool:
        """Whether a rule is of more than one word."""
        return max(self._lengths, default=1) > 1

    def _by_pattern(self, phrase: str, patterns: Sequence["_Pattern"]) -> list[str] | None:
        if phrase in self._remembered:
            return self._remembered[phrase]
        results = (pattern.applied(phrase) for pattern in patterns)
        found = next((each for each in results if each is not None), None)
        if len(phrase) <= LONG:
            if len(self._remembered) > MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[phrase] = found
        return found


class _Pattern(NamedTuple):
    """A rule with `*`."""

    pattern: re.Pattern[str]
    place: int  # of the word with `*`
    new: str

    def applied(self, phrase: str) -> list[str] | None:
        """What is read; None: the rule does not fit, or would join a mark to letters or cut it."""
        match = self.pattern.fullmatch(phrase)
        if match is None:
            return None
        read = split_words(self.new.replace(REST, match[1]))
        word = phrase.split(" ")[self.place]
        return None if read and is_mark(word) and word not in read else read
