"""`charlm prep`: raw text to a corpus directory.

Whether options go together is the library's to say (status 1): here stands what they are called.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from charlm.cli import options, output

if TYPE_CHECKING:
    from charlm.text.corpus.prepare import PrepResult

Raw = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="RAW...",
        help="Text files, one sentence a line: plain, gz, bz2 or xz; - is standard input.",
    ),
]
Corpus = Annotated[
    Literal["pydoc"] | None,
    typer.Option(
        help="An embedded corpus instead of RAW; pydoc is the English of Python's docstrings."
    ),
]
Valid = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Raw text of the validation split.")
]
Test = Annotated[Path | None, typer.Option(metavar="FILE", help="Raw text of the test split.")]
Split = Annotated[
    str,
    typer.Option(
        metavar="A,B,C",
        help="Shares of train, valid and test, by bytes, in contiguous blocks; without effect on "
        "a split whose file is given.",
    ),
]
Lower = Annotated[bool, typer.Option("--lower", help="Lower case.")]
Unicode = Annotated[
    Literal["NFC", "NFD", "NFKC", "NFKD", "none"], typer.Option(help="Unicode normal form.")
]
Tokenise = Annotated[
    Literal["none", "simple"],
    typer.Option(
        help="Tokeniser; none takes the words between blanks, simple splits punctuation off them."
    ),
]
Numbers = Annotated[bool, typer.Option("--numbers", help="N in the place of every number.")]
MinWords = Annotated[
    int, typer.Option(metavar="N", min=1, help="Fewest words of a line that is kept.")
]
MaxWords = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Most words of a line that is kept; 0 is no limit, and a line of more than 64 MiB an "
        "error.",
    ),
]
Dedup = Annotated[
    bool,
    typer.Option(
        "--dedup", help="No line twice (in the files of --valid and --test: within each)."
    ),
]
Invalid = Annotated[
    Literal["error", "replace", "drop"],
    typer.Option(help="What happens to a line that is not valid in the encoding."),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Words, no </s> counted, after which reading RAW ends: the line that reaches it is "
        "the last; 0 is no limit.",
    ),
]


def prep(
    *,
    raw: Raw = None,
    out: options.Out,
    corpus: Corpus = None,
    valid: Valid = None,
    test: Test = None,
    split: Split = "90,5,5",
    lower: Lower = False,
    unicode: Unicode = "NFC",
    tokenise: Tokenise = "none",
    numbers: Numbers = False,
    min_words: MinWords = 1,
    max_words: MaxWords = 0,
    dedup: Dedup = False,
    encoding: options.Encoding = "utf-8",
    invalid: Invalid = "error",
    max_tokens: MaxTokens = 0,
    as_json: options.Json = False,
) -> None:
    """Make a corpus directory of raw text: train.txt, valid.txt, test.txt and corpus.json.

    Prints what each split holds, and what became of every line that was read.

    \b
    charlm prep news.txt.gz --out corpus --lower --tokenise simple --numbers
    """
    chosen = locals()  # the library's function has the same options, as a test makes sure
    chosen["raw"] = chosen["raw"] or ()
    del chosen["as_json"]
    from charlm.text.corpus.prepare import prepare

    result = prepare(**chosen)
    if as_json:
        output.write_json(result.to_dict())
    else:
        _print(result)


def _print(result: "PrepResult") -> None:
    splits = result.counts.items()
    output.table(
        [(split, n.lines, n.words, n.characters) for split, n in splits],
        header=("split", "lines", "words", "characters"),
    )
    fates = [("read", result.n_lines_read), *((why, n) for why, n in result.drops.items() if n)]
    fates.append(("kept", sum(n.lines for _, n in splits)))
    if result.replaced:
        fates.append(("mended", result.replaced))
    output.write("")
    output.table(fates, header=("lines", "number"))
    if result.stopped_after_tokens is not None:
        output.say(f"stopped after {result.stopped_after_tokens} tokens; the rest was not read")
