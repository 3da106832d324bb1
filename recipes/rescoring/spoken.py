"""Running text as somebody would say it: no punctuation, no case, one sentence a line.

Reads standard input and writes standard output. What stands for a number, or holds anything but
letters and apostrophes, becomes <unk>; clitics that a tokeniser cut off ("do n't", "it 's") are
joined again. A sentence of one word, or of a quarter of <unk> and more, is left out.
"""

import re
import sys
from collections.abc import Iterator

SENTENCE_END = re.compile(r"(?<= [.!?;:]) ")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*'?")
CLITIC = re.compile(r"n't|'(?:s|t|re|ve|ll|d|m)")
AROUND = '.,!?;:()[]"`*_&|/=~'


def spoken(line: str) -> Iterator[list[str]]:
    """The sentences of a line."""
    for sentence in SENTENCE_END.split(line.strip()):
        words = list(words_of(sentence))
        if len(words) > 1 and 4 * words.count("<unk>") <= len(words):
            yield words


def words_of(sentence: str) -> list[str]:
    """What is said of a sentence."""
    words: list[str] = []
    # " @-@ " and " @,@ " are WikiText's hyphens and thousands.
    text = sentence.lower().replace(" @-@ ", " ").replace(" @,@ ", "").replace("-", " ")
    for token in text.split():
        bare = token if token == "<unk>" else token.strip(AROUND)
        if CLITIC.fullmatch(bare) and words:
            words[-1] += bare
        elif WORD.fullmatch(bare):
            words.append(bare)
        elif bare and re.search(r"\w", bare):
            words.append("<unk>")
    return words


if __name__ == "__main__":
    for line in sys.stdin:
        if line.strip() and not line.lstrip().startswith("="):  # WikiText's headings
            for sentence in spoken(line):
                sys.stdout.write(" ".join(sentence) + "\n")
