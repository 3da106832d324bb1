"""Probability releases, as Herel and Mikolov publish them: one probability a line, not its log.

A line's word stands after its probability, or in FOLDER/words_SPLIT.txt beside
FOLDER/SPLIT/MODEL.txt, compressed or not. The first token of the text has no line, since their
programs predict nothing before they have read it. A line's number thus does not tell which token it
belongs to, so words are always required.
"""

import math
import os
import re
import sys
from array import array
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.tokens import END_WORD
from charlm.text.io.lines import LIST, LineRules, number_in, read_lines, split_words
from charlm.text.io.paths import PACKED
from charlm.text.perplexity.perplexity import ScoredSentence
from charlm.text.perplexity.score_streams import ROUNDING, WordScores

SUFFIX = ".prob"  # of files written in this layout, packed or not
# A number, alone or with a word; SRILM prints the text of a sentence bare, and its scores follow.
START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?=[.\d])\d*\.?\d*(?:[eE][-+]?\d+)?(?:[ \t]+\S+)?[ \t\r]*(?:\n|\Z)"
    rb"(?!\tp\()"
)
ENDS = (END_WORD, "<eos>")  # the latter as AWD-LSTM and those after it write it


def read_probabilities(path: str | Path, *, rules: LineRules = LIST) -> WordScores:
    """The probabilities of one model, with their words.

    Raises:
        DataError: a line that is not a probability; no words, or not as many as probabilities.
    """
    words: list[str] = []
    log10_probs = array("d")
    bare = 0  # number of the first line without a word
    for number, line in read_lines(path, rules=rules):
        fields = split_words(line)
        if not fields:
            continue
        if len(fields) > 2:
            raise DataError(
                f"{path}:{number}: {len(fields)} fields; expected a probability and its word"
            )
        probability = number_in(fields[0])
        if not 0 <= probability <= 1 + ROUNDING:
            raise DataError(
                f"{path}:{number}: probability {fields[0]:.30}; expected a number from 0 to 1"
            )
        log10_probs.append(min(math.log10(probability), 0.0) if probability else -math.inf)
        if len(fields) == 2:
            words.append(_word(fields[1]))
        else:
            bare = bare or number
    if not log10_probs:
        raise DataError(f"{path}: no probability; expected one a line")
    if not words:
        words = _words_beside(path, n_lines=len(log10_probs), rules=rules)
    elif bare:
        raise DataError(f"{path}:{bare}: a probability without its word; expected one behind each")
    if words[-1] != END_WORD:
        raise DataError(
            f"{path}: ends with {words[-1]!r:.60}, within a sentence; expected {END_WORD}; is the "
            "file cut?"
        )
    return WordScores(str(path), tuple(words), np.array(log10_probs), lacks_first=True)


def of_split(path: str | Path, split: str) -> Path:
    """The same model's probabilities of another split: FOLDER/valid/MODEL for FOLDER/test/MODEL.

    Raises:
        ConfigError: the file lies in no folder of a split.
        DataError: there is none.
    """
    given = Path(path)
    folder = _folder(path)
    if folder.name not in ("train", "valid", "test"):
        raise ConfigError(
            f"{path}: holds the probabilities of one text; expected a file of a folder test/, with "
            f"one of its name in {split}/ beside it; or leave out --data"
        )
    other = folder.parent / split / given.name
    if not other.is_file():
        raise DataError(f"{other}: no such file; expected the probabilities of {split}")
    return other


def probability_lines(sentence: ScoredSentence, *, first: int) -> str:
    """One line for each token from number `first` on: its probability, TAB, the word as scored."""
    tokens = zip((*sentence.mapped, *sentence.ends), sentence.log10_probs, strict=True)
    return "\n".join(f"{10.0**log10_prob:.9g}\t{word}" for word, log10_prob in [*tokens][first:])


def _folder(path: str | Path) -> Path:
    """The folder of a file, also where the path is given from inside it."""
    folder = Path(path).parent
    return folder if folder.name not in ("", "..") else Path(os.path.abspath(folder))


def _words_beside(path: str | Path, *, n_lines: int, rules: LineRules) -> list[str]:
    folder = _folder(path)
    name = folder.parent / f"words_{folder.name}.txt"
    found = [place for suffix in ("", *PACKED) if (place := Path(f"{name}{suffix}")).is_file()]
    if not found:
        raise DataError(
            f"{path}: probabilities without words; expected the word behind each, or {name} with "
            "one a line"
        )
    lines = read_lines(found[0], rules=rules)
    words = [_word(field) for _, line in lines for field in split_words(line)]
    if len(words) != n_lines:
        raise DataError(
            f"{path}: {n_lines} probabilities, and {found[0]} has {len(words)} words; expected as "
            "many; are they of one text?"
        )
    return words


def _word(field: str) -> str:
    """One string for each type, though each of many models has a file with all tokens."""
    return END_WORD if field in ENDS else sys.intern(field)
