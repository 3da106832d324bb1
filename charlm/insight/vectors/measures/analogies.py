"""Analogies: words added and subtracted, and how often files of questions are answered.

The vectors are normalised before they are added, as in word2vec and gensim (3CosAdd). The words of
a question are never its answer. Files are in Google's layout (`: section`, then four words a line)
or tables with `# section` and a heading a1 a2 b1 b2. A question whose answer is outside the
vocabulary can never be answered: it is counted as left out, and not as wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from charlm.errors import ConfigError, DataError
from charlm.insight.vectors.inputs import OpenVectors, measured, open_vectors
from charlm.insight.vectors.neighbourhood import Neighbour
from charlm.insight.vectors.nn_options import AnalogyOptions, MeasureOptions
from charlm.insight.vectors.run_neighbours import no_answers
from charlm.insight.vectors.taps import Reader, ReadWord, are_known
from charlm.interface.json_results import JsonResult, plain
from charlm.interface.options import keywords
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines, split_words
from charlm.text.io.table_lines import csv_hint

SIGNS = {"+": 1, "-": -1}
HEADING = ["a1", "a2", "b1", "b2"]
NO_SECTION = "-"

Question = tuple[ReadWord | None, ...]  # a is to b as c is to d; None for what cannot be read


@dataclass(frozen=True)
class Term(JsonResult):
    """A word of an analogy."""

    sign: int  # 1 or -1
    form: str
    is_known: bool  # whether it is a word of the vocabulary


@dataclass(frozen=True)
class Analogy:
    """The words nearest to a sum of words at one tap, the most similar first."""

    terms: tuple[Term, ...]
    tap: str
    nearest: tuple[Neighbour, ...]

    @property
    def expression(self) -> str:
        """The sum as it was read, such as `king - man + woman`."""
        first, *rest = self.terms
        shown = [first.form if first.sign > 0 else f"- {first.form}"]
        return " ".join([*shown, *(f"{'+' if t.sign > 0 else '-'} {t.form}" for t in rest)])

    def to_dict(self) -> dict[str, object]:
        return {
            "analogy": self.expression,
            "terms": plain(self.terms),
            "at": self.tap,
            "nearest": plain(self.nearest),
        }


@keywords(AnalogyOptions)
def analogy(options: AnalogyOptions) -> tuple[Analogy, ...]:
    """The `k` words nearest to a sum such as `king - man + woman`, one answer a tap.

    Signs need blanks around them: a hyphen within a word is part of it. The rest as `neighbours`.

    Raises:
        ConfigError: no such sum, and as `neighbours`.
        DataError: a run that is not what was expected.
    """
    parsed = parse_expression(options.expression)
    opened = open_vectors(options)
    readings = [opened.reader.read(word) for _, word in parsed]
    signs = [sign for sign, _ in parsed]
    return tuple(
        _answer(readings, opened, signs=signs, tap=tap, k=options.k) for tap in opened.taps
    )


def parse_expression(expression: str) -> list[tuple[int, str]]:
    """The signs and words of a sum.

    Raises:
        ConfigError: words without a sign between them, or signs without a word.
    """
    tokens = split_words(expression)
    if tokens and tokens[0] not in SIGNS:
        tokens = ["+", *tokens]
    signs, words = tokens[::2], tokens[1::2]
    if len(words) < 2 or len(signs) != len(words) or not set(signs) <= SIGNS.keys():
        raise ConfigError(
            f"analogy {expression!r:.80}: expected words with + or - between them, blanks around "
            "the signs, such as 'king - man + woman'"
        )
    return [(SIGNS[sign], word) for sign, word in zip(signs, words, strict=True)]


def _answer(
    readings: Sequence[ReadWord], opened: OpenVectors, *, signs: Sequence[int], tap: str, k: int
) -> Analogy:
    for each in readings:
        if not opened.vectors.reads(each, tap=tap):
            raise ConfigError(opened.vectors.refusal(each, tap))
    found = opened.units_of(readings, tap=tap)
    sum_1E = torch.tensor(signs).float() @ found.of(readings)
    left_out = no_answers(readings, opened.vectors.run.inventory)
    (nearest,) = opened.search(tap).nearest(sum_1E[None], k=k, left_out=[left_out])
    terms = [Term(s, each.form, each.is_known) for s, each in zip(signs, readings, strict=True)]
    return Analogy(tuple(terms), tap, nearest)


@dataclass(frozen=True)
class AnswerCounts(JsonResult):
    """How many questions of a section were asked and answered."""

    section: str
    n_questions: int
    n_known: int = 0  # of four words of the vocabulary
    n_known_right: int = 0
    n_spelled: int = 0  # further ones, asked with words read by their spelling
    n_spelled_right: int = 0
    derived = ("accuracy_known", "accuracy")

    @property
    def accuracy_known(self) -> float | None:
        """The share of the known questions answered rightly; None if there are none."""
        return self.n_known_right / self.n_known if self.n_known else None

    @property
    def accuracy(self) -> float | None:
        """The share of all asked questions answered rightly; None if there are none."""
        n_asked = self.n_known + self.n_spelled
        return (self.n_known_right + self.n_spelled_right) / n_asked if n_asked else None


@dataclass(frozen=True)
class AnalogyScore(JsonResult):
    """The answers to a file of questions at one tap."""

    file: str
    tap: str
    sections: tuple[AnswerCounts, ...]
    derived = ("total",)

    @property
    def total(self) -> AnswerCounts:
        """The counts over all sections."""
        names = ("n_questions", "n_known", "n_known_right", "n_spelled", "n_spelled_right")
        sums = {name: sum(getattr(each, name) for each in self.sections) for name in names}
        return AnswerCounts("total", **sums)


@keywords(MeasureOptions)
def analogy_accuracy(options: MeasureOptions) -> tuple[AnalogyScore, ...]:
    """How many questions of each file are answered at each tap, section by section.

    The rest as `neighbours`.

    Raises:
        ConfigError: as `neighbours`.
        DataError: a file of another format.
    """
    return measured(options, read=_read_sections, score=_score)


def _read_sections(path: str | Path, reader: Reader) -> dict[str, list[Question]]:
    name = display_name(path)
    sections: dict[str, list[Question]] = {}
    section = NO_SECTION
    for number, line in read_lines(path):
        fields = split_words(line)
        if fields and fields[0] in (":", "#"):
            section = " ".join(fields[1:]) or NO_SECTION
        elif len(fields) == len(HEADING):
            if fields != HEADING:
                words = tuple(map(reader.try_to_read, fields))
                sections.setdefault(section, []).append(words)
        elif fields:
            raise DataError(
                f"{name}:{number}: found {len(fields)} words; expected four words, or : section"
                f"{csv_hint(line)}"
            )
    if not sections:
        raise DataError(f"{name}: no question in it; expected four words a line")
    return sections


def _score(
    sections: dict[str, list[Question]], opened: OpenVectors, *, tap: str, name: str
) -> AnalogyScore:
    questions = [each for section in sections.values() for each in section]
    results = iter(_right_answers(questions, opened, tap=tap))
    answers = []
    for section, listed in sections.items():
        outcomes = [(are_known(words), next(results)) for words in listed]
        known = [right for is_known, right in outcomes if is_known and right is not None]
        spelled = [right for is_known, right in outcomes if not is_known and right is not None]
        numbers = (len(listed), len(known), sum(known), len(spelled), sum(spelled))
        answers.append(AnswerCounts(section, *numbers))
    return AnalogyScore(name, tap, tuple(answers))


def _right_answers(
    questions: Sequence[Question], opened: OpenVectors, *, tap: str
) -> list[bool | None]:
    """Whether d is the word nearest to b − a + c; None where the question could not be asked."""
    found = opened.units_of((word for words in questions for word in words[:3]), tap=tap)
    results: list[bool | None] = [None] * len(questions)
    asked = [
        (n, words, words[3].form)
        for n, words in enumerate(questions)
        if words[3] is not None and words[3].is_known and found.has(*words[:3])
    ]
    if not asked:
        return results
    a_QE, b_QE, c_QE = (found.of(words[i] for _, words, _ in asked) for i in range(3))
    left_out = [no_answers(words[:3], opened.vectors.run.inventory) for _, words, _ in asked]
    nearest = opened.search(tap).nearest(b_QE - a_QE + c_QE, k=1, left_out=left_out)
    for (n, _, right), answer in zip(asked, nearest, strict=True):
        results[n] = bool(answer) and answer[0].word == right
    return results
