"""The options of `charlm vocab`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from charlm.interface.options import Data, Opt

MAX_WORD_LENGTH = 65  # Kim et al.'s code cuts here, silently; `vocab` and `train` say how many
LONGEST_SPELLING = 10_000  # more is no word, and would ask for memory by the gigabyte


@dataclass(frozen=True, kw_only=True)
class VocabOptions:
    """Which words and characters of a corpus directory are known, and how words are cut."""

    data: Data
    out: Annotated[
        str | Path | None, Opt("File to write the vocabulary to, for `charlm train --vocab`.")
    ] = None
    size: Annotated[
        int, Opt("Largest number of words, </s> and <unk> included; 0 sets no limit.", least=0)
    ] = 0
    min_count: Annotated[
        int,
        Opt(
            "Least number of times that a word must occur in train.txt; 0 takes 1 where the text "
            "holds <unk> or --size is given, else 2.",
            least=0,
        ),
    ] = 0
    words: Annotated[
        str | Path | None,
        Opt(
            "File of all words to take, whether train.txt has them or not: a list, one a line, or "
            "a decoder's words.txt (Kaldi, OpenFst). They are normalised as the corpus was; labels "
            "of noise that train.txt lacks are left out.",
            metavar="FILE",
        ),
    ] = None
    min_char_count: Annotated[
        int,
        Opt(
            "Least number of times that a character must occur; rarer ones are read as unknown.",
            least=1,
        ),
    ] = 2
    max_word_length: Annotated[
        int,
        Opt(
            "Number of characters of a word that are read; the rest is cut off.",
            least=1,
            most=LONGEST_SPELLING,
        ),
    ] = MAX_WORD_LENGTH
    morphs: Annotated[
        str | None,
        Opt(
            "How words are segmented into morphs: by SentencePiece's unigram model of at most N "
            "pieces, by Morfessor Baseline, or by a file with a word, TAB and its morphs on each "
            "line, separated by blanks or +.",
            metavar="sentencepiece:N|morfessor|FILE",
        ),
    ] = None
    threads: Annotated[
        int | None,
        Opt(
            "Number of processes that count a text of 50 MB or more; one a core if not given.",
            "Machine",
            least=1,
        ),
    ] = None
