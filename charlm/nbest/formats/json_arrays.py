"""JSON in which a list's texts and scores are arrays side by side; the new score is one more.

Re-ranked, the elements of all arrays that have one for each hypothesis change places together.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from charlm.errors import ConfigError, DataError
from charlm.nbest.format import FEATURE, Format, Piece, Source
from charlm.nbest.formats.json_records import Record, Records, running_id, score_in, single
from charlm.nbest.formats.json_text import Span, elements, members, with_member
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.list_lines import lines_of
from charlm.nbest.policies import ids_once, only, refuse_twice, settled, written
from charlm.nbest.repairs import WITHOUT_HYPOTHESIS

MAX_PENALTY = 10
MAX_LENGTH = 1e9  # of a text, in tokens
SCORES = re.compile(rf"score|log_?prob|^{FEATURE}$")


@dataclass(frozen=True)
class Side:
    """A record, and the arrays in it that have an element for each hypothesis."""

    record: Record
    columns: tuple[tuple[Span, ...], ...]


class ArraysFormat(Format):
    """A format that says where the texts are.

    Arrays of as many numbers are features, if `score`, `logprob` or `log_prob` is in their name;
    arrays of as many words are not moved, since they may be a reference.
    """

    said_length_penalty = False  # whether one may be given
    reference_key = ""

    def __init__(self) -> None:
        self._rest = ""  # below the last list, which is handed on before it comes

    @abstractmethod
    def texts(self, record: Record) -> tuple[list[tuple[str, ...]], tuple[Span, ...]]:
        """The words of each hypothesis, and where its text stands.

        Raises:
            DataError: FILE:LINE of what is missing.
        """

    def feature(self, name: str) -> str:
        """What the scores in the array of this name are called."""
        return name

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list a record; one without hypotheses is passed on where they may be missing.

        Raises:
            ConfigError: columns, further files, or a length penalty where there can be none, or
                that is none.
            DataError: FILE:LINE of what is not JSON, or not of this format.
        """
        only(source, self.name, length_penalty=self.said_length_penalty)
        if not abs(source.length_penalty) <= MAX_PENALTY:  # NaN is not
            raise ConfigError(
                f"length penalty {source.length_penalty:g}: expected what `generate` was given, a "
                f"number up to {MAX_PENALTY}"
            )
        once = ids_once()
        number, passed, self._rest = 1, "", ""
        with lines_of(source) as lines:
            records = Records(lines, unfold=single)
            for record in records:
                key = running_id(record.value, number, place=record.place)
                once(key, record.place)
                number += 1
                texts, spans = self.texts(record)
                if not texts:
                    if not source.allow_missing:
                        raise DataError(
                            f"{record.place}: found no hypothesis of {key[:80]!r}; expected at "
                            "least one; --allow-missing passes it on as it is"
                        )
                    source.notices.pass_over(WITHOUT_HYPOTHESIS, 1)
                    passed += record.before + record.text
                    continue
                named = record._replace(key=key, before=passed + record.before)
                passed = ""
                yield self._list(named, texts, spans, source)
            self._rest = passed + records.rest

    def _list(
        self,
        record: Record,
        texts: list[tuple[str, ...]],
        spans: tuple[Span, ...],
        source: Source,
    ) -> NbestList:
        arrays = _arrays(record, len(texts), self.reference_key)
        places = [f"{record.place}: hypothesis {i}" for i in range(1, len(texts) + 1)]
        found = self._features(record, places)
        if source.length_penalty:
            found = _summed(record, found, penalty=source.length_penalty)
        features = settled(
            record.key, found, places=places, on_nan=source.on_nan, notices=source.notices
        )
        side = Side(record, (spans, *(array for array in arrays if array != spans)))
        return NbestList(
            record.key,
            tuple(
                Hypothesis(words, numbers, place)
                for words, numbers, place in zip(texts, features, places, strict=True)
            ),
            reference=self.reference(record),
            original=side,
        )

    def reference(self, record: Record) -> tuple[str, ...] | None:
        """The reference, where the record holds one."""
        return None

    def _features(self, record: Record, places: list[str]) -> list[dict[str, float]]:
        results: list[dict[str, float]] = [{} for _ in places]
        for name, value in record.value.items():
            if not isinstance(value, list) or not SCORES.search(name):
                continue
            if len(value) != len(places):
                raise DataError(
                    f"{record.place}: found {len(value)} numbers in {name[:40]!r} for "
                    f"{len(places)} hypotheses; expected one each"
                )
            for result, said, place in zip(results, value, places, strict=True):
                result[self.feature(name)] = score_in(said, f"{place}: {name[:40]!r}")
        return results

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """A piece a list; what this object read last below the last list comes last."""
        for item in lists:
            side, hypotheses = item.nbest.original, item.nbest.hypotheses
            assert isinstance(side, Side)
            order = item.ranking if reranked else tuple(range(len(hypotheses)))
            text = _moved(side, order)
            if item.scores:
                refuse_twice(hypotheses[0])
                scores = (written(item.scores[which], hypotheses[which]) for which in order)
                text = with_member(text, FEATURE, value=f"[{', '.join(scores)}]")
            yield Piece("", side.record.before + text)
        if self._rest:
            yield Piece("", self._rest)


def _arrays(record: Record, n: int, reference_key: str) -> list[tuple[Span, ...]]:
    """The arrays of `n` elements that are no words."""
    spans = members(record.text)
    return [
        tuple(elements(record.text, spans[name].start))
        for name, value in record.value.items()
        if isinstance(value, list)
        and len(value) == n
        and name != reference_key
        and not any(isinstance(each, str) for each in value)
    ]


def _moved(side: Side, order: tuple[int, ...]) -> str:
    """The record's text, its columns in this order."""
    text, at, parts = side.record.text, 0, []
    moves = [
        (column[slot], column[which]) for column in side.columns for slot, which in enumerate(order)
    ]
    for to, what in sorted(moves):
        parts += [text[at : to.start], text[what.start : what.end]]
        at = to.end
    return "".join(parts) + text[at:]


def _summed(
    record: Record, features: list[dict[str, float]], *, penalty: float
) -> list[dict[str, float]]:
    """Sums of log-probabilities, of scores that are such sums by length to the power of `penalty`.

    Raises:
        DataError: no `lengths`, which are the numbers of tokens, that of the end included.
    """
    lengths = record.value.get("lengths")
    if not isinstance(lengths, list) or len(lengths) != len(features):
        raise DataError(
            f"{record.place}: found no array 'lengths' of {len(features)} numbers; expected those "
            "of the tokens that were generated, since a length penalty is to be undone; write them "
            "into the list"
        )
    results = []
    for found, said in zip(features, lengths, strict=True):
        length = score_in(said, f"{record.place}: 'lengths'")
        if not 1 <= length <= MAX_LENGTH:
            raise DataError(
                f"{record.place}: found the length {length:g}; expected that of a text, 1 or more"
            )
        results.append({name: value * length**penalty for name, value in found.items()})
    return results
