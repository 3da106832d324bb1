"""Morphs: what the words of a vocabulary consist of, and how a word never seen is cut into them.

A known word has its stored segmentation, even if that does not spell it; every other form gets the
cheapest one in a unigram model of the same morphs. So every morph that a search can find occurs in
some word of the vocabulary, where a model could learn its vector.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from charlm.errors import DataError
from charlm.settings import shown

# Ids; the morphs themselves follow. `<unk>` is the unknown morph, `</s>` a morph of its own.
PAD_MORPH, UNKNOWN_MORPH, END_MORPH = range(3)
N_MORPH_MARKERS = 3
LONGEST_MORPH = 65  # characters; a search tries none beyond it, so that its time is bounded
LONGEST_SEGMENTATION = 10_000  # morphs of a stored word: as many as the longest spelling's letters
MAX_COST = 1e4  # exp(-1e4) is no probability that anything was estimated from
UNKNOWN_COST = 1e9  # of a character that no morph covers: more than any cover of a whole form


@dataclass(frozen=True)
class MorphModel:
    """The morphs of a vocabulary, by id, and the segmentations of its words."""

    morphs: tuple[str, ...]  # ids from N_MORPH_MARKERS on
    costs: tuple[float, ...]  # of each morph: -log p, in nats
    segmentations: dict[str, tuple[str, ...]] = field(hash=False)

    @property
    def n_rows(self) -> int:
        """Rows of a morph table, padding and markers included."""
        return N_MORPH_MARKERS + len(self.morphs)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {morph: number for number, morph in enumerate(self.morphs, N_MORPH_MARKERS)}

    @cached_property
    def _cost_of(self) -> dict[str, float]:
        return dict(zip(self.morphs, self.costs, strict=True))

    @cached_property
    def _longest(self) -> int:
        return min(LONGEST_MORPH, max(map(len, self.morphs), default=0))

    def ids(self, form: str) -> list[int]:
        """Ids of the *set* of morphs of a form: a morph that occurs twice is there once."""
        known = self._ids
        return list(dict.fromkeys(known.get(m, UNKNOWN_MORPH) for m in self.segment(form)))

    def segment(self, form: str) -> tuple[str, ...]:
        """The morphs of a form: the stored ones, else those that the search finds."""
        return self.segmentations.get(form) or self.search(form)

    def search(self, form: str) -> tuple[str, ...]:
        """The cheapest sequence of morphs that spells a form (Viterbi, over a unigram model).

        A character that no morph covers is a piece of its own, but not a morph. Of equally cheap
        sequences the one whose last morph is longest wins, as in sentencepiece.
        """
        costs, longest = self._cost_of, self._longest
        least = [0.0] + [math.inf] * len(form)  # cost of the first n characters
        begins = [0] * (len(form) + 1)  # where the last morph of the first n characters begins
        for first in range(len(form)):
            for last in range(first + 1, min(first + max(longest, 1), len(form)) + 1):
                cost = costs.get(form[first:last])
                if cost is None:
                    if last > first + 1:
                        continue
                    cost = UNKNOWN_COST
                if least[first] + cost < least[last]:
                    least[last], begins[last] = least[first] + cost, first
        pieces: list[str] = []
        last = len(form)
        while last:
            pieces.append(form[begins[last] : last])
            last = begins[last]
        return tuple(reversed(pieces))

    def to_dict(self) -> dict[str, object]:
        """As JSON; the morphs of a word are joined by blanks, which no word holds."""
        return {
            "morphs": list(self.morphs),
            "costs": list(self.costs),
            "segmentations": {word: " ".join(m) for word, m in self.segmentations.items()},
        }

    @classmethod
    def from_dict(cls, value: object, name: str) -> "MorphModel":
        """The model of `to_dict`, perhaps from a stranger's file; `name` stands in the message.

        Raises:
            DataError: not what `to_dict` gives.
        """
        if not isinstance(value, dict):
            raise DataError(
                f"{name}: morphs: found {shown(value)}; expected an object, as `charlm vocab` "
                "writes"
            )
        morphs, costs = strings_in(value, "morphs", path=name), value.get("costs")
        if (
            not isinstance(costs, list)
            or len(costs) != len(morphs)
            or not all(type(cost) in (int, float) and abs(cost) <= MAX_COST for cost in costs)
        ):
            raise DataError(
                f"{name}: costs of morphs: found {shown(costs)}; expected {len(morphs)} numbers of "
                f"at most {MAX_COST:g}"
            )
        segmentations = _segmentations(value.get("segmentations"), name)
        return cls(morphs, tuple(map(float, costs)), segmentations)


def strings_in(value: Mapping[str, Any], name: str, *, path: str | Path) -> tuple[str, ...]:
    """The strings of a JSON object's list, which must be distinct and valid text.

    Raises:
        DataError: anything else.
    """
    found: Any = value.get(name)
    listed = found if isinstance(found, list) else [found]
    strange = [each for each in listed if not isinstance(each, str) or not each]
    if listed is not found or strange:
        raise DataError(
            f"{path}: {name}: found {shown((strange or listed)[0])}; expected a list of {name}"
        )
    if len(set(found)) != len(found):
        twice = next(each for each, count in Counter(found).items() if count > 1)
        raise DataError(f"{path}: {name}: found {shown(twice)} twice; expected each once")
    _require_text(found, name, path=path)
    return tuple(found)


def _require_text(texts: Iterable[str], name: str, *, path: str | Path) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:  # JSON can spell what no text holds
        raise DataError(f"{path}: {name}: found half a surrogate pair; expected text") from None


def _segmentations(value: object, name: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise DataError(f"{name}: segmentations: found {shown(value)}; expected an object of words")
    result = {}
    for word, morphs in value.items():
        pieces = tuple(morphs.split(" ")) if isinstance(morphs, str) else ()
        if not all(pieces) or not 1 <= len(pieces) <= LONGEST_SEGMENTATION:
            raise DataError(
                f"{name}: segmentation of {word[:40]!r}: found {shown(morphs)}; expected 1 to "
                f"{LONGEST_SEGMENTATION} morphs with a blank between them"
            )
        result[word] = pieces
    _require_text([*result, *value.values()], "segmentations", path=name)
    return result
