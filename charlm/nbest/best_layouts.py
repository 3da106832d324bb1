"""The best hypothesis of each list, as scoring tools take it.

`kaldi` (id, words), `trn` for sclite (words, id in parentheses), `text` (words alone), `tsv` with a
header, `jsonl`. The words are those of the list, not those that a model read. An id that a layout
cannot hold is an error: it would come back as another id, or as words.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator

from charlm.errors import DataError
from charlm.nbest.format import FEATURE, Piece
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.policies import CONTROL, score_text

UNFIT = {  # what an id cannot hold there
    "kaldi": re.compile(r"[ \t]|^$"),
    "trn": re.compile(r"[ \t()]|^$"),
    "tsv": re.compile(r"^$|^#"),  # a line that begins so is a comment
    "jsonl": re.compile(r"[\ud800-\udfff]|^$"),
}
BREAK = re.compile(r"[\r\n]")
HEADER = ("id", "rank", FEATURE, "total", "text")


def write_best(lists: Iterable[Rescored], layout: str) -> Iterator[Piece]:
    """The winners, one a line, in the order of the lists.

    `rank` is that in the list, from 1; `charlm` is in nats; `total` is what the weights make.

    Raises:
        DataError: an id or a word that the layout cannot hold, or a list without hypotheses.
    """
    begun = layout != "tsv"
    for item in lists:
        if not begun:
            begun = True
            yield Piece("", "\t".join(HEADER) + "\n")
        if not item.nbest.hypotheses:
            raise DataError(f"list {item.nbest.id!r}: found no hypothesis; expected at least one")
        _check(item, layout)
        yield Piece("", LAYOUTS[layout](item) + "\n")


def _check(item: Rescored, layout: str) -> None:
    key = item.nbest.id
    unfit = UNFIT.get(layout)
    if unfit is not None and (unfit.search(key) or (layout != "jsonl" and CONTROL.search(key))):
        raise DataError(
            f"{item.best.place}: the id {key[:80]!r} cannot stand in the layout {layout!r}; "
            "expected one without blanks, control characters and its marks; rename it, or write "
            "jsonl"
        )
    if layout != "jsonl" and any(map(BREAK.search, item.best.words)):
        raise DataError(
            f"{item.best.place}: a word of this hypothesis holds a carriage return, which would "
            f"break a line of the layout {layout!r}; expected none; write jsonl"
        )


def _text(item: Rescored) -> str:
    return " ".join(item.best.words)


def _numbers(item: Rescored) -> dict[str, str]:
    """The score and the total of the winner, where there are any."""
    winner = item.ranking[0]
    numbers = {FEATURE: item.scores, "total": item.totals}
    return {name: score_text(found[winner], item.best) for name, found in numbers.items() if found}


def _tsv(item: Rescored) -> str:
    cells = {"id": item.nbest.id, "rank": str(item.ranking[0] + 1), "text": _text(item)}
    cells |= _numbers(item)
    return "\t".join(cells.get(name, "NA") for name in HEADER)


def _jsonl(item: Rescored) -> str:
    numbers = {name: float(digits) for name, digits in _numbers(item).items()}
    fields = {"id": item.nbest.id, "rank": item.ranking[0] + 1, "text": _text(item), **numbers}
    return json.dumps(fields, ensure_ascii=False)


LAYOUTS: dict[str, Callable[[Rescored], str]] = {
    "kaldi": lambda item: " ".join((item.nbest.id, *item.best.words)),
    "trn": lambda item: " ".join((*item.best.words, f"({item.nbest.id})")),
    "text": _text,
    "tsv": _tsv,
    "jsonl": _jsonl,
}
