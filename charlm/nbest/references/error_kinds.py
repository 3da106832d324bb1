"""What kinds of errors hypotheses have: another ending, other accents, words divided otherwise …

In a language of many word forms most wrong words are other forms of the right ones, which is what
a model of spelling and context can mend. The kinds are told by the letters alone, in any language.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from os.path import commonprefix

from rapidfuzz.distance import Editop, Levenshtein

ENDING, BEGINNING, ACCENTS, CASE = "ending", "beginning", "accents", "case"
BOUNDARY, OTHER, DELETED, INSERTED = "word boundary", "other word", "deleted", "inserted"
KINDS = (ENDING, BEGINNING, ACCENTS, CASE, BOUNDARY, OTHER, DELETED, INSERTED)
LEAST = 3  # letters that forms of a word share, and at least half of the longer form
SIGNS = re.compile(r"[\W_]")  # hyphens, apostrophes …


def error_kinds(reference: Sequence[str], hypothesis: Sequence[str]) -> Counter[str]:
    """How many edits there are of each kind, by an alignment that error rates count."""
    kinds = Counter[str]()
    for edits in _stretches(reference, hypothesis):
        said = [reference[edit.src_pos] for edit in edits if edit.tag != "insert"]
        heard = [hypothesis[edit.dest_pos] for edit in edits if edit.tag != "delete"]
        if _joined(said) == _joined(heard):
            kinds[BOUNDARY] += len(edits)
            continue
        for edit in edits:
            if edit.tag == "replace":
                kinds[_kind(reference[edit.src_pos], hypothesis[edit.dest_pos])] += 1
            else:
                kinds[DELETED if edit.tag == "delete" else INSERTED] += 1
    return kinds


def _stretches(reference: Sequence[str], hypothesis: Sequence[str]) -> Iterator[list[Editop]]:
    """Edits that no right word separates."""
    edits, end = list[Editop](), (0, 0)
    for edit in Levenshtein.editops(reference, hypothesis):
        if edits and end != (edit.src_pos, edit.dest_pos):
            yield edits
            edits = []
        edits.append(edit)
        end = edit.src_pos + (edit.tag != "insert"), edit.dest_pos + (edit.tag != "delete")
    if edits:
        yield edits


def _joined(words: Sequence[str]) -> str:
    """The letters of words that are joined; of signs alone, the signs."""
    text = "".join(words)
    return SIGNS.sub("", text) or text


def _kind(said: str, heard: str) -> str:
    if said.casefold() == heard.casefold():
        return CASE
    if _without_accents(said) == _without_accents(heard):
        return ACCENTS  # or the same one as a character of its own
    said, heard = (unicodedata.normalize("NFC", word) for word in (said, heard))
    if _is_shared(commonprefix([said, heard]), said, heard):
        return ENDING
    if _is_shared(commonprefix([said[::-1], heard[::-1]]), said, heard):
        return BEGINNING
    return OTHER


def _is_shared(part: str, *words: str) -> bool:
    return len(part) >= LEAST and 2 * len(part) >= max(map(len, words))


def _without_accents(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.casefold())
    return "".join(each for each in letters if unicodedata.category(each) != "Mn")
