"""`charlm nn`: the words nearest to words, side by side as in table 6 of Kim et al. (2016).

How many words stand side by side depends on the words and never on the terminal, so that a pipe and
a log hold the same table. Measures over files show every share beside its denominator: what a share
is worth depends on how much of a file the model can read.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from charlm.cli.printing import output
from charlm.cli.program.build_command import command
from charlm.insight.vectors.nn_options import NnOptions, TapOptions, VectorsOptions, shared
from charlm.interface.options import check_ranges

if TYPE_CHECKING:
    from charlm.insight.vectors.measures.analogies import Analogy, AnalogyScore, AnswerCounts
    from charlm.insight.vectors.measures.noisy_words import NormalisationScore
    from charlm.insight.vectors.measures.similarity import Similarity
    from charlm.insight.vectors.measures.spelling_distance import SpellingDistance
    from charlm.insight.vectors.neighbourhood import Neighbourhood

Tell = Callable[[Any], None]  # of the results of a question
Column = list[tuple[str, str]]  # a word, then those nearest to it with their similarity

WIDTH = 80  # of a table, the same in a terminal and a pipe
GAP = 2
# What a question would not look at: options that its user believes to change something.
OF_READING = {"raw": "--raw", "lower": "--lower"}
IDLE = {
    **dict.fromkeys(("vectors", "analogies", "similarity", "normalise"), {"k": "-k"}),
    "edit_distance": OF_READING,
}
NOTHING = "–"  # as in the paper's table, of a word that a tap cannot read


@command(NnOptions)
def nn(options: NnOptions, *, as_json: bool) -> None:
    """Find the words nearest to a word, known or not.

    The nearest words are those of the vocabulary whose vectors have the largest cosine.

    A word outside the vocabulary is read by its spelling; a * marks it in the table. Instead of
    words it takes an analogy, files to measure the vectors by, or a file to write them to.

    \b
    charlm nn while trading looooook --model exp/first -k 5
    charlm nn while trading looooook --at char-cnn,highway
    charlm nn --analogy "king - man + woman"
    charlm nn --similarity en-rg65.tsv en-simlex999.tsv --lower
    charlm nn --vectors vectors.txt
    """
    question = _question(options)
    check_ranges(options)
    options = replace(options, model=output.announced_run(options.model), on_stage=output.say)
    if question == "vectors":
        _write(options, as_json=as_json)
    else:
        _answer(question, options, as_json=as_json)


def _question(options: NnOptions) -> str:
    """The name of the option that asks the question; `words` if none does.

    Raises a usage error if nothing is asked, or two things at once.
    """
    instead = ("analogy", "vectors", *MEASURES)
    asked = [name for name in instead if getattr(options, name) not in (None, ())]
    flags = [f"--{name.replace('_', '-')}" for name in asked]
    if len(asked) > 1:
        raise typer.BadParameter(f"{' and '.join(flags)} are different questions; ask one of them.")
    if not asked and not options.words:
        raise typer.BadParameter("nothing is asked; give a WORD, or one of the options.")
    if options.words and asked and asked[0] in ("analogy", "edit_distance"):
        advice = "a sum stands in quotes" if asked[0] == "analogy" else "leave it out"
        raise typer.BadParameter(f"{flags[0]} takes no WORD beside it; {advice}.")
    idle = IDLE.get(asked[0], {}) if asked else {}
    if asked == ["vectors"] and not options.words:  # the vocabulary's stand as they are
        idle = idle | OF_READING
    for name, flag in idle.items():
        if getattr(options, name) != getattr(NnOptions, name):
            raise typer.BadParameter(f"{flag} says nothing with {flags[0]}; leave it out.")
    return asked[0] if asked else "words"


def _tell_neighbours(results: Sequence["Neighbourhood"]) -> None:
    first = [each for each in results if each.tap == results[0].tap]
    for each in first:
        if each.form != each.word:
            output.say(f"{each.word} is read as {each.form}")
    if not all(each.is_known for each in first):
        output.say(f"{output.UNKNOWN} not in the vocabulary: read by its spelling")
    _print_blocks(results)


def _tell_analogy(results: Sequence["Analogy"]) -> None:
    for term in results[0].terms:
        if not term.is_known:
            output.say(f"{term.form} is not in the vocabulary: read by its spelling")
    _print_blocks(results)


def _write(options: NnOptions, *, as_json: bool) -> None:
    from charlm.insight.vectors.measures.word2vec import write_vectors

    path = options.vectors or ""
    result = write_vectors(path, options.words, **shared(options, VectorsOptions))
    if as_json:
        output.write_json({"model": str(options.model), **result.to_dict()})
        return
    vectors = f"{result.n_words:,} {output.noun(result.n_words, 'vector')}"
    alone = "; of the given words alone, without WORD of the whole vocabulary"
    told = alone if options.words else ""
    output.say(f"{path}: {vectors} of {result.dim} numbers, at {result.tap}{told}")


def _print_blocks(results: Sequence["Neighbourhood | Analogy"]) -> None:
    """One block for each tap, below each other in the same columns; two or more are named."""
    taps = [list(block) for _, block in groupby(results, key=lambda each: each.tap)]
    labels = [block[0].tap for block in taps] if len(taps) > 1 else []
    free = WIDTH - (max(map(len, labels)) + GAP if labels else 0)
    columns = [[_column(each) for each in of_word] for of_word in zip(*taps, strict=True)]
    for number, band in enumerate(_bands(columns, width=free)):
        if number:
            output.write("")
        header = [cell for column in band for cell in column[0][0]]
        rows = []
        for block in range(len(taps)):
            nearest = (column[block][1:] for column in band)
            pairs = zip_longest(*nearest, fillvalue=("", ""))
            lines = [list(chain.from_iterable(line)) for line in pairs]
            if labels:
                shown = [labels[block], *[""] * (len(lines) - 1)]
                lines = [[label, *line] for label, line in zip(shown, lines, strict=True)]
            rows += lines
            if labels and block + 1 < len(taps):
                rows.append([""] * (len(header) + 1))
        output.table(
            rows,
            header=["", *header] if labels else header,
            labels=1 if labels else 0,
            groups=[2] * len(band),
        )


def _column(each: "Neighbourhood | Analogy") -> Column:
    from charlm.insight.vectors.neighbourhood import Neighbourhood

    head = each.form if isinstance(each, Neighbourhood) else each.expression
    if isinstance(each, Neighbourhood) and not each.is_known:
        head += output.UNKNOWN
    nearest = [(near.word, f"{near.similarity:.3f}") for near in each.nearest]
    return [(head, ""), *(nearest or [(NOTHING, "")])]


def _bands(columns: Iterable[list[Column]], *, width: int) -> Iterable[list[list[Column]]]:
    """As many words side by side as fit into the width, at least one."""
    band: list[list[Column]] = []
    used = 0
    for column in columns:
        wanted = max(map(_width, column))
        if band and used + wanted > width + GAP:
            yield band
            band, used = [], 0
        band.append(column)
        used += wanted
    yield band


def _width(column: Column) -> int:
    """The width of a word's column with its neighbours, including the gap after it."""
    from rich.cells import cell_len

    words, similarities = zip(*column, strict=True)
    return max(map(cell_len, words)) + GAP + max(map(len, similarities)) + GAP


def _answer(question: str, options: NnOptions, *, as_json: bool) -> None:
    """Compute the answer to any question but for vectors, and print it."""
    results = _asked(question, options)
    if as_json:
        dicts = [each.to_dict() for each in results]
        name = "analogies" if question == "analogy" else question
        output.write_json({"model": str(options.model), name: dicts})
        return
    if options.at is None and question not in MEASURES:
        output.say(f"at: {results[0].tap}")
    TELLERS[question](results)


def _asked(name: str, options: NnOptions) -> Sequence[Any]:
    """The results, one of each word, sum or file, and each tap."""
    if name == "edit_distance":
        from charlm.insight.vectors.measures.spelling_distance import spelling_distance

        n_words = options.edit_distance or 0
        return spelling_distance(n_words, k=options.k, **shared(options, TapOptions))
    common = shared(options, VectorsOptions)
    if name == "words":
        from charlm.insight.vectors.neighbours import neighbours

        return neighbours(options.words, k=options.k, **common)
    if name == "analogy":
        from charlm.insight.vectors.measures.analogies import analogy

        return analogy(options.analogy or "", k=options.k, **common)
    files = [*getattr(options, name), *map(Path, options.words)]  # as a shell's * gives them
    if name == "similarity":
        from charlm.insight.vectors.measures.similarity import word_similarity

        return word_similarity(files, **common)
    if name == "normalise":
        from charlm.insight.vectors.measures.noisy_words import text_normalisation

        return text_normalisation(files, **common)
    from charlm.insight.vectors.measures.analogies import analogy_accuracy

    return analogy_accuracy(files, **common)


def _tell_analogies(results: Sequence["AnalogyScore"]) -> None:
    output.say("known: all four words in the vocabulary; spelled: the answer is, another is not")
    header = ["section", "questions", "known", "right", "share", "spelled", "right", "share"]
    for number, each in enumerate(results):
        if number:
            output.write("")
        output.write(f"{each.file} at {each.tap}")
        output.table([_answers(row) for row in (*each.sections, each.total)], header=header)


def _answers(row: "AnswerCounts") -> list[str | int]:
    spelled = row.n_spelled_right / row.n_spelled if row.n_spelled else None
    known: list[str | int] = [row.n_known, row.n_known_right, _percent(row.accuracy_known)]
    shown = row.section.replace(" ", "-")
    return [shown, row.n_questions, *known, row.n_spelled, row.n_spelled_right, _percent(spelled)]


def _tell_similarities(results: Sequence["Similarity"]) -> None:
    output.say("known: pairs of two words of the vocabulary; spelled: pairs with another")
    header = ["file", "at", "pairs", "known", "rho", "spelled", "rho of both"]
    rows: list[list[str | int]] = []
    for each in results:
        known: list[str | int] = [each.n_known, _rho(each.rho_known)]
        rows.append([each.file, each.tap, each.n_pairs, *known, each.n_spelled, _rho(each.rho)])
    output.table(rows, header=header, labels=2)


def _tell_normalisations(results: Sequence["NormalisationScore"]) -> None:
    output.say(
        "accuracy is over the asked: pairs whose normal form is in the vocabulary and differs; "
        "unread ones count as wrong"
    )
    rows: list[list[str | int]] = []
    for each in results:
        counts = [each.n_pairs, each.n_outside, each.n_same, each.n_asked, each.n_unread]
        rows.append([each.file, each.tap, *counts, *map(_percent, each.accuracy.values())])
    header = ["file", "at", "pairs", "outside", "same", "asked", "unread", "@1", "@5", "@10"]
    output.table(rows, header=header, labels=2)


def _tell_edit_distances(results: Sequence["SpellingDistance"]) -> None:
    first = results[0]
    output.say(
        f"the {first.n_words:,} most frequent words of letters alone, the {first.k} nearest of each"
    )
    rows = [[each.tap, f"{each.mean_distance:.2f}", _percent(each.mean_share)] for each in results]
    output.table(rows, header=["at", "edit distance", "of the longer word"])


def _percent(share: float | None) -> str:
    return output.shown_number(share, ".1%")


def _rho(value: float | None) -> str:
    return output.shown_number(value, "z.3f")  # never -0


MEASURES: dict[str, Tell] = {  # options, and how their results are told
    "analogies": _tell_analogies,
    "similarity": _tell_similarities,
    "normalise": _tell_normalisations,
    "edit_distance": _tell_edit_distances,
}
TELLERS: dict[str, Tell] = {"words": _tell_neighbours, "analogy": _tell_analogy, **MEASURES}
