"""Any lists, and the best paths of lattices, as JSON lines that charlm reads again.

Features are in nats, the best hypothesis comes first, and its words are those of the list. Of those
that were merged only the one that stands for them is there: their total is its, and counts once.
Of several models every one's score is there, under its name, the first one's as `charlm` too.
What a format had besides that is gone: to keep it, lists are written in the format that they came
in.
"""

import json
from collections.abc import Iterable, Iterator

from charlm.nbest.format import FEATURE, Piece
from charlm.nbest.hypotheses import Hypothesis, Rescored
from charlm.nbest.policies import refuse_twice, score_text

TOTAL = "charlm_total"  # Σ weight·feature


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
