"""The labelled film reviews of Maas et al. to sentences.

    python recipes/imdb/reviews.py ARCHIVE FOLDER

Every second review of train/ is for train.txt; of twenty reviews of test/ one is for valid.txt and
one for test.txt. As in Miyamoto & Cho's code, their sentences have fewer than 500 characters.
"""

import re

from fetch import die, run
from sentences import sentences
from texts import SPLITS, members, split_of, write_lines

REVIEW = re.compile(r"(?:^|/)(train|test)/(?:pos|neg)/\d+_\d+\.txt$")
LINE_BREAK = re.compile(r"<br\s*/?>")
MAX_CHARACTERS = 500


def main(archive: str, folder: str) -> None:
    reviews: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for name, content in members(archive):
        match = REVIEW.search(name)
        if match:
            reviews[match[1]].append((name, content.decode()))
    if not (reviews["train"] and reviews["test"]):
        die(f"{archive}: no review in it; expected files like aclImdb/train/pos/0_9.txt")
    lines = {split: list[str]() for split in SPLITS}
    for _, text in sorted(reviews["train"])[::2]:
        lines["train"] += sentences(LINE_BREAK.sub(" ", text))
    for number, (_, text) in enumerate(sorted(reviews["test"])):
        split = split_of(number)
        if split != "train":
            found = sentences(LINE_BREAK.sub(" ", text))
            lines[split] += [each for each in found if len(each) < MAX_CHARACTERS]
    write_lines(folder, lines)


if __name__ == "__main__":
    run(main)
