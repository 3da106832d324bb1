"""HyPoradise's lists as run.sh takes them, and the references of its training part as a text.

    python recipes/rescoring/lists.py TEST.json TRAIN.json FOLDER

writes FOLDER/atis.nbest.tsv (id, rank, score, hypothesis), FOLDER/atis.ref.txt (id, reference) and
the corpus FOLDER/atis: of ten sentences of the training part one is for valid, and test.txt has the
references of the lists.
"""

import json
from pathlib import Path
from typing import Any

from fetch import die, run, say
from texts import write_lines

VALID = 6  # n % 10, of the split that guide/measurements.md has


def plain(text: str) -> str:
    """In lower case, the blanks as one."""
    return " ".join(text.lower().split())


def utterances(path: str) -> list[dict[str, Any]]:
    """Of each its hypotheses (`input`), their scores and its reference (`output`)."""
    try:
        found = json.loads(Path(path).read_bytes())
        for each in found:
            pairs = list(zip(each["input"], each["am_score"], strict=True))
            each["lists"] = [(plain(text), float(score)) for text, score in pairs]
            each["reference"] = plain(each["output"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        die(f"{path}: not HyPoradise's lists ({error!r}); remove it and run this again")
    return list(found)


def write_whole(path: Path, lines: list[str]) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(lines), encoding="utf-8")
    part.replace(path)


def main(test: str, train: str, folder: str) -> None:
    lists, sentences = utterances(test), [each["reference"] for each in utterances(train)]
    where = Path(folder)
    rows, references = [], []
    for number, each in enumerate(lists):
        name = f"atis-{number:05}"
        references.append(f"{name}\t{each['reference']}\n")
        for rank, (text, score) in enumerate(each["lists"], 1):
            rows.append(f"{name}\t{rank}\t{score:.6f}\t{text}\n")
    lines: dict[str, list[str]] = {"test": [each["reference"] for each in lists]}
    lines["valid"] = sentences[VALID::10]
    lines["train"] = [each for n, each in enumerate(sentences) if n % 10 != VALID]
    write_lines(where / "atis", lines)
    write_whole(where / "atis.nbest.tsv", rows)
    write_whole(where / "atis.ref.txt", references)  # last: who finds it finds the others
    say(f"{where}/atis.nbest.tsv: {len(rows)} hypotheses of {len(lists)} utterances")


if __name__ == "__main__":
    run(main)
