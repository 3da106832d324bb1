"""The options of `charlm prep`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.options import Encoding, Opt, Punctuation, SplitHyphens, TextMap


@dataclass(frozen=True)
class PrepOptions:
    """Which text becomes a corpus directory, and what happens to each of its lines."""

    raw: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Text files, one sentence a line: plain, gz, bz2 or xz; - is standard input.",
            metavar="RAW...",
            is_argument=True,
        ),
    ] = ()
    _: KW_ONLY
    out: Annotated[str | Path, Opt("Directory of the result; made if missing.", metavar="DIR")]
    corpus: Annotated[
        Literal["pydoc"] | None,
        Opt("An embedded corpus instead of RAW; pydoc is the English of Python's docstrings."),
    ] = None
    encoding: Encoding = "utf-8"
    valid: Annotated[str | Path | None, Opt("Raw text of the validation split.", "Splits")] = None
    test: Annotated[str | Path | None, Opt("Raw text of the test split.", "Splits")] = None
    split: Annotated[
        str,
        Opt(
            "Shares of train, valid and test, by bytes, in contiguous blocks; without effect on "
            "a split whose file is given.",
            "Splits",
            metavar="A,B,C",
        ),
    ] = "90,5,5"
    lower: Annotated[bool, Opt("Lower case.", "Normalisation")] = False
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
    tokenise: Annotated[
        Literal["none", "simple"],
        Opt(
            "Tokeniser; none takes the words between blanks, simple splits punctuation off them.",
            "Normalisation",
            flags=("--tokenise", "--tokenize"),
        ),
    ] = "none"
    split_hyphens: SplitHyphens = False
    punctuation: Punctuation = "keep"
    map: TextMap = None
    numbers: Annotated[bool, Opt("N in the place of every number.", "Normalisation")] = False
    min_words: Annotated[int, Opt("Fewest words of a line that is kept.", "Lines", least=1)] = 1
    max_words: Annotated[
        int,
        Opt(
            "Most words of a line that is kept; 0 is no limit, and a line of more than 64 MiB an "
            "error.",
            "Lines",
            least=0,
        ),
    ] = 0
    dedup: Annotated[
        bool, Opt("No line twice (in the files of --valid and --test: within each).", "Lines")
    ] = False
    invalid: Annotated[
        Literal["error", "replace", "drop"],
        Opt(
            "What happens to a line that is not valid in the encoding, or holds NUL, control "
            "characters or soft hyphens: replace takes these out and puts U+FFFD for bytes.",
            "Lines",
        ),
    ] = "error"
    max_tokens: Annotated[
        int,
        Opt(
            "Words, no </s> counted, after which reading RAW ends: the line that reaches it is "
            "the last; 0 is no limit.",
            "Lines",
            least=0,
        ),
    ] = 0
