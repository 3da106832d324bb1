"""The Bible corpus of Christodoulopoulos & Steedman, verse by verse, split alike in all languages.

    python recipes/languages/verses.py FILE.xml FOLDER

A chapter has a running number from 0 in the order of the King James Bible; one of twenty is for
valid (n % 20 == 7), one for test (17), so that no chapter stands in two texts and every language
has the same verses in the same text. A verse that a translation merges with the one before it has
no text or no element of its own: both are counted.
"""

from pathlib import Path
from xml.etree.ElementTree import ParseError, iterparse

from fetch import die, run, say
from texts import SPLITS, split_of, write_lines

# Books and their chapters, in the corpus's spelling of the names.
BOOKS_AND_CHAPTERS = """
GEN 50 EXO 40 LEV 27 NUM 36 DEU 34 JOS 24 JDG 21 RUT 4 1SA 31 2SA 24 1KI 22 2KI 25 1CH 29 2CH 36
EZR 10 NEH 13 EST 10 JOB 42 PSA 150 PRO 31 ECC 12 SON 8 ISA 66 JER 52 LAM 5 EZE 48 DAN 12 HOS 14
JOE 3 AMO 9 OBA 1 JON 4 MIC 7 NAH 3 HAB 3 ZEP 3 HAG 2 ZEC 14 MAL 4 MAT 28 MAR 16 LUK 24 JOH 21
ACT 28 ROM 16 1CO 16 2CO 13 GAL 6 EPH 6 PHI 4 COL 4 1TH 5 2TH 3 1TI 6 2TI 4 TIT 3 PHM 1 HEB 13
JAM 5 1PE 5 2PE 3 1JO 5 2JO 1 3JO 1 JUD 1 REV 22
"""


def first_chapters() -> dict[str, int]:
    """The running number of each book's first chapter."""
    fields, first, number = BOOKS_AND_CHAPTERS.split(), {}, 0
    for book, n_chapters in zip(fields[::2], fields[1::2], strict=True):
        first[book] = number
        number += int(n_chapters)
    return first


def verses(path: str) -> list[tuple[str, int, int, str]]:
    """Book, chapter, verse and text of each verse, the blanks as one."""
    found = []
    try:
        for _, element in iterparse(path):
            if element.tag == "seg" and element.get("type") == "verse":
                _, book, chapter, verse = element.get("id", "").split(".")
                text = " ".join("".join(element.itertext()).split())
                found.append((book, int(chapter), int(verse), text))
    except (ParseError, ValueError) as error:
        die(f"{path}: no Bible in the corpus's XML ({error}); remove it and run this again")
    return found


def main(path: str, folder: str) -> None:
    first, lines = first_chapters(), {split: list[str]() for split in SPLITS}
    n_empty = n_skipped = n_others = 0
    before = ("", 0, 0)
    for book, chapter, verse, text in verses(path):
        if book not in first:
            n_others += 1
            continue
        expected = before[2] + 1 if before[:2] == (book, chapter) else 1
        n_skipped += max(0, verse - expected)
        before = (book, chapter, verse)
        if text:
            lines[split_of(first[book] + chapter - 1)].append(text)
        else:
            n_empty += 1
    if not lines["train"]:
        die(f'{path}: no verse in it; expected <seg id="b.GEN.1.1" type="verse">; see README.md')
    write_lines(folder, lines)
    say(
        f"{Path(path).name}: {n_empty} verses are empty, {n_skipped} numbers are skipped "
        f"(merged with the verse before, or not there), {n_others} are of books beyond the 66"
    )


if __name__ == "__main__":
    run(main)
