"""Lists as they are written: in the format that they came in, or in a layout for other programs.

`nbest` is any list, and the best paths of lattices, as JSON lines that charlm reads again: features
in nats, the best hypothesis first. Merged hypotheses are there as the one that represents them,
with their common total. Each of several models has its score under its name, the first one's also
as `charlm`. Anything else that a format held is left out.

`word-scores` is what Kaldi's `rnnlm-sentence-probs` writes, a line a hypothesis: its key, then ln P
of each word that the model read and of `</s>`, not negated. What Kaldi's `rnnlm_compute_scores.sh`
gives the rescoring scripts is the negated sum: the costs that lists of the format `kaldi` have.

The best hypothesis of each list, as scoring tools take it: `kaldi` (id, words), `trn` for sclite
(words, id in parentheses), `text` (words alone), `tsv` with a header, `jsonl`. The words are those
of the list, not those that a model read. An id that a layout cannot hold is an error: it would come
back as another id, or as words.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator

from charlm.errors import ConfigError, DataError
from charlm.nbest.format import FEATURE, SAME_FORMAT, Format, Piece
from charlm.nbest.formats.templates import Template
from charlm.nbest.hypotheses import Hypothesis, Rescored
from charlm.nbest.policies import CONTROL, refuse_twice, score_text
from charlm.nbest.scorer import WordLogProbs

TOTAL = "charlm_total"  # Σ weight·feature
UNFIT = {  # what an id cannot hold there
    "kaldi": re.compile(r"[ \t]|^$"),
    "trn": re.compile(r"[ \t()]|^$"),
    "tsv": re.compile(r"^$|^#"),  # a line that begins so is a comment
    "jsonl": re.compile(r"[\ud800-\udfff]|^$"),
}
NO_KEY = re.compile(r"[\s\0]|^$")  # what Kaldi's tables cannot hold in a key
BREAK = re.compile(r"[\r\n]")
HEADER = ("id", "rank", FEATURE, "total", "text")
DIGITS = 9  # as many as tell fp32 numbers apart


def laid_out(lists: Iterable[Rescored], form: Format, *, layout: str) -> Iterator[Piece]:
    """Lists of a format in a layout, a piece as soon as a list has come.

    Raises:
        ConfigError: word-scores of lattices; as the format's own writer.
        DataError: what the layout cannot hold; as the format's own writer.
    """
    if layout in SAME_FORMAT:
        return form.write(lists, reranked=layout == "ranked")
    if layout == "word-scores":
        return write_word_scores(lists, form)
    return write_nbest(lists) if layout == "nbest" else write_best(lists, layout)


def write_nbest(lists: Iterable[Rescored]) -> Iterator[Piece]:
    """`{"id": …, "hyps": [{"text": …, "scores": {"am": …, "charlm": …, "charlm_total": …}}, …]}`.

    Raises:
        DataError: a score that is no finite number; a list that has `charlm`, or a total.
    """
    for item in lists:
        nbest = item.nbest
        value: dict[str, object] = {"id": nbest.id}
        if nbest.recording:
            value["recording"] = nbest.recording
        value["hyps"] = [
            _hypothesis(item, index) for index in item.ranking if index not in item.merged
        ]
        if nbest.reference is not None:
            value["ref"] = " ".join(nbest.reference)
        yield Piece("", json.dumps(value, ensure_ascii=False) + "\n")


def _hypothesis(item: Rescored, index: int) -> dict[str, object]:
    hypothesis = item.nbest.hypotheses[index]
    own = {name: _number(values[index], hypothesis) for name, values in item.models.items()}
    scores = {**hypothesis.features, **own}
    for name, values in ((FEATURE, item.scores), (TOTAL, item.totals)):
        if values:
            refuse_twice(hypothesis, name)
            scores[name] = _number(values[index], hypothesis)
    return {"text": " ".join(hypothesis.words), "scores": scores}


def _number(value: float, hypothesis: Hypothesis) -> float:
    return float(score_text(value, hypothesis))


def write_word_scores(lists: Iterable[Rescored], form: Format) -> Iterator[Piece]:
    """`key lp1 lp2 …`, a line where each hypothesis stood; of several models by the first.

    Raises:
        ConfigError: lattices, whose words were scored in their paths.
        DataError: an id that is no key of a table, or a word without a probability.
    """
    for item in lists:
        hypotheses, original = item.nbest.hypotheses, item.nbest.original
        if not item.words:
            raise ConfigError(
                f"--write word-scores: list {item.nbest.id[:40]!r} is of a lattice; expected lists "
                "of hypotheses, or sentences; --write nbest makes lists"
            )
        slots = original.slots if isinstance(original, Template) else range(len(hypotheses))
        lines = [""] * len(hypotheses)
        for which, (slot, scores) in enumerate(zip(slots, item.words, strict=True)):
            lines[slot] = word_score_line(form.key(item.nbest, which), scores) + "\n"
        yield Piece("", "".join(lines))


def word_score_line(key: str, scores: WordLogProbs) -> str:
    """`key lp1 lp2 …`, without LF.

    Raises:
        DataError: an id that is no key of a table, or a word without a probability.
    """
    if NO_KEY.search(key):
        raise DataError(
            f"utterance {key[:40]!r}: cannot stand in Kaldi's tables; expected an id without blanks"
        )
    for log_prob in scores.log_probs.tolist():
        if not math.isfinite(log_prob):
            raise DataError(
                f"utterance {key[:40]!r}: a word has the log-probability {log_prob}; expected a "
                "number"
            )
    numbers = (f"{0.0 + each:.{DIGITS}g}" for each in scores.log_probs.tolist())  # never -0
    return " ".join([key, *numbers])


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
