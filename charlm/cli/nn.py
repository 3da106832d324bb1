"""`charlm nn`: the words nearest to words, side by side as in table 6 of Kim et al. (2016).

How many words stand side by side depends on the words and never on the terminal, so that a pipe and
a log hold the same table. What is measured over files is in `nn_measures.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from charlm.cli import nn_measures, options, output

if TYPE_CHECKING:
    from charlm.insight.vectors.analogies import Analogy
    from charlm.insight.vectors.neighbours import Neighbourhood
    from charlm.insight.vectors.search import Neighbour

WIDTH = 80  # of a table, the same in a terminal and a pipe
GAP = 2
UNKNOWN = "*"
NOTHING = "–"  # as in the paper's table, of a word that a tap cannot read

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORD",
        help="Words of the vocabulary, or any other spelling; further files after an option that "
        "measures files.",
    ),
]
Number = Annotated[int, typer.Option("-k", metavar="N", min=1, help="Nearest words of each.")]
At = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TAP,...",
        help="Points of the model: char-cnn is before and highway after the highway layers, output "
        "the output layer's vectors, all every one but gates; `charlm info` lists a run's; the "
        "encoder's last if not given.",
    ),
]
AnalogyOf = Annotated[
    str | None,
    typer.Option(metavar="'A - B + C'", help="Words nearest to this sum of words, in quotes."),
]
Vectors = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File to write in word2vec's text format: the vocabulary's vectors, </s> and <unk> "
        "first; with a WORD those of the given words alone.",
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Words as they stand, without the run's normalisation.")
]
Lower = Annotated[bool, typer.Option("--lower", help="Words in lower case, those of files too.")]


def nn(
    *,
    words: Words = None,
    model: options.Model = None,
    k: Number = 10,
    at: At = None,
    analogy: AnalogyOf = None,
    analogies: nn_measures.Analogies = None,
    similarity: nn_measures.Similarity = None,
    normalise: nn_measures.Normalise = None,
    edit_distance: nn_measures.EditDistance = None,
    vectors: Vectors = None,
    raw: Raw = False,
    lower: Lower = False,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Find the words of the vocabulary that are nearest to words, by cosine similarity.

    A word outside the vocabulary is read by its spelling; a * marks it in the table. Instead of
    words: an analogy, files that measure the vectors, or a file to write them to.

    \b
    charlm nn while trading looooook --model exp/first -k 5
    charlm nn while trading looooook --at char-cnn,highway
    charlm nn --analogy "king - man + woman"
    charlm nn --similarity en-rg65.tsv en-simlex999.tsv --lower
    charlm nn --vectors vectors.txt
    """
    files = {"analogies": analogies, "similarity": similarity, "normalise": normalise}
    measures = {**files, "edit_distance": edit_distance}
    _check_question(words, {"analogy": analogy, "vectors": vectors, **measures})
    from charlm.run.which import which_run

    run = which_run(model)
    if model is None:
        output.say(f"model: {run}")
    common = nn_measures.Common(model=run, raw=raw, lower=lower, device=device)
    if vectors is not None:
        _write(vectors, words or [], at=at, as_json=as_json, common=common)
    elif analogy is not None:
        _tell_analogy(analogy, k=k, at=at, as_json=as_json, common=common)
    elif not any(measures.values()):
        _tell_neighbours(words or [], k=k, at=at, as_json=as_json, common=common)
    for name, given in files.items():
        if given:
            asked = [*given, *map(Path, words or [])]  # as a shell's * gives them
            nn_measures.measure(name, asked, k=k, at=at, as_json=as_json, common=common)
    if edit_distance:
        name = "edit_distance"
        nn_measures.measure(name, edit_distance, k=k, at=at, as_json=as_json, common=common)


def _check_question(words: list[str] | None, instead: Mapping[str, object]) -> None:
    """Raises a usage error where nothing is asked, or two things at once."""
    names = [f"--{name.replace('_', '-')}" for name, value in instead.items() if value is not None]
    if len(names) > 1:
        raise typer.BadParameter(f"{' and '.join(names)} are different questions; ask one of them.")
    if not names and not words:
        raise typer.BadParameter("nothing is asked; give a WORD, or one of the options.")
    if words and names and names[0] in ("--analogy", "--edit-distance"):
        raise typer.BadParameter(f"{names[0]} takes no WORD beside it; a sum stands in quotes.")


def _tell_neighbours(
    words: list[str], *, k: int, at: list[str] | None, as_json: bool, common: nn_measures.Common
) -> None:
    from charlm.insight.vectors.neighbours import neighbours

    results = neighbours(words, k=k, at=at, tell=output.say, **common)
    if as_json:
        dicts = [each.to_dict() for each in results]
        output.write_json({"model": str(common["model"]), "words": dicts})
        return
    if at is None:
        output.say(f"at: {results[0].tap}")
    first = results[: len(words)]
    for each in first:
        if each.form != each.word:
            output.say(f"{each.word} is read as {each.form}")
    if not all(each.is_known for each in first):
        output.say(f"{UNKNOWN} not in the vocabulary: read by its spelling")
    _print_blocks([results[n : n + len(words)] for n in range(0, len(results), len(words))])


def _tell_analogy(
    expression: str, *, k: int, at: list[str] | None, as_json: bool, common: nn_measures.Common
) -> None:
    from charlm.insight.vectors.analogies import analogy

    results = analogy(expression, k=k, at=at, tell=output.say, **common)
    if as_json:
        dicts = [each.to_dict() for each in results]
        output.write_json({"model": str(common["model"]), "analogies": dicts})
        return
    if at is None:
        output.say(f"at: {results[0].tap}")
    for term in results[0].terms:
        if not term.is_known:
            output.say(f"{term.form} is not in the vocabulary: read by its spelling")
    _print_blocks([[each] for each in results])


def _write(
    path: Path, words: list[str], *, at: list[str] | None, as_json: bool, common: nn_measures.Common
) -> None:
    from charlm.insight.vectors.word2vec import write_vectors

    result = write_vectors(path, words, at=at, **common)
    if as_json:
        output.write_json({"model": str(common["model"]), **result.to_dict()})
        return
    vectors = "1 vector" if result.n_words == 1 else f"{result.n_words:,} vectors"
    alone = "; of the given words alone, without WORD of the whole vocabulary" if words else ""
    output.say(f"{path}: {vectors} of {result.dim} numbers, at {result.tap}{alone}")


def _print_blocks(taps: Sequence[Sequence["Neighbourhood | Analogy"]]) -> None:
    """A block a tap, one below the other in the same columns; the tap is named if there are two."""
    labels = [block[0].tap for block in taps] if len(taps) > 1 else []
    free = WIDTH - (max(map(len, labels)) + GAP if labels else 0)
    columns = [list(column) for column in zip(*taps, strict=True)]
    for number, band in enumerate(_bands(columns, width=free)):
        if number:
            output.write("")
        header = [cell for column in band for cell in (_head(column[0]), "")]
        rows = []
        for block in range(len(taps)):
            lines = _lines([column[block] for column in band])
            if labels:
                shown = [labels[block], *[""] * (len(lines) - 1)]
                lines = [[label, *line] for label, line in zip(shown, lines, strict=True)]
            rows += lines
            if labels and block + 1 < len(taps):
                rows.append([""] * (len(header) + 1))
        output.table(rows, header=["", *header] if labels else header)


def _bands(
    columns: Iterable[list["Neighbourhood | Analogy"]], *, width: int
) -> Iterable[list[list["Neighbourhood | Analogy"]]]:
    """As many words side by side as fit into the width, at least one."""
    band: list[list[Neighbourhood | Analogy]] = []
    used = 0
    for column in columns:
        wanted = max(map(_width, column))
        if band and used + wanted > width + GAP:
            yield band
            band, used = [], 0
        band.append(column)
        used += wanted
    yield band


def _width(each: "Neighbourhood | Analogy") -> int:
    """Columns of the terminal that a word and its neighbours take, a gap behind them included."""
    from rich.cells import cell_len

    longest = max(map(cell_len, [_head(each), *(near.word for near in each.nearest)]))
    similarity = max([0, *(len(_shown(near)) for near in each.nearest)])
    return longest + GAP + similarity + GAP


def _lines(block: Sequence["Neighbourhood | Analogy"]) -> list[list[str]]:
    n_lines = max(1, *(len(each.nearest) for each in block))
    return [[cell for each in block for cell in _cells(each, row)] for row in range(n_lines)]


def _head(each: "Neighbourhood | Analogy") -> str:
    from charlm.insight.vectors.analogies import Analogy

    if isinstance(each, Analogy):
        return each.expression
    return each.form if each.is_known else each.form + UNKNOWN


def _cells(each: "Neighbourhood | Analogy", row: int) -> tuple[str, str]:
    if row >= len(each.nearest):
        return (NOTHING if row == 0 else "", "")
    return each.nearest[row].word, _shown(each.nearest[row])


def _shown(near: "Neighbour") -> str:
    return f"{near.similarity:.3f}"
