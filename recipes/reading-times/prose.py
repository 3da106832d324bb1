"""WikiText's articles as the prose that they were: one sentence a line, no headings.

Reads standard input and writes standard output. Blanks that its tokeniser put in are taken out
again, so that `charlm prep --tokenise simple` cuts this text and the raw text of stories and pairs
alike. A sentence of which a quarter and more is <unk> is left out.
"""

import io
import re
import sys
from collections.abc import Iterator

SENTENCE_END = re.compile(r'(?<= [.!?]) (?!["”)])|(?<= [.!?] ["”)]) ')
JOINED = re.compile(r" @(.)@ ")  # hyphens, thousands and decimals
CLITIC = re.compile(r" '(?=(?:s|t|re|ve|ll|d|m)\b)")


def sentences(line: str) -> Iterator[str]:
    """The sentences of an article's paragraph."""
    for sentence in SENTENCE_END.split(line.strip()):
        words = sentence.split()
        if len(words) > 2 and 4 * words.count("<unk>") <= len(words):
            yield CLITIC.sub("'", JOINED.sub(r"\1", sentence))


if __name__ == "__main__":
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n")  # whatever the locale says
    for line in sys.stdin:
        if line.strip() and not line.lstrip().startswith("="):
            for each in sentences(line):
                sys.stdout.write(each + "\n")
