"""`charlm report`: a page about runs, or pictures of them; prints what was written.

The page is the result; what could not be put into it goes to stderr, each with its reason.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from charlm.cli import options, output

Runs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="RUN",
        help="Run directories, the first shown in detail; else $CHARLM_MODEL, else the newest "
        "finished in exp/.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Corpus directory with train.txt and the text, for all that needs perplexities.",
    ),
]
Split = Annotated[
    Literal["test", "valid"], typer.Option(help="Part of the corpus directory that is read.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Page to write, report.html if not given; picture, .png or .svg."
    ),
]
Picture = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="One picture in the place of the page: ngrams, words, filter, transform, gate, "
        "curves, bands or positions.",
    ),
]
Pictures = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder for all pictures that the runs can give, each as PNG, SVG and TSV; a page "
        "only with --out.",
    ),
]
DataOut = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Numbers of the one picture, as TSV.")
]
Words = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD", help="Word whose nearest words the page shows; once for each of several."
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        metavar="TAP", help="Point of the encoder for the map of words; the last if not given."
    ),
]
Filter = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Filter of the character CNN for the picture of that name, from 1, narrow ones "
        "first; the first of the widest if not given.",
    ),
]


def report(
    *,
    runs: Runs = None,
    data: Data = None,
    split: Split = "test",
    out: Out = None,
    picture: Picture = None,
    pictures: Pictures = None,
    data_out: DataOut = None,
    word: Words = None,
    at: At = None,
    filter: Filter = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Show a model in one HTML file that needs nothing else, or draw pictures of it.

    The page holds perplexities with signatures, learning curves, nearest words, maps of words and
    of character n-grams, gates, perplexity by frequency and by position beside the other runs and
    Kneser-Ney, and the hardest and the easiest sentences.

    \b
    charlm report exp/first exp/second --data corpus --out report.html
    charlm report exp/first --picture words --out words.svg --data-out words.tsv
    """
    chosen = {name: value for name, value in locals().items() if name != "as_json"}
    from charlm.insight.report.make import report as make_report
    from charlm.run.which import which_run

    if not runs:
        chosen["runs"] = which_run(None)
        output.say(f"model: {chosen['runs']}")
    chosen["word"] = word or ()
    result = make_report(**chosen, on_stage=output.say)
    if as_json:
        output.write_json(result.to_dict())
        return
    for note in result.notes:
        output.say(f"note: {note}")
    for missing in result.missing:
        output.say(f"not there: {missing}")
    for path in result.files:
        output.write(str(path))
