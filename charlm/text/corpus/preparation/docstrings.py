"""English sentences out of documentation: docstrings and reStructuredText rendered as plain text.

Documentation is prose between code, tables, grammars and lists of parameters. What does not read
like English is left out rather than mended: a corpus may lose a sentence, not gain a table row.
"""

import re
from collections.abc import Iterator

from charlm.text.corpus.normalisation.oddities import UNWANTED

BULLET = re.compile(r"(?:[*\-+o\u2022]|\(?\d{1,2}[.)]|\[\d+\]|\.\. \[\d+\]) +(?=\S)")
DEFINITION = re.compile(r"\S+(?:, \S+)* +--? +(?=\S)")
PARAMETER = re.compile(r"(?:\*{0,2}[a-z_][\w.]*(?: \([^)]*\))?|:\w+ [\w.*]+): +")
FIELD = re.compile(r"(?:\.\. [\w-]+::|@\w+:?|:(?:return|returns|rtype):) *")
# Underlines, borders of tables, rows of tables, grammar, shell and doctest prompts.
NO_PROSE = re.compile(r"[\W_]+$|[+|]|.*(?:::=| \| |={3}|-{4}|\t)|\$ |%|#")
DOCTEST = re.compile(r">>>|In \[|\(Pdb\)|Traceback \(most")

MARKUP = [
    (re.compile(r":[\w:]+:`~?!?([^`<]+?)(?: *<[^`]*>)?`"), r"\1"),  # :func:`name`
    (re.compile(r"`([^`<]+?) *<[^`]*>`_+"), r"\1"),  # `text <address>`_
    (re.compile(r"``([^`]+)``|`([^`']+)[`']_?"), r"\1\2"),  # ``name``  `name`  `name'
    (re.compile(r"(?<![\w*])\*{1,2}(\w|\w[^*]*?[\w:.])\*{1,2}(?!\w)"), r"\1"),  # *word*  **word**
    (re.compile(r" \[\d+\]_?(?=[\s.,;:)]|$)"), ""),  # a note's number
    (re.compile(r"::$"), ":"),
    (re.compile(r"\s+"), " "),
]

SENTENCE_END = re.compile(r"[.!?]+[\"')\]]*\s+(?=[\"'(\[]*[A-Z])")
ABBREVIATION = re.compile(
    r"(?:^|[\s(\"])(?:[A-Z]|e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|St|no|approx)\.\s+$"
)

PLAIN_WORD = re.compile(
    r"[\"'(\[]*(?:[A-Z]?[a-z]+|[A-Z]+|\d+)(?:['\u2019/-][A-Za-z]+)*[\"')\],.;:!?]*"
)
LOWER_WORD = re.compile(r"[a-z]+[,.;:]?")
# Also what no text file holds: lone surrogates here, NUL and the like in UNWANTED. A docstring has
# them by an escape such as b'\0'.
FOREIGN = re.compile(
    r"[{}|\\~^$\ud800-\udfff]|::|://|==|\+-|->|=>|<-|^import |^from \w+ import|\b\w+ = |\w\(\w*,"
)
LEAST_LOWER = 2
LEAST_PLAIN = 0.7


def sentences(text: str) -> Iterator[str]:
    """The sentences of a documentation text, on one line each and without markup."""
    for paragraph in paragraphs(text):
        plain = paragraph
        for expression, replacement in MARKUP:
            plain = expression.sub(replacement, plain)
        yield from (s for s in split_sentences(plain.strip()) if is_english(s))


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs and list items with their lines joined, code and tables left out."""
    code_under = -1  # a paragraph that ended in "::" announced code, which is indented deeper
    for block in re.split(r"\n\s*\n", text.expandtabs()):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        indent = _indent(lines[0])
        if 0 <= code_under < indent:
            continue
        code_under = indent if lines[-1].rstrip().endswith("::") else -1
        yield from _items(lines)


def _items(lines: list[str]) -> Iterator[str]:
    """A block's items: cut at bullets, definitions, parameters and changes of indentation."""
    item: list[str] = []
    indent = list_indent = -1
    may_hang = False  # the second line of a list's item may stand below its text
    for raw in lines:
        line = raw.strip()
        if DOCTEST.match(line):
            break
        moved = _indent(raw) != indent
        is_free = moved or not item or item[-1].endswith((".", ":")) or _indent(raw) == list_indent
        n_head = _head(line, is_free=is_free)
        if NO_PROSE.match(line) or n_head or (moved and not may_hang):
            yield _joined(item)
            item = []
        if not NO_PROSE.match(line):
            item.append(line[n_head:])
        may_hang = bool(n_head)
        indent = _indent(raw)
        list_indent = indent if n_head else list_indent
    yield _joined(item)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _head(line: str, *, is_free: bool) -> int:
    """The length of what marks an item: `* `, `1. `, `name -- `, `name: `, `:param name: `."""
    bullet = BULLET.match(line)
    length = bullet.end() if bullet else 0
    if bullet or is_free:
        for expression in (DEFINITION, FIELD, PARAMETER):
            if found := expression.match(line, length):
                return found.end()
    return length


def _joined(lines: list[str]) -> str:
    text = " ".join(lines)
    return re.sub(r"(?<=[A-Za-z]-) (?=[a-z])", "", text) if "- " in text else text


def split_sentences(paragraph: str) -> Iterator[str]:
    """A paragraph's sentences; an abbreviation does not end one."""
    start = 0
    for found in SENTENCE_END.finditer(paragraph):
        if not ABBREVIATION.search(paragraph, start, found.end()):
            yield paragraph[start : found.end()].strip()
            start = found.end()
    yield paragraph[start:].strip()


def is_english(sentence: str) -> bool:
    """Whether most of a sentence's tokens are plain words, and none is a piece of code."""
    tokens = sentence.split(" ")
    n_plain = sum(1 for token in tokens if PLAIN_WORD.fullmatch(token))
    n_lower = sum(1 for token in tokens if LOWER_WORD.fullmatch(token))
    return (
        n_lower >= LEAST_LOWER
        and n_plain >= LEAST_PLAIN * len(tokens)
        and not FOREIGN.search(sentence)
        and not UNWANTED.search(sentence)
    )
