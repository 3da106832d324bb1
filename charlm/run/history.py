"""The records of a training's epochs in log.jsonl, and the figures derived from them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from charlm.errors import DataError
from charlm.run.folder import LOG
from charlm.text.io.files import parse_json
from charlm.text.io.lines import read_lines

# The fields that are read; a float without a fraction may be written as an integer.
FIELDS = {"epoch": int, "train_ppl": float, "valid_ppl": float, "n_tokens": int, "seconds": float}
PERPLEXITIES = ("train_ppl", "valid_ppl")
MOST = 1e100  # of other numbers, so that sums over epochs stay finite
WARNING = "warning"  # text; something went wrong in the epoch, but training continued
PRETRAINING = "pretraining"  # 1 in the record of an epoch that trained one side of a mixture only
VALIDATION = "validation_seconds"  # missing in older records


def history_of(run: Path) -> list[dict[str, Any]]:
    """The records of a run's finished epochs; empty before the first is done.

    Raises:
        DataError: the log is not what `charlm train` writes.
    """
    path = run / LOG
    if not path.is_file():
        return []
    records = []
    for number, line in read_lines(path):
        record = parse_json(line, f"{path}:{number}")
        if not is_record(record):
            raise DataError(
                f"{path}:{number}: no record of an epoch; expected {', '.join(FIELDS)}; the run is "
                "damaged"
            )
        records.append(record)
    return records


def recorded_history(checkpoint: Path) -> list[object]:
    """The records of epochs in a resume.safetensors, which may lag behind those of the log.

    Raises:
        DataError: not a checkpoint.
    """
    from charlm.run.stored_weights import read_meta  # imports torch; reading a log does not need it

    position = read_meta(checkpoint).get("position")
    history = position.get("history") if isinstance(position, dict) else None
    if not isinstance(history, list):
        raise DataError(f"{checkpoint}: tells no position; the run is damaged")
    return history


def is_record(record: object) -> bool:
    """Whether a record has the fields that are read, with numbers that can be drawn."""
    return (
        isinstance(record, dict)
        and all(type(record.get(key)) in (int, kind) for key, kind in FIELDS.items())
        and all(type(record.get(key, 0)) in (int, float) for key in (VALIDATION, PRETRAINING))
        and all(0 < record[key] <= sys.float_info.max for key in PERPLEXITIES)
        and all(0 <= record.get(key, 0) <= MOST for key in {*FIELDS, VALIDATION} - {*PERPLEXITIES})
    )


def best_record(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The record of the epoch with the lowest validation perplexity; the first of equals.

    A pre-training epoch is best only while there is no other, since its weights are not those of
    the complete model.
    """
    return min(history, key=lambda record: (record.get(PRETRAINING, 0), record["valid_ppl"]))


def total_seconds(history: Sequence[dict[str, Any]]) -> float:
    """The time of all steps and validations; older records have only the time of the steps."""
    return float(sum(r["seconds"] + r.get(VALIDATION, 0.0) for r in history))
