"""`charlm nn`: the words nearest to words, side by side as in table 6 of Kim et al. (2016).

How many words stand side by side depends on the words and never on the terminal, so that a pipe and
a log hold the same table.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from charlm.cli import options, output

if TYPE_CHECKING:
    from charlm.insight.neighbours import Neighbourhood

WIDTH = 80  # of a table, the same in a terminal and a pipe
GAP = 2
UNKNOWN = "*"

Words = Annotated[
    list[str],
    typer.Argument(metavar="WORD", help="Words of the vocabulary, or any other spelling."),
]
Number = Annotated[int, typer.Option("-k", metavar="N", min=1, help="Nearest words of each.")]
At = Annotated[
    str | None,
    typer.Option(
        metavar="TAP",
        help="Point of the encoder: char-cnn is before and highway after the highway layers; "
        "the last if not given.",
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Words as they stand, without the run's normalisation.")
]


def nn(
    *,
    words: Words,
    model: options.Model = None,
    k: Number = 10,
    at: At = None,
    raw: Raw = False,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Find the words of the vocabulary that are nearest to words, by cosine similarity.

    A word outside the vocabulary is read by its spelling; a * marks it in the table.

    \b
    charlm nn while trading looooook --model exp/first -k 5
    """
    from charlm.insight.neighbours import neighbours
    from charlm.run.which import which_run

    run = which_run(model)
    if model is None:
        output.say(f"model: {run}")
    results = neighbours(words, model=run, k=k, at=at, raw=raw, device=device)
    if as_json:
        output.write_json({"model": str(run), "words": [each.to_dict() for each in results]})
        return
    if at is None:
        output.say(f"at: {results[0].tap}")
    for each in results:
        if each.form != each.word:
            output.say(f"{each.word} is read as {each.form}")
    if not all(each.is_known for each in results):
        output.say(f"{UNKNOWN} not in the vocabulary: read by its spelling")
    for number, band in enumerate(_bands(results)):
        if number:
            output.write("")
        _print(band)


def _bands(results: Sequence["Neighbourhood"]) -> Iterable[list["Neighbourhood"]]:
    """As many words side by side as fit into the width, at least one."""
    band: list[Neighbourhood] = []
    width = 0
    for each in results:
        wanted = _width(each)
        if band and width + wanted > WIDTH + GAP:
            yield band
            band, width = [], 0
        band.append(each)
        width += wanted
    yield band


def _width(each: "Neighbourhood") -> int:
    """Columns of the terminal that a word and its neighbours take, a gap behind them included."""
    from rich.cells import cell_len

    longest = max(map(cell_len, [_head(each), *(near.word for near in each.nearest)]))
    similarity = max([0, *(len(_shown(near.similarity)) for near in each.nearest)])
    return longest + GAP + similarity + GAP


def _print(band: list["Neighbourhood"]) -> None:
    header = [cell for each in band for cell in (_head(each), "")]
    rows = [
        [cell for each in band for cell in _cells(each, row)]
        for row in range(max(len(each.nearest) for each in band))
    ]
    output.table(rows, header=header)


def _head(each: "Neighbourhood") -> str:
    return each.form if each.is_known else each.form + UNKNOWN


def _cells(each: "Neighbourhood", row: int) -> tuple[str, str]:
    if row >= len(each.nearest):
        return "", ""
    near = each.nearest[row]
    return near.word, _shown(near.similarity)


def _shown(similarity: float) -> str:
    return f"{similarity:.3f}"
