"""The options of `charlm prep`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.interface.options import (
    Encoding,
    Numbers,
    Opt,
    Punctuation,
    SplitHyphens,
    TextMap,
    Tokenise,
)


@dataclass(frozen=True)
class PrepOptions:
    """Which text becomes a corpus directory, and what happens to each of its lines."""

    raw: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Text files, one sentence a line: plain, gz, bz2 or xz; - is standard input.",
            metavar="RAW",
            is_argument=True,
        ),
    ] = ()
    _: KW_ONLY
    out: Annotated[str | Path, Opt("Corpus directory to write; made if missing.", metavar="DIR")]
    corpus: Annotated[
        Literal["pydoc"] | None,
        Opt("Built-in corpus to use instead of RAW; pydoc is the English of Python's docstrings."),
    ] = None
    encoding: Encoding = "utf-8"
    valid: Annotated[str | Path | None, Opt("Raw text of the validation split.", "Splits")] = None
    test: Annotated[str | Path | None, Opt("Raw text of the test split.", "Splits")] = None
    split: Annotated[
        str | Sequence[float],
        Opt(
            "Shares of train, valid and test in the bytes of RAW, which is cut into contiguous "
            "blocks; ignored for a split whose file is given.",
            "Splits",
            metavar="A,B,C",
            cli_type=str,
        ),
    ] = "90,5,5"
    lower: Annotated[bool, Opt("Convert to lower case.", "Normalisation")] = False
    dotless_i: Annotated[
        bool,
        Opt(
            "With --lower: I becomes \u0131, and \u0130 becomes i, as in Turkish and Azerbaijani.",
            "Normalisation",
        ),
    ] = False
    unicode: Annotated[
        Literal["NFC", "NFD", "NFKC", "NFKD", "none"], Opt("Unicode normal form.", "Normalisation")
    ] = "NFC"
    tokenise: Tokenise = "none"
    split_hyphens: SplitHyphens = False
    punctuation: Punctuation = "keep"
    map: TextMap = None
    numbers: Numbers = False
    min_words: Annotated[
        int, Opt("Least number of words of a line that is kept.", "Lines", least=1)
    ] = 1
    max_words: Annotated[
        int,
        Opt(
            "Largest number of words of a line that is kept; 0 sets no limit, and a line of more "
            "than 64 MiB is an error then.",
            "Lines",
            least=0,
        ),
    ] = 0
    dedup: Annotated[
        bool,
        Opt(
            "Keep the first of equal lines only; the files of --valid and --test are each treated "
            "by themselves.",
            "Lines",
        ),
    ] = False
    invalid: Annotated[
        Literal["error", "replace", "drop"],
        Opt(
            "What happens to a line that is not valid in the encoding, or that holds NUL, control "
            "characters or soft hyphens: replace removes soft hyphens, and writes a blank for NUL "
            "and control characters and U+FFFD for invalid bytes.",
            "Lines",
        ),
    ] = "error"
    max_tokens: Annotated[
        int,
        Opt(
            "Number of words, </s> not counted, after which reading RAW ends; the line that "
            "reaches it is the last one read; 0 sets no limit.",
            "Lines",
            least=0,
        ),
    ] = 0
