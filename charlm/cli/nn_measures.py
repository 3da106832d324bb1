"""Measures of `charlm nn`, as tables: analogies, similarity, noisy words, spelling of neighbours.

Every share stands beside its denominator: how much of a file a model can read decides what the
share is worth.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from charlm.cli import output
from charlm.insight.vectors.nn_options import NnOptions, TapOptions, VectorsOptions, shared

if TYPE_CHECKING:
    from charlm.insight.vectors.analogies import AnalogyScore, AnswerCounts
    from charlm.insight.vectors.noisy_words import NormalisationScore
    from charlm.insight.vectors.similarity import Similarity
    from charlm.insight.vectors.spelling_distance import SpellingDistance

NONE = "-"


class Result(Protocol):
    """What every measure returns, one a file and tap."""

    def to_dict(self) -> dict[str, object]: ...  # as JSON


def measure(name: str, options: NnOptions, *, as_json: bool) -> None:
    """Ask the measure of that option, of its files or of its number of words, and print it."""
    results = _asked(name, options)
    if as_json:
        dicts = [each.to_dict() for each in results]
        output.write_json({"model": str(options.model), name: dicts})
    else:
        MEASURES[name](results)


def _asked(name: str, options: NnOptions) -> Sequence[Result]:
    if name == "edit_distance":
        from charlm.insight.vectors.spelling_distance import spelling_distance

        n_words = options.edit_distance or 0
        return spelling_distance(n_words, k=options.k, **shared(options, TapOptions))
    files = [*getattr(options, name), *map(Path, options.words)]  # as a shell's * gives them
    common = shared(options, VectorsOptions)
    if name == "similarity":
        from charlm.insight.vectors.similarity import word_similarity

        return word_similarity(files, **common)
    if name == "normalise":
        from charlm.insight.vectors.noisy_words import text_normalisation

        return text_normalisation(files, **common)
    from charlm.insight.vectors.analogies import analogy_accuracy

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
    output.table(rows, header=header)


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
    output.table(rows, header=header)


def _tell_edit_distances(results: Sequence["SpellingDistance"]) -> None:
    first = results[0]
    output.say(
        f"the {first.n_words:,} most frequent words of letters alone, the {first.k} nearest of each"
    )
    rows = [[each.tap, f"{each.mean_distance:.2f}", _percent(each.mean_share)] for each in results]
    output.table(rows, header=["at", "edit distance", "of the longer word"])


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}%"


def _rho(value: float | None) -> str:
    return NONE if value is None else f"{round(value, 3) + 0.0:.3f}"  # never -0


MEASURES: dict[str, Callable[[Any], None]] = {  # options, and how their results are told
    "analogies": _tell_analogies,
    "similarity": _tell_similarities,
    "normalise": _tell_normalisations,
    "edit_distance": _tell_edit_distances,
}
