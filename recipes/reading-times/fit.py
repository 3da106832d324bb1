"""What surprisal adds to length and frequency when reading times are predicted.

    python fit.py surprisal.tsv processed_wordinfo.tsv

Least squares on the logarithm of each word's mean reading time. The base has a word's length and
frequency (Zipf) and those of the two words before, and its place in the sentence; a model adds its
surprisal of the three words. Each story is predicted by what the nine others say, and the gain is
that of the normal log-likelihood a word, in thousandths of a nat, with the 95 % interval of 1,000
draws of sentences. Words that a model does not know are left out, and the two behind each, as are
the first two of a sentence.
"""

import argparse
import csv
import gzip
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
HERE = ("", "_prev1", "_prev2")
TOLD = (*(f"known{at}" for at in HERE), "story", "zone")
SURPRISAL = (
    "what charlm surprisal --previous 2 prints of one model, or of several with the same words"
)
MEASURED = ("word", "zone", "item", "gmeanItemRT")


def table(path: str, *, needed: Sequence[str], expected: str) -> list[dict[str, str]]:
    """The rows of a TSV, packed or not, that has the columns that are needed."""
    opened: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    # No such file, not packed in spite of its name, cut off, or no text.
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise SystemExit(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    lacking = [name for name in needed if rows and name not in rows[0]]
    if lacking:
        raise SystemExit(f"{path}: no column {lacking[0]}; expected {expected}")
    return rows


def joined(surprisal: str, times: str) -> list[dict[str, str]]:
    """Rows of words that are known, and the two before too, with their mean times."""
    measured = table(times, needed=MEASURED, expected="Natural Stories' processed_wordinfo.tsv")
    by_place = {(row["item"], row["zone"]): row for row in measured}
    kept = []
    for row in table(surprisal, needed=TOLD, expected=SURPRISAL):
        zone = str(int(row["zone"]) + int(row["position"]) - 1)
        found = by_place.get((row["story"], zone))
        if found is None or any(row[f"known{at}"] != "TRUE" for at in HERE):
            continue
        if found["word"] != row["word"]:
            raise SystemExit(
                f"story {row['story']}, zone {zone}: {row['word']!r} is not "
                f"{found['word']!r} there; expected the same words in both files"
            )
        kept.append(row | {"time": found["gmeanItemRT"]})
    if len({row["story"] for row in kept}) < 2:
        raise SystemExit(
            f"{surprisal}: {len(kept)} words with times are known, and the two before them; "
            "expected some of two stories or more, since each is predicted by the others"
        )
    return kept


def columns(rows: Sequence[dict[str, str]], names: Sequence[str]) -> Floats:
    """Standardised, where they vary, and a column of ones before them."""
    try:
        values = np.array([[float(row[name]) for name in names] for row in rows])
    except ValueError as error:  # NA in the columns of frequency, which only a run tells
        raise SystemExit(
            f"{error}; expected numbers alone in {', '.join(names)}; beside --lm alone charlm "
            "surprisal knows no frequencies: give it a run, too (--model)"
        ) from None
    spreads = values.std(axis=0)
    return np.c_[
        np.ones(len(rows)), (values - values.mean(axis=0)) / np.where(spreads > 0, spreads, 1)
    ]


def held_out(x: Floats, y: Floats, stories: npt.NDArray[Any]) -> Floats:
    """The log-likelihood of each word under the fit to the other stories."""
    found = np.empty(len(y))
    for story in np.unique(stories):
        here = stories == story
        weights, *_ = np.linalg.lstsq(x[~here], y[~here], rcond=None)
        variance = np.mean((y[~here] - x[~here] @ weights) ** 2)
        apart = y[here] - x[here] @ weights
        found[here] = -0.5 * (np.log(2 * np.pi * variance) + apart**2 / variance)
    return found


def gain(apart: Floats, sentences: npt.NDArray[Any]) -> str:
    """The mean a word, and where 95 % of its draws are."""
    _, where = np.unique(sentences, return_inverse=True)
    sums, counts = np.bincount(where, apart), np.bincount(where)
    drawn = np.random.default_rng(1).integers(0, len(sums), (1000, len(sums)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), (0.025, 0.975))
    return f"{1e3 * apart.mean():+z.2f} ({1e3 * low:+z.2f} to {1e3 * high:+z.2f})"


def main(surprisal: str, times: str) -> None:
    rows = joined(surprisal, times)
    stories, sentences = (np.array([row[name] for row in rows]) for name in ("story", "item"))
    y = np.log([float(row["time"]) for row in rows])
    plain = ["position", *(f"{name}{at}" for name in ("length", "zipf") for at in HERE)]
    base = held_out(columns(rows, plain), y, stories)
    # Of a single model the column is `surprisal`.
    names = [n for n in rows[0] if n.partition("_")[0] == "surprisal" and "_prev" not in n]
    tell(f"{len(rows)} words; base {base.mean():.4f} nats a word, held out")
    tell("model", "mean bits", "gain, 1/1000 nat a word (95 %)", "over the first")
    first = None
    for name in names:
        own = held_out(columns(rows, [*plain, *(f"{name}{at}" for at in HERE)]), y, stories)
        first = own if first is None else first
        mean = np.mean([float(row[name]) for row in rows])
        cells = [f"{mean:.2f}", gain(own - base, sentences), gain(own - first, sentences)]
        tell(name.removeprefix("surprisal_"), *cells)


def tell(*cells: str) -> None:
    sys.stdout.write("\t".join(cells) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("surprisal", help="table of `charlm surprisal`")
    parser.add_argument("times", help="Natural Stories' processed_wordinfo.tsv, packed or not")
    said = parser.parse_args()
    main(said.surprisal, said.times)
