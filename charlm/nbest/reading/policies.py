"""What every format does where tools disagree.

`<s>` and `</s>` are removed from the ends of a sentence and counted; inside it they are an error. A
feature that is not a finite number is an error that names the utterance, or is replaced by the
worst finite value of its list and counted. An id may occur only once.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite, log, nan

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import LARGEST, Hypothesis, StrippedWords
from charlm.nbest.reading.format import FEATURE, Source
from charlm.nbest.reading.repairs import WORST, Filling
from charlm.text.corpus.tokens import without_marks
from charlm.text.io.lines import split_words

LN10 = log(10)
# Possessive, or `[0-9]+\.?[0-9]*` could be split in as many ways as there are digits.
DECIMAL = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
NUMBER = re.compile(rf"{DECIMAL}|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
NOT_FOR_ALL = {  # fields of a source that only some formats take
    "columns": "names of columns",
    "features": "files of features",
    "length_penalty": "a length penalty",
}
MAX_PENALTY = 10
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_number(text: str) -> bool:
    """Whether `number` accepts the text."""
    return NUMBER.fullmatch(text) is not None


def number(text: str, where: str, *, remedy: str = "") -> float:
    """The number in a field; NaN and infinity are left to `with_finite_features`.

    Raises:
        DataError: no number; the message begins with `where` and ends with `remedy`.
    """
    if not is_number(text):
        raise DataError(f"{where}: found {text[:40]!r}; expected a number{remedy}")
    return float(text)


def score_text(score: float, hypothesis: Hypothesis) -> str:
    """A score as text with six decimals.

    Raises:
        DataError: NaN or infinity.
    """
    if not isfinite(score):
        raise DataError(
            f"{hypothesis.place}: the score of this hypothesis is {score}; expected a finite "
            "number to write into the list; score it with a model without zeros"
        )
    return f"{score:.6f}"


def check_options(source: Source, name: str, *taken: str) -> None:
    """Refuse options that the format of a list has no use for, and impossible length penalties.

    Where a penalty could be given and was not, that is noted: the scores may be means.

    Raises:
        ConfigError: names of columns, further files or a length penalty that are not `taken`; a
            penalty beyond ±10.
    """
    for said, what in NOT_FOR_ALL.items():
        if getattr(source, said) and said not in taken:
            raise ConfigError(f"format {name!r}: found {what}; expected none; leave it out")
    if "length_penalty" in taken:
        penalty = source.length_penalty
        if not abs(penalty) <= MAX_PENALTY:  # NaN compares false
            raise ConfigError(
                f"length penalty {penalty:g}: expected what `generate` was given, a number up to "
                f"{MAX_PENALTY}"
            )
        source.notices.may_be_means = not penalty


def plain_words(text: str, place: str) -> tuple[str, ...]:
    """The words of a sentence between blanks and TABs, without `<s>` and `</s>` at the ends.

    They are `StrippedWords` if there were such marks.

    Raises:
        DataError: `<s>` or `</s>` inside, or a character that a line of text cannot hold.
    """
    if "\n" in text or "\0" in text:
        raise DataError(f"{place}: found a line end or NUL in a sentence; expected one line")
    words = split_words(text)
    bare = without_marks(words, where=place)
    return tuple(bare) if len(bare) == len(words) else StrippedWords(bare)


def ids_once() -> Callable[..., None]:
    """A function that checks the id of each list, and raises DataError for a repeated one.

    Its argument `by` is the command that sorts such a list, if there is one.
    """
    seen: set[str] = set()

    def check(key: str, place: str, *, by: str = "") -> None:
        if key in seen:
            raise DataError(
                f"{place}: found the id {key[:80]!r} again after others; expected its hypotheses "
                f"together; sort the list{by and f' ({by})'}, or give the lists different ids"
            )
        seen.add(key)

    return check


def refuse_twice(hypothesis: Hypothesis, name: str = FEATURE) -> None:
    """Raises DataError for a list that already has this feature, by default `charlm`."""
    if name in hypothesis.features:
        raise DataError(
            f"{hypothesis.place}: found a feature {name!r} already; expected none; rename it"
        )


def with_finite_features(
    key: str, hypotheses: Sequence[Hypothesis], *, source: Source, ragged: bool
) -> tuple[Hypothesis, ...]:
    """A list's hypotheses with finite features; other values are treated as the user asked.

    A number beyond LARGEST counts as not finite. A feature that only some hypotheses have counts as
    NaN in the others, unless lists may be `ragged`. Changes are counted.

    Raises:
        DataError: a feature that is not finite, if that is an error or if no hypothesis of the list
            has a finite value.
    """
    mended: dict[int, dict[str, float]] = {}
    for name in dict.fromkeys(name for each in hypotheses for name in each.features):
        values = [each.features.get(name, nan) for each in hypotheses]
        bad = [
            i
            for i, value in enumerate(values)
            if not abs(value) <= LARGEST and (name in hypotheses[i].features or not ragged)
        ]
        finite = [value for value in values if abs(value) <= LARGEST]
        if bad and (source.on_nan == "error" or not finite):
            first = hypotheses[bad[0]]
            raise DataError(
                f"{first.place}: utterance {key[:80]!r}: the feature {name!r} is "
                f"{first.features.get(name, 'missing')}; "
                f"expected a finite number{' up to 1e30' if isfinite(values[bad[0]]) else ''}; "
                + ("mend it, or give --on-nan worst" if finite else "no hypothesis of it has one")
            )
        worst = min(finite, default=nan)
        for i in bad:
            cause = "no finite number" if name in hypotheses[i].features else "missing"
            source.notices.filled[Filling(name, cause, WORST)] += 1
            mended.setdefault(i, dict(hypotheses[i].features))[name] = worst
    return tuple(
        replace(each, features=mended[i]) if i in mended else each
        for i, each in enumerate(hypotheses)
    )
