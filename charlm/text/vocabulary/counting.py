"""Counting the tokens of a text block by block, by several processes if it is large.

The counts are the same however many processes there are, and whether they fit memory or not.
"""

from collections import Counter
from pathlib import Path

from charlm.text.corpus.line_blocks import TextBlock, read_blocks
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.ranges import COUNT, Readers, n_readers
from charlm.text.corpus.sentences import read_sentences
from charlm.text.io.lines import split_words
from charlm.text.vocabulary.counts import (
    MOST_TYPES,
    N_PARTS,
    CountFiles,
    TextCounts,
    TokenCounts,
    count_text,
    merged,
)


def count_file(
    path: str | Path,
    *,
    normalisation: Normalisation | None = None,
    max_tokens: int = 0,
    threads: int | None = None,
) -> TextCounts:
    """The counts of the sentences that `corpus.read_sentences` gives.

    A process holds `counts.MOST_TYPES` types; what is more lies in files without a name, which go
    with the process, however it ends.

    Raises:
        DataError: as `read_sentences`.
        ProcessError: a process ended before its time.
        OSError: as the system gave it; a full disk names the folder.
    """
    if max_tokens:
        sentences = read_sentences(path, normalisation=normalisation, max_tokens=max_tokens)
        return count_text(sentences)
    n = n_readers(path, threads=threads)
    if n > 1:
        return _count_together(n, path, normalisation)
    with CountFiles() as files:
        tally = Tally(normalisation, files=files)
        for block in read_blocks(path):
            tally.add(block)
        return TextCounts(tally.counts(), tally.n_sentences)


def _count_together(n: int, path: str | Path, normalisation: Normalisation | None) -> TextCounts:
    with Readers(n, path, job={"job": COUNT}, normalisation=normalisation) as readers:
        n_sentences: int = sum(answer["n_sentences"] for answer, _ in readers.over_ranges())
        parts = (readers.answers(number) for number in range(N_PARTS))
        return TextCounts(merged(parts), n_sentences)


class Tally:
    """The counts of one process."""

    def __init__(self, normalisation: Normalisation | None, *, files: CountFiles) -> None:
        self.n_sentences = 0
        self.files = files  # of what memory would not hold
        self._normalisation = normalisation
        self._words: Counter[str] = Counter()  # as they stand in text of the Unicode form
        self._tokens: Counter[str] = Counter()  # wholly normalised

    def add(self, block: TextBlock) -> None:
        """Count the words of a block.

        Raises:
            DataError: as `read_sentences`.
            OSError: as the system gave it; a full disk names the folder.
        """
        text = block.text(self._normalisation)
        if text is not None:
            self._words.update(text.replace("\n", " ").split(" "))
            self._words.pop("", None)  # between two blanks
            self.n_sentences += text.count("\n")
        else:
            for words in block.sentences(self._normalisation):
                self._tokens.update(words)
                self.n_sentences += 1
        if len(self._words) + len(self._tokens) > MOST_TYPES:
            self.put_down()

    def put_down(self) -> None:
        """Write what is held in memory to the disk."""
        self.files.add(self._taken())

    def counts(self) -> TokenCounts:
        """Those of all blocks; there may be none further.

        Raises:
            OSError: as the system gave it; a full disk names the folder.
        """
        if not self.files.parts:
            return self._taken()
        self.put_down()
        return merged([self.files.part(number)] for number in range(N_PARTS))

    def _taken(self) -> Counter[str]:
        """What is held in memory, and is no longer."""
        words, tokens = self._words, self._tokens
        self._words, self._tokens = Counter(), Counter()
        normalisation = self._normalisation
        if normalisation is None or normalisation.leaves_words:
            words.update(tokens)
            return words
        for word, count in words.items():
            for token in split_words(normalisation(word)):
                tokens[token] += count
        return tokens
