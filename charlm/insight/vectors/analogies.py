"""Analogies: words added and subtracted, and how often files of questions are answered.

The vectors are made of length 1 before they are added, as word2vec and gensim do (3CosAdd). The
words of a question are no answers to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from charlm.errors import ConfigError
from charlm.insight.vectors.cache import Tell
from charlm.insight.vectors.inputs import Asked, asked_of, readings_of
from charlm.insight.vectors.neighbours import check_k, no_answers
from charlm.insight.vectors.search import Neighbour
from charlm.insight.vectors.taps import At, Reader, Reading

SIGNS = {"+": 1, "-": -1}


@dataclass(frozen=True)
class Term:
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
        """The sum as it was read, as `king - man + woman`."""
        first, *rest = self.terms
        shown = [first.form if first.sign > 0 else f"- {first.form}"]
        return " ".join([*shown, *(f"{'+' if t.sign > 0 else '-'} {t.form}" for t in rest)])

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "analogy": self.expression,
            "terms": [{"sign": t.sign, "form": t.form, "known": t.is_known} for t in self.terms],
            "at": self.tap,
            "nearest": [near._asdict() for near in self.nearest],
        }


def analogy(
    expression: str,
    *,
    model: str | Path | None = None,
    k: int = 10,
    at: At = None,
    raw: bool = False,
    lower: bool = False,
    device: str = "auto",
    tell: Tell | None = None,
) -> tuple[Analogy, ...]:
    """The `k` words nearest to a sum such as `king - man + woman`, one answer a tap.

    Signs stand between blanks: a hyphen within a word is part of it. The rest as `neighbours`.

    Raises:
        ConfigError: no such sum, and as `neighbours`.
        DataError: a run that is not what was expected.
    """
    check_k(k)
    parsed = parse_expression(expression)
    asked = asked_of(model, at=at, raw=raw, lower=lower, device=device, tell=tell)
    readings = [asked.reader.read(word) for _, word in parsed]
    signs = [sign for sign, _ in parsed]
    return tuple(_answer(readings, asked, signs=signs, tap=tap, k=k) for tap in asked.taps)


def parse_expression(expression: str) -> list[tuple[int, str]]:
    """The signs and words of a sum.

    Raises:
        ConfigError: words without a sign between them, or signs without a word.
    """
    tokens = expression.split()
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
    readings: Sequence[Reading], asked: Asked, *, signs: Sequence[int], tap: str, k: int
) -> Analogy:
    for each in readings:
        if not asked.vectors.reads(each, tap=tap):
            raise ConfigError(asked.vectors.refusal(each, tap))
    found = asked.units_of(readings, tap=tap)
    sum_1E = torch.tensor(signs).float() @ found.of(readings)
    left_out = no_answers(readings, asked.vectors.run.inventory)
    (nearest,) = asked.search(tap).nearest(sum_1E[None], k=k, left_out=[left_out])
    terms = [Term(s, each.form, each.is_known) for s, each in zip(signs, readings, strict=True)]
    return Analogy(tuple(terms), tap, nearest)


@dataclass(frozen=True)
class Question:
    """a is to b as c is to d; None for what cannot be read."""

    words: tuple[Reading | None, ...]

    @property
    def is_answerable(self) -> bool:
        """Whether d is a word that can be found."""
        return self.words[3] is not None and self.words[3].is_known

    @property
    def is_known(self) -> bool:
        """Whether all four are words of the vocabulary."""
        return all(each is not None and each.is_known for each in self.words)


def right_answers(questions: Sequence[Question], asked: Asked, *, tap: str) -> list[bool | None]:
    """Whether d is the word nearest to b − a + c; None where the question could not be asked."""
    found = asked.units_of(readings_of(each.words[:3] for each in questions), tap=tap)
    rows = [n for n, q in enumerate(questions) if q.is_answerable and found.has(*q.words[:3])]
    results: list[bool | None] = [None] * len(questions)
    if not rows:
        return results
    a_QE, b_QE, c_QE = (
        found.of(readings_of((questions[n].words[i],) for n in rows)) for i in range(3)
    )
    inventory = asked.vectors.run.inventory
    words = [list(readings_of([questions[n].words[:3]])) for n in rows]
    nearest = asked.search(tap).nearest(
        b_QE - a_QE + c_QE, k=1, left_out=[no_answers(each, inventory) for each in words]
    )
    for n, answer in zip(rows, nearest, strict=True):
        right = questions[n].words[3]
        assert right is not None
        results[n] = bool(answer) and answer[0].word == right.form
    return results


def read_question(fields: Sequence[str], reader: Reader) -> Question:
    """The question of a line's four words."""
    return Question(tuple(reader.try_to_read(word) for word in fields))
