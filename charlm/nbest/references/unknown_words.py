"""The words of texts, lists, lattices and references that a vocabulary lacks, and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import OnStage, require_one_stdin
from charlm.interface.progress_messages import with_progress
from charlm.nbest.formats import detect
from charlm.nbest.formats.text import TextFormat
from charlm.nbest.formats.tsv import is_comment
from charlm.nbest.lattices.lattice_files import lattice_format, read_lattices
from charlm.nbest.reading.format import Format, Sample, Source
from charlm.nbest.reading.list_lines import opened
from charlm.nbest.reading.policies import plain_words
from charlm.nbest.references.references import form_alone, texts_of
from charlm.text.corpus.normalisation.labels import is_silent, labels_read
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.oddities import Finding, oddities
from charlm.text.corpus.normalisation.spelling_rules import RULES, Remedy, explained
from charlm.text.corpus.tokens import is_literal_unk
from charlm.text.io.files import display_name
from charlm.text.io.lines import CORPUS, split_words
from charlm.text.io.table_lines import REFERENCES, SENTENCES, names_columns, refuse_table_lines
from charlm.text.vocabulary.vocabulary import Inventory

N_SHOWN = 8
AGAINST = f"{SENTENCES}, or call its columns id and ref in a first line"


@dataclass(frozen=True)
class UnknownWords(JsonResult):
    """The words of some texts that a vocabulary lacks, and why."""

    n_tokens: int
    n_unknown: int
    n_unknown_types: int
    remedies: tuple[Remedy, ...]
    unexplained: tuple[tuple[str, int], ...]  # the most frequent words that no rule makes known
    oddities: tuple[Finding, ...]


def unknown_words(
    inventory: Inventory, paths: Sequence[str | Path], *, on_stage: OnStage = None
) -> UnknownWords:
    """The words of texts, lists and the like that a vocabulary lacks, and which rules would help.

    `on_stage` is told how many of them have been looked at, now and then.

    Raises:
        ConfigError: standard input twice, or as the readers of lists and texts.
        DataError: as those readers.
    """
    require_one_stdin(paths)
    counts: Counter[str] = Counter()
    known = inventory.word_ids
    for path in paths:
        for words in _sentences(path, known.__contains__, rules=inventory.normalisation):
            counts.update(split_words(inventory.normalisation(" ".join(words))))
    counts = Counter({word: n for word, n in counts.items() if not is_literal_unk(word)})
    unknown = [(word, n) for word, n in counts.most_common() if word not in known]
    n_unknown = sum(n for _, n in unknown)
    looked_at = with_progress(unknown, "looked at", unit="unknown word", tell=on_stage)
    remedies, unexplained = explained(
        looked_at, known.__contains__, rules=RULES, n_unknown=n_unknown
    )
    return UnknownWords(
        n_tokens=counts.total(),
        n_unknown=n_unknown,
        n_unknown_types=len(unknown),
        remedies=tuple(remedies),
        unexplained=tuple(unexplained[:N_SHOWN]),
        oddities=tuple(oddities(counts.most_common(), unicode=inventory.normalisation.unicode)),
    )


def _sentences(
    path: str | Path, is_known: Callable[[str], bool], *, rules: Normalisation
) -> Iterator[Sequence[str]]:
    """The words of a text, of hypotheses as models read them, or of references without ids.

    Of a lattice, those of all arcs.
    """
    with opened(Source(path, rules=CORPUS)) as source:
        if lattice_format(source.sample) is not None:
            for lattice in read_lattices(source):
                labels = [arc.word for arc in lattice.arcs if not is_silent(arc.word)]
                yield labels_read(labels, is_known, rules=rules)
            return
        listed = _list_format(source.sample)
        if listed is not None:
            for nbest in listed.read(source):
                for each in nbest.hypotheses:
                    yield labels_read(each.words, is_known, rules=rules)
                if nbest.reference is not None:
                    yield nbest.reference
            return
        assert source.lines is not None  # a folder without a format was refused
        head, name = source.sample.lines, display_name(path)
        lines: Iterable[tuple[int, str]] = ((line.number, line.text) for line in source.lines)
        form = form_alone(enumerate(head, 1), name=name)
        if form != "csv":
            refuse_table_lines([*dropwhile(is_comment, head)], path, expected=AGAINST)
        if form:
            lines = texts_of([*lines], form, name=name)
        yield from (plain_words(text, f"{name}:{number}") for number, text in lines)


def _list_format(sample: Sample) -> Format | None:
    """The format of a list; None for text, or for references."""
    first = next((line for line in sample.lines if not is_comment(line)), "").split("\t")
    if names_columns(first, texts=REFERENCES) and not names_columns(first):
        return None
    try:
        form = detect(sample)
    except (ConfigError, DataError):
        if sample.names:
            raise
        if not any(text.strip(" \t") for text in sample.lines):
            raise DataError(
                f"{display_name(sample.path)}: found nothing in it; expected text, lists, lattices "
                "or references"
            ) from None
        return None
    return None if isinstance(form, TextFormat) else form
