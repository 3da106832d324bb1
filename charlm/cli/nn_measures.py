"""What `charlm nn` measures over files, and the spelling of neighbours: options and tables.

Every share stands beside its denominator: how much of a file a model can read decides what the
share is worth.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

import typer

from charlm.cli import output

if TYPE_CHECKING:
    from charlm.insight.vectors.analogies_files import AnalogyScore, Answers
    from charlm.insight.vectors.noisy_words import NormalisationScore
    from charlm.insight.vectors.similarity import Similarity as SimilarityResult
    from charlm.insight.vectors.spelling_distance import SpellingDistance

NONE = "-"

Analogies = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE...",
        help="Questions, four words a line (Google's layout): the share answered, by section.",
    ),
]
Similarity = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE...",
        help="Word pairs with scores, TABs between: Spearman's rho of scores and cosines.",
    ),
]
Normalise = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE...",
        help="Noisy TAB normal words: how often the normal one is among the 1, 5, 10 nearest.",
    ),
]
EditDistance = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Mean edit distance of the N most frequent words of letters to their nearest words, "
        "at every tap if not said: table 6 of Kim et al. as a number.",
    ),
]


class Common(TypedDict):
    """What every question says of the model and of how words are read."""

    model: Path
    raw: bool
    lower: bool
    device: str


class Result(Protocol):
    """What every measure returns, one a file and tap."""

    def to_dict(self) -> dict[str, object]:
        """As JSON."""


def measure(
    name: str,
    asked: Sequence[Path] | int,
    *,
    k: int,
    at: list[str] | None,
    as_json: bool,
    common: Common,
) -> None:
    """Ask one measure, of its files or of its number of words, and print the answer."""
    results: Sequence[Result]
    if isinstance(asked, int):
        from charlm.insight.vectors.spelling_distance import spelling_distance

        where, device = common["model"], common["device"]
        results = spelling_distance(asked, model=where, k=k, at=at, device=device, tell=output.say)
    else:
        results = _ask_files(name, asked, at=at, common=common)
    if as_json:
        dicts = [each.to_dict() for each in results]
        output.write_json({"model": str(common["model"]), name: dicts})
    else:
        TELL[name](results)


def _ask_files(
    name: str, files: Sequence[Path], *, at: list[str] | None, common: Common
) -> Sequence[Result]:
    if name == "similarity":
        from charlm.insight.vectors.similarity import word_similarity

        return word_similarity(files, at=at, **common)
    if name == "normalise":
        from charlm.insight.vectors.noisy_words import text_normalisation

        return text_normalisation(files, at=at, tell=output.say, **common)
    from charlm.insight.vectors.analogies_files import analogy_accuracy

    return analogy_accuracy(files, at=at, tell=output.say, **common)


def _tell_analogies(results: Sequence["AnalogyScore"]) -> None:
    output.say("known: all four words in the vocabulary; spelled: the answer is, another is not")
    header = ["section", "questions", "known", "right", "share", "spelled", "right", "share"]
    for number, each in enumerate(results):
        if number:
            output.write("")
        output.write(f"{each.file} at {each.tap}")
        output.table([_answers(row) for row in (*each.sections, each.total)], header=header)


def _answers(row: "Answers") -> list[str | int]:
    spelled = row.n_spelled_right / row.n_spelled if row.n_spelled else None
    known: list[str | int] = [row.n_known, row.n_known_right, _percent(row.accuracy_known)]
    shown = row.section.replace(" ", "-")
    return [shown, row.n_questions, *known, row.n_spelled, row.n_spelled_right, _percent(spelled)]


def _tell_similarities(results: Sequence["SimilarityResult"]) -> None:
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


TELL: dict[str, Callable[[Any], None]] = {  # of the results that a measure's name stands for
    "analogies": _tell_analogies,
    "similarity": _tell_similarities,
    "normalise": _tell_normalisations,
    "edit_distance": _tell_edit_distances,
}
