"""One model's scores of a text, token by token, as SRILM, KenLM, RNNLM or charlm write them.

SRILM prints a sentence's text as it is, which may look like anything; only a line that starts with
a TAB and `p(` is a score, since no word holds a TAB. KenLM's query prints a line for each sentence,
and the RNNLM toolkit (-debug 2) one for each word below a heading, with a probability that is not a
logarithm; both have lines without a TAB or a word in between, which say something else.
"""

import json
import math
import re
import sys
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.text.corpus.tokens import END_WORD, UNK_WORD
from charlm.text.io.files import display_name, parse_json
from charlm.text.io.lines import LIST, LineRules, number_in, read_lines, split_words

Log10s = npt.NDArray[np.float64]
Tokens = Iterator[tuple[str, float]]  # a word as scored, or `</s>`, and its log10 probability

SRILM_START = "\tp("
# A word, its context, the tag, the probability and its log10; -debug 3 adds a sum over all words.
SRILM_TOKEN = re.compile(r"\tp\( ([^ \t]+) \|[^\t]*\t=[^\t]* \[ ([^ \t]+) \](?: / [^ \t]+)?")
MINUS_INFINITY = "-1.#INF"  # of SRILM on Windows
KENLM_TOKEN = re.compile(r"([^ \t]+)=(\d+) \d+ ([^ \t]+)")  # a word, its id, an n, the log10
KENLM_OOV = "0"  # the id of unknown words
KENLM_SUMMARY = "\tPerplexity including OOVs:"  # behind the words where no `Total:` ends their line
# Less is what an ARPA file has at -99, and KenLM at -100 for an `<unk>` that the file lacks.
# Back-offs stand before it, which raise it where they are above 1, as SRILM's often are.
KENLM_NOTHING = -90.0
RNNLM_HEADING = re.compile(r"Index +P\(NET\)( +P\(LM\))? +Word *")
# A word's id, its probability, perhaps that of another model, and the word; or an unknown word.
RNNLM_TOKEN = re.compile(r"\d+\t([^ \t]+)\t(?:[^ \t]+\t)?([^ \t]+)|-1\t0\t\t(?:0\t\t)?OOV")
ROUNDING = 1e-5  # sums in fp32 end this little above 0 where a word is certain


@dataclass(frozen=True)
class WordScores:
    """One model's scores of a text, token by token."""

    source: str  # how messages and tables call it: a file, run or model
    words: tuple[str, ...]  # as scored: `<unk>` for what was unknown, `</s>` ends every sentence
    log10_probs: Log10s  # (N,), −inf where the model gives nothing
    signature: str | None = None  # of the evaluation, where a model was asked
    n_wasted: int = 0  # tokens read as `<unk>` for others' sake, and words to this model
    n_lacking: int = 0  # words of the n-gram models beside it that it gives nothing
    lacks_first: bool = False  # a release of probabilities, which says nothing of a text's first

    @property
    def n_sentences(self) -> int:
        return self.words.count(END_WORD)


def read_word_scores(path: str | Path, *, rules: LineRules = LIST) -> WordScores:
    """The scores in a file, in whichever layout it is.

    Raises:
        DataError: none of these layouts, or a file that is broken or truncated.
    """
    name = display_name(path)
    words: list[str] = []
    log10_probs = array("d")
    for word, log10_prob in _tokens(path, name, rules=rules):
        words.append(sys.intern(word))  # one string for each type, in all files
        log10_probs.append(log10_prob)
    if not words:
        raise DataError(
            f"{name}: no scored word; expected what SRILM or RNNLM prints at -debug 2, KenLM's "
            "query, or `charlm eval` with --debug 2 or --format jsonl (probabilities and n-gram "
            "models: no pipes)"
        )
    if words[-1] != END_WORD:
        raise DataError(
            f"{name}: ends within a sentence, after token {len(words)}, {words[-1]!r}; expected "
            f"{END_WORD}; the file is cut, or was made without sentence ends"
        )
    return WordScores(name, tuple(words), np.array(log10_probs))


def _tokens(path: str | Path, name: str, *, rules: LineRules) -> Tokens:
    read: Callable[..., Tokens] | None = None
    for number, line in read_lines(path, rules=rules):
        if line.strip(" \t"):
            read = read or _reader_of(line)
            if read is not None:
                yield from read(line, where=f"{name}:{number}")


def _reader_of(line: str) -> Callable[..., Tokens] | None:
    """The reader of the layout that a line shows; None for what may stand above the scores."""
    if line.startswith(SRILM_START):
        return _srilm_tokens
    if RNNLM_HEADING.fullmatch(line):
        return _rnnlm_tokens
    first, tab, _ = line.partition("\t")
    if tab and KENLM_TOKEN.fullmatch(first):
        return _kenlm_tokens
    return _jsonl_tokens if _is_jsonl(line) else None


def _is_jsonl(line: str) -> bool:
    """Whether a line is an object of ours; the text of a sentence can begin with `{`, too."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "log10_probs" in value


def _srilm_tokens(line: str, *, where: str) -> Tokens:
    if not line.startswith(SRILM_START):
        return
    found = SRILM_TOKEN.fullmatch(line)
    if found is None:
        shown = " ".join(split_words(line))  # a TAB would come out as an escape
        raise DataError(
            f"{where}: found {shown:.60}; expected `p( WORD | CONTEXT ) = [TAG] PROB [ LOG10 ]` as "
            "SRILM prints it"
        )
    log10_prob = "-inf" if found[2] == MINUS_INFINITY else found[2]
    yield found[1], _log10(log10_prob, where=where)


def _kenlm_tokens(line: str, *, where: str) -> Tokens:
    first, *others = line.partition(KENLM_SUMMARY)[0].split("\t")
    if "=" not in first:  # the text's perplexity and counts
        return
    if others and (not others[-1] or others[-1].startswith("Total: ")):
        others.pop()
    for token in (first, *others):
        found = KENLM_TOKEN.fullmatch(token)
        if found is None:
            raise DataError(
                f"{where}: found {token:.60}; expected `WORD=ID N LOG10` as KenLM's query prints it"
            )
        log10_prob = _log10(found[3], where=where)
        word = UNK_WORD if found[2] == KENLM_OOV else found[1]
        yield word, log10_prob if log10_prob > KENLM_NOTHING else -math.inf


def _rnnlm_tokens(line: str, *, where: str) -> Tokens:
    if "\t" not in line:  # a sentence's sum, or the text's
        return
    found = RNNLM_TOKEN.fullmatch(line)
    prob = number_in(found[1] or 0.0) if found else math.nan
    if found is None or not 0 <= prob <= 1 + ROUNDING:
        shown = " ".join(split_words(line))
        raise DataError(
            f"{where}: found {shown:.60}; expected `ID PROB WORD` between TABs as the RNNLM "
            "toolkit prints it"
        )
    yield found[2] or UNK_WORD, _log10(math.log10(prob) if prob else -math.inf, where=where)


def _jsonl_tokens(line: str, *, where: str) -> Tokens:
    sentence = _sentence(parse_json(line, where))
    if sentence is None:
        raise DataError(
            f"{where}: found {line:.60}; expected an object with lists of words, of known and, "
            "one longer, of log10_probs, as `charlm eval --format jsonl` writes it"
        )
    words, log10_probs = sentence
    for word, log10_prob in zip((*words, END_WORD), log10_probs, strict=True):
        yield word, _log10(log10_prob, where=where)


def _sentence(value: object) -> tuple[list[str], list[float]] | None:
    """Words as scored and log10 probabilities; None for an object that is no sentence of ours."""
    keys = ("words", "known", "log10_probs")
    lists = [value.get(key) for key in keys] if isinstance(value, dict) else []
    if not lists or not all(isinstance(each, list) for each in lists):
        return None
    words, known, log10_probs = cast("tuple[list[str], list[bool], list[float | None]]", lists)
    is_sentence = (
        all(type(word) is str for word in words)
        and split_words(" ".join(words)) == words  # none is empty or holds a blank
        and not any("\n" in word or word == END_WORD for word in words)
        and [type(each) for each in known] == [bool] * len(words)
        and len(log10_probs) == len(words) + 1
        and all(each is None or type(each) in (int, float) for each in log10_probs)
    )
    if not is_sentence:
        return None
    mapped = [word if is_known else UNK_WORD for word, is_known in zip(words, known, strict=True)]
    return mapped, [-math.inf if each is None else each for each in log10_probs]


def _log10(value: str | float, *, where: str) -> float:
    """A log10 probability as a number."""
    number = number_in(value)
    if not number <= ROUNDING:
        raise DataError(
            f"{where}: log10 probability {value!s:.30}; expected a number of 0 or below"
        )
    return min(number, 0.0)
