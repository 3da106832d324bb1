"""The sections of the page that are tables and lines; numbers are exact, and the page rounds them.

Texts of runs and corpora are passed on as they are: the page escapes them.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from charlm.errors import DataError
from charlm.insight.pictures.gate import by_rank
from charlm.insight.pictures.sentences import text_of
from charlm.insight.pictures.subject import Subject
from charlm.insight.text_reading import ScoredLine
from charlm.run.folder import CARD
from charlm.run.history import best_record
from charlm.run.stored_weights import kept_ppl
from charlm.scoring.evaluation.comparison.across import Table
from charlm.scoring.evaluation.comparison.frequency_bands import Band
from charlm.scoring.evaluation.comparison.scores import Scores
from charlm.text.io.lines import read_lines

Json = dict[str, object]

N_SENTENCES = 6  # hardest, and as many easiest
LONGEST_WORD = 100  # characters that are shown of it
CARD_ROW = re.compile(r"\| (.+?) \| (.*) \|")


def card_rows(subject: Subject) -> list[tuple[str, str]]:
    """The table of the first run's card.

    Raises:
        DataError: no card, or none with a table.
    """
    path = subject.paths[0] / CARD
    if not path.is_file():
        raise DataError(f"{path}: no such file; expected what `charlm train` writes")
    found = [match for _, line in read_lines(path) if (match := CARD_ROW.fullmatch(line))]
    rows = [(match[1], match[2].replace("\\|", "|").strip("`")) for match in found]
    if not rows:
        raise DataError(f"{path}: no table in it; expected what `charlm train` writes")
    return rows[1:]  # the first names the columns


def curves_as_json(subject: Subject) -> list[Json]:
    """Perplexities by epoch of each run, and that of the weights that were kept."""
    return [
        {
            "name": member.name,
            "n_words": member.inventory.n_words,
            "by_sentence": member.is_validated_by_sentence,
            "epochs": [record["epoch"] for record in history],
            "train": [record["train_ppl"] for record in history],
            "valid": [record["valid_ppl"] for record in history],
            "best": best_record(history)["valid_ppl"],
            "best_epoch": best_record(history)["epoch"],
            "kept": kept_ppl(path, ppl=best_record(history)["valid_ppl"])[0],
        }
        for path, member, history in zip(
            subject.paths, subject.members, subject.histories, strict=True
        )
    ]


def results_as_json(subject: Subject) -> Json:
    """Perplexities of the text with their signatures, each run and Kneser–Ney."""
    reading = subject.reading
    baseline = reading.baseline_scores
    rows = [
        {
            "name": member.name,
            "n_words": member.inventory.n_words,
            "n_parameters": member.n_parameters,
            "comparable": number in reading.comparable,
            **_figures(*(reading.scores(number, state) for state in reading.states)),
        }
        for number, member in enumerate(reading.members)
    ]
    rows.append(
        {
            "name": reading.baseline.name,
            "n_words": subject.members[0].inventory.n_words,
            "n_ngrams": reading.baseline.model.n_ngrams,
            "comparable": True,
            **_figures(baseline, baseline),
        }
    )
    counts = baseline.counts
    return {
        "text": text_of(subject),
        "state": reading.states[0],
        "n_sentences": counts.n_sentences,
        "n_tokens": counts.n_tokens,
        "rows": rows,
    }


def _figures(shown: Scores, other: Scores) -> Json:
    """Of the state in which the first run was trained, and the perplexity in the other one."""
    perplexity = shown.perplexity
    return {
        "ppl": perplexity.ppl,
        "ppl_other": other.perplexity.ppl,
        "ppl_known": perplexity.ppl_known,
        "bits_per_character": perplexity.bits_per_character,
        "signatures": list(dict.fromkeys((shown.signature, other.signature))),
    }


def bands_as_json(bands: Sequence[Band], systems: Sequence[str]) -> Json:
    """Perplexities by band; the last system is Kneser–Ney."""
    return {
        "systems": list(systems),
        "bands": [[band.name, band.n_tokens, band.share, list(band.ppls)] for band in bands],
    }


def across_as_json(table: Table) -> Json:
    """The table across data sets: its rows are the models, null where a set lacks one."""
    cells = [{name: asdict(each) for name, each in c.cells.items()} for c in table.columns]
    columns = [{**asdict(column), "cells": None} for column in table.columns]
    rows = [[name, [column.get(name) for column in cells]] for name in table.systems]
    return {"state": table.state, "columns": columns, "rows": rows}


def transform_as_json(subject: Subject) -> list[Json]:
    """The histogram of each highway layer's gate."""
    return [
        {
            "layer": gate.layer,
            "counts": gate.counts_B.tolist(),
            "mean": gate.mean,
            "n_dimensions": gate.n_dimensions,
            "n_switching": gate.n_switching,
        }
        for gate in subject.transform
    ]


def gate_as_json(subject: Subject) -> Json:
    """The gate and the norms by frequency rank, in bins, and its summary in numbers."""
    found = subject.gate
    ranks, medians = by_rank(found.gates_N, np.median)
    return {
        **found.to_dict(),
        "ranks": ranks,
        "gates": medians,
        "word_norms": by_rank(found.word_norms_N, np.mean)[1],
        "char_norms": by_rank(found.char_norms_N, np.mean)[1],
    }


def sentences_as_json(subject: Subject) -> Json:
    """The hardest and the easiest sentences for the first run, read as it was trained."""
    hardest, easiest = subject.reading.extremes(N_SENTENCES)
    return {
        "hardest": [_line(each) for each in hardest],
        "easiest": [_line(each) for each in easiest],
    }


def short(word: str) -> str:
    """A word, cut if it would fill a page."""
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"


def _line(sentence: ScoredLine) -> Json:
    return {
        "line": sentence.line,
        "words": list(map(short, sentence.words)),
        "log10_probs": [round(value, 6) for value in sentence.log10_probs],
        "mean": sentence.mean,
    }
