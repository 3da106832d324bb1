"""The options that several commands share, so that one idea has one spelling everywhere.

Nothing is checked here that the library checks too: a missing folder is the library's error
(status 1, one line), while Typer's errors (status 2) are for what cannot be understood.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

Data = Annotated[
    Path,
    typer.Option(metavar="DIR", help="Corpus directory with train.txt, valid.txt and test.txt."),
]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Run directory of the model; else $CHARLM_MODEL, else the newest finished in exp/.",
    ),
]
Device = Annotated[
    str,
    typer.Option(metavar="auto|cpu|cuda:N", help="Where the model runs; auto prefers a GPU."),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Number of CPU threads; all cores if not given."),
]
Gpus = Annotated[
    str | None,
    typer.Option(metavar="0,1,…", help="GPUs that divide the work among them, a process for each."),
]
Processes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="As --gpus, but so many processes on the CPU, a share of the cores each.",
    ),
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16"],
    typer.Option(help="Number format of matrix products; auto takes the fastest that is safe."),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Encoding of all text that is read, as latin-1 or cp1251 of older tools; vocabularies "
        "and runs are in UTF-8.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout instead of text for the eye.")
]

Split = Annotated[
    Literal["train", "valid", "test"] | None,
    typer.Option(help="Part of the corpus directory; test if not given."),
]
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Texts, one sentence a line: plain, gz, bz2 or xz; - is standard input.",
    ),
]
DataOrFiles = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Corpus directory, in the place of files."),
]
Order = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=6, help="Length of the longest n-grams of Kneser-Ney."),
]
Prune = Annotated[
    str,
    typer.Option(
        metavar="0,0,1",
        help="Largest count of the n-grams left out, by order; the last holds for longer ones.",
    ),
]
