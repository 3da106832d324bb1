"""The records of a training's epochs, as log.jsonl holds them, and what follows from them."""

from collections.abc import Sequence
from typing import Any

PRETRAINING = "pretraining"  # 1 in the record of an epoch that read one side of a mixture alone


def best_record(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The epoch of the lowest validation perplexity, the first of equals.

    One of pre-training is best only while there is no other: it was not the model that is kept.
    """
    return min(history, key=lambda record: (record.get(PRETRAINING, 0), record["valid_ppl"]))


def total_seconds(history: Sequence[dict[str, Any]]) -> float:
    """Time of the steps and the validations of some epochs; older records tell the steps' alone."""
    return float(sum(r["seconds"] + r.get("validation_seconds", 0.0) for r in history))
