"""Layouts in which lists are written: the format of the input, or a layout for other programs.

`nbest` writes any list, or the best paths of a lattice, as JSON lines that charlm can read:
features in nats, best hypothesis first. Of merged hypotheses only the one that represents them is
written, with their common total. With several models, the score of each stands under its name, and
that of the first also as `charlm`. Anything else that a format held is left out.

`word-scores` is what Kaldi's `rnnlm-sentence-probs` writes, one line per hypothesis: its key, then
ln P of each word that the model read and of `</s>`, not negated. Kaldi's `rnnlm_compute_scores.sh`
gives the rescoring scripts the negated sum, which is the cost in lists of the format `kaldi`.

`ctm` and `errors` have files of their own beside this one.

`confidences` is a table of the best hypotheses' words, tab-separated, fields quoted as in RFC 4180.

The other layouts hold the best hypothesis of each list, for scoring tools: `kaldi` (id, words),
`trn` for sclite (words, id in parentheses), `text` (words alone), `tsv` with a header, `jsonl`. The
words are those of the list, not those that a model read. An id that a layout cannot hold is an
error: it would be read back as another id, or as words.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, Rescored
from charlm.nbest.ranking.confidences import posteriors, word_confidences
from charlm.nbest.reading.format import FEATURE, SAME_FORMAT, Format, Piece
from charlm.nbest.reading.policies import CONTROL, refuse_twice, score_text
from charlm.nbest.reading.templates import Template
from charlm.nbest.scorer import WordLogProbs
from charlm.text.io.table_lines import quoted_field

TOTAL = "charlm_total"  # Σ weight·feature
POSTERIOR = "charlm_posterior"  # the probability in the list
RISK = "charlm_risk"  # the expected error, where it decides
UNFIT = {  # what an id cannot hold in each layout
    "kaldi": re.compile(r"[ \t]|^$"),
    "trn": re.compile(r"[ \t()]|^$"),
    "ctm": re.compile(r"[ \t]|^$|^;;"),  # a line that begins with ;; is a comment
    "tsv": re.compile(r"^$|^#"),  # a line that begins with # is a comment
    "jsonl": re.compile(r"[\ud800-\udfff]|^$"),
}
NO_KEY = re.compile(r"[\s\0]|^$")  # what Kaldi's tables cannot hold in a key
BREAK = re.compile(r"[\r\n]")
HEADER = ("id", "rank", FEATURE, "total", "text")
CONFIDENCES_HEADER = ("id", "position", "word", "confidence")
DIGITS = 9  # enough to tell fp32 numbers apart


def laid_out(lists: Iterable[Rescored], form: Format, *, layout: str) -> Iterator[Piece]:
    """The lists in a layout, each piece as soon as its list arrives.

    Raises:
        ConfigError: word-scores of lattices; confidences without weights; whatever the format's own
            writer raises.
        DataError: what the layout cannot hold; whatever the format's own writer raises.
    """
    if layout in SAME_FORMAT:
        return form.write(lists, reranked=layout == "ranked")
    if layout == "word-scores":
        return write_word_scores(lists, form)
    if layout == "confidences":
        return write_confidences(lists)
    return write_nbest(lists) if layout == "nbest" else write_best(lists, layout)


def write_nbest(lists: Iterable[Rescored]) -> Iterator[Piece]:
    """`{"id": …, "hyps": [{"text": …, "scores": {"am": …, "charlm": …, "charlm_total": …}}, …]}`.

    Beside a total stands `charlm_posterior`, the hypothesis' probability in its list, and where
    expected errors decide the ranking, `charlm_risk`.

    Raises:
        DataError: a score that is not finite; a list that already has `charlm`, or a total.
    """
    for item in lists:
        nbest = item.nbest
        value: dict[str, object] = {"id": nbest.id}
        if nbest.recording:
            value["recording"] = nbest.recording
        shares = tuple(posteriors(item).tolist()) if item.totals else ()
        value["hyps"] = [
            _hypothesis(item, index, shares)
            for index in item.ranking
            if index not in item.duplicates
        ]
        if nbest.reference is not None:
            value["ref"] = " ".join(nbest.reference)
        yield Piece("", json.dumps(value, ensure_ascii=False) + "\n")


def _hypothesis(item: Rescored, index: int, shares: tuple[float, ...]) -> dict[str, object]:
    hypothesis = item.nbest.hypotheses[index]
    own = {name: _number(values[index], hypothesis) for name, values in item.models.items()}
    scores = {**hypothesis.features, **own}
    for name, values in ((FEATURE, item.scores), (TOTAL, item.totals)):
        if values:
            refuse_twice(hypothesis, name)
            scores[name] = _number(values[index], hypothesis)
    for name, values in ((POSTERIOR, shares), (RISK, item.risks)):
        if values:
            refuse_twice(hypothesis, name)
            scores[name] = float(f"{values[index]:.{DIGITS}g}")
    return {"text": " ".join(hypothesis.words), "scores": scores}


def _number(value: float, hypothesis: Hypothesis) -> float:
    return float(score_text(value, hypothesis))


def write_word_scores(lists: Iterable[Rescored], form: Format) -> Iterator[Piece]:
    """`key lp1 lp2 …`, one line in each hypothesis' place; scores are those of the first model.

    Raises:
        ConfigError: lattices, whose words were scored along paths.
        DataError: an id that cannot be a key in Kaldi's tables; a word without a probability.
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
    """A line of `write_word_scores`, without LF; its DataErrors are raised here."""
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


def write_confidences(lists: Iterable[Rescored]) -> Iterator[Piece]:
    """A header, then a row for each word of each list's best hypothesis, none for an empty one.

    Raises:
        ConfigError: a list without totals.
    """
    for number, item in enumerate(lists):
        key = quoted_field(item.nbest.id)
        words = zip(item.best.words, word_confidences(item).tolist(), strict=True)
        rows = (
            f"{key}\t{position}\t{quoted_field(word)}\t{confidence:.6f}\n"
            for position, (word, confidence) in enumerate(words, 1)
        )
        header = "\t".join(CONFIDENCES_HEADER) + "\n" if number == 0 else ""
        yield Piece("", header + "".join(rows))


def write_best(lists: Iterable[Rescored], layout: str) -> Iterator[Piece]:
    """The winners, one per line, in the order of the lists.

    `rank` is the rank in the list, from 1; `charlm` is in nats; `total` is the weighted sum.

    Raises:
        DataError: an id or a word that the layout cannot hold.
    """
    for number, item in enumerate(lists):
        if layout == "tsv" and number == 0:
            yield Piece("", "\t".join(HEADER) + "\n")
        require_fit(item, layout)
        yield Piece("", LAYOUTS[layout](item) + "\n")


def require_fit(item: Rescored, layout: str) -> None:
    """Raises DataError for an id or a word that the layout cannot hold."""
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


def _trn(item: Rescored) -> str:
    """To sclite a line that begins with `;;` or `**` is a comment; with a blank before it, none."""
    line = " ".join((*item.best.words, f"({item.nbest.id})"))
    return f" {line}" if line.startswith((";;", "**")) else line


def _winner_scores(item: Rescored) -> dict[str, str]:
    """The score and the total of the winner, where there are any."""
    winner = item.ranking[0]
    numbers = {FEATURE: item.scores, "total": item.totals}
    return {name: score_text(found[winner], item.best) for name, found in numbers.items() if found}


def _tsv(item: Rescored) -> str:
    cells = {"id": item.nbest.id, "rank": str(item.ranking[0] + 1), "text": _text(item)}
    cells |= _winner_scores(item)
    return "\t".join(cells.get(name, "NA") for name in HEADER)


def _jsonl(item: Rescored) -> str:
    numbers = {name: float(digits) for name, digits in _winner_scores(item).items()}
    fields = {"id": item.nbest.id, "rank": item.ranking[0] + 1, "text": _text(item), **numbers}
    return json.dumps(fields, ensure_ascii=False)


LAYOUTS: dict[str, Callable[[Rescored], str]] = {
    "kaldi": lambda item: " ".join((item.nbest.id, *item.best.words)),
    "trn": _trn,
    "text": _text,
    "tsv": _tsv,
    "jsonl": _jsonl,
}
