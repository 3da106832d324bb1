"""Natural Stories as a table of sentences: story, zone of the first word, and the sentence.

    python stories.py all_stories.tok >stories.csv

A sentence ends with the word that ends in . ? or !, quotes behind it or not.
"""

import csv
import io
import re
import sys
from pathlib import Path

END = re.compile(r"[.!?]['\"’”]*$")


def main(path: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # whatever the locale says
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["story", "zone", "sentence"])
    words: list[str] = []
    first, before = "1", "1"
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        next(file)  # word, zone, item
        for line in file:
            word, zone, story = line.rstrip("\r\n").split("\t")
            if words and (story != before or END.search(words[-1])):
                out.writerow([before, first, " ".join(words)])
                words = []
            first, before = (first if words else zone), story
            words.append(word)
    out.writerow([before, first, " ".join(words)])


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
