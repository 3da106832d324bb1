"""The content of the page as JSON: every section that the runs and the text allow.

The others are listed under `missing` with the reason: nothing is left out silently.
"""

from collections.abc import Callable

from charlm.errors import ConfigError, DataError
from charlm.insight.perplexity_bands import by_frequency, by_position, position_systems
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.maps import ngrams_as_json, words_as_json
from charlm.insight.report.neighbour_table import neighbour_table
from charlm.insight.report.tables import (
    Json,
    across_as_json,
    bands_as_json,
    card_rows,
    curves_as_json,
    gate_as_json,
    results_as_json,
    sentences_as_json,
    transform_as_json,
)
from charlm.version import __version__

Section = Callable[[Subject], object]

NEIGHBOURS = "neighbours"
# What looks into the run alone: it may lack the part that a section is about.
OF_THE_RUN: dict[str, tuple[str, Section]] = {
    NEIGHBOURS: ("nearest words", neighbour_table),
    "card": ("model card", card_rows),
    "curves": ("learning curves", curves_as_json),
    "words": ("map of words", words_as_json),
    "ngrams": ("map of character n-grams", ngrams_as_json),
    "transform": ("transform gate", transform_as_json),
    "gate": ("gate between words and characters", gate_as_json),
}
OF_THE_TEXT: dict[str, tuple[str, Section]] = {
    "results": ("perplexities", results_as_json),
    "bands": (
        "perplexity by frequency",
        lambda subject: bands_as_json(by_frequency(subject.reading), subject.reading.systems),
    ),
    "positions": (
        "perplexity by position",
        lambda subject: bands_as_json(
            by_position(subject.reading), position_systems(subject.reading)
        ),
    ),
    "sentences": ("hardest and easiest sentences", sentences_as_json),
}


def content_of(subject: Subject) -> tuple[Json, list[tuple[str, str]]]:
    """What the page shows, and what it lacks: the name of a section, and the reason.

    Raises:
        ConfigError: a word that cannot be asked about.
        DataError: a text that is not what was expected; a model that gives no numbers.
    """
    content: Json = {"charlm": __version__, "title": subject.name}
    content["runs"] = list(subject.names)
    content["arch"] = (
        f"{subject.run.info.arch} on {subject.run.info.corpus.get('name', 'a corpus')}"
    )
    missing: list[tuple[str, str]] = []
    for key, (name, section) in OF_THE_RUN.items():
        try:
            content[key] = section(subject)
        except (ConfigError, DataError) as error:
            if subject.options.word and key == NEIGHBOURS:  # what was asked for by name
                raise
            missing.append((name, str(error)))
    if subject.options.data is None:
        names = ", ".join(name for name, _ in OF_THE_TEXT.values())
        corpus = subject.run.info.corpus.get("name", "this model")
        reason = f"need a text; make the report with --data DIR, the corpus directory of {corpus!r}"
        missing.append((names, reason))
    else:
        for key, (name, section) in OF_THE_TEXT.items():
            try:
                content[key] = section(subject)
            except ConfigError as error:  # a text that lacks what is shown is no wrong one
                missing.append((name, str(error)))
        content["notes"] = list(subject.notes)
    if subject.across is not None:
        content["table"] = across_as_json(subject.across)
    content["missing"] = [{"section": name, "reason": reason} for name, reason in missing]
    return content, missing
