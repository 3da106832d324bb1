"""Lattices of a file, a folder or standard input, one at a time, their format known by content.

An archive is never kept whole. A folder is one of HTK's files, an utterance each, in the order of
their names.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.nbest.contract import Sample, Source
from charlm.nbest.lattices import kaldi, slf
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lines import Lines, OpenSource, lines_of, open_lines, opened
from charlm.text.files import display_name

SLF, KALDI = "slf", "kaldi-lattice"
FORMATS = (SLF, KALDI)
BINARY = "\0B"  # where Kaldi's binary objects begin
CLAIMS = {SLF: slf.claims, KALDI: kaldi.claims}


def lattice_format(sample: Sample) -> str | None:
    """The format of what begins so; None if these are no lattices.

    Raises:
        DataError: a binary archive.
    """
    if sample.names:
        names = [name for name in sample.names if "/" not in name]
        for name in names[:1]:
            with open_lines(Path(sample.path) / name) as lines:
                return SLF if slf.claims(lines.sample()) else None
    if any(BINARY in line for line in sample.lines[:1]):
        raise DataError(
            f"{display_name(sample.path)}: a binary archive of Kaldi; expected text; convert it: "
            f"lattice-copy ark:{sample.path} ark,t:-"
        )
    return next((name for name, claims in CLAIMS.items() if claims(sample.lines)), None)


def read_lattices(
    source: Source, *, form: str = "auto", words_txt: str | Path | None = None
) -> Iterator[Lattice]:
    """The lattices in their order, each when it is complete.

    A source that is open already is read from there. `words_txt` is the symbol table of Kaldi
    lattices whose words are numbers.

    Raises:
        ConfigError: an unknown format.
        DataError: no lattices, or FILE:LINE and what was expected there.
    """
    if form not in ("auto", *FORMATS):
        raise ConfigError(f"--format {form!r:.40}: expected auto, {' or '.join(FORMATS)}")
    symbols = None
    if words_txt is not None:
        symbols = kaldi.read_symbols(words_txt, rules=source.rules)
    with nullcontext(source) if isinstance(source, OpenSource) else opened(source) as ready:
        sample = ready.sample
        assert sample is not None  # an opened source knows its beginning
        found = lattice_format(sample) if form == "auto" else form
        if found is None:
            raise DataError(
                f"{display_name(source.path)}: no lattices; expected HTK's (SLF, begins with "
                "VERSION=) or Kaldi's as text (an utterance's id, then lines of numbers)"
            )
        if ready.lines is None:
            yield from _of_folder(sample, found, ready)
            return
        with lines_of(ready) as lines:
            yield from _of_file(lines, found, symbols)


def _of_file(lines: Lines, form: str, symbols: kaldi.Symbols | None) -> Iterator[Lattice]:
    if lines.peek() is None:
        raise DataError(f"{lines.name}: empty; expected lattices")
    yield from slf.read(lines) if form == SLF else kaldi.read(lines, symbols=symbols)


def _of_folder(sample: Sample, form: str, source: Source) -> Iterator[Lattice]:
    if form != SLF:
        raise ConfigError(
            f"{sample.path}: a folder; expected an archive of Kaldi's, or HTK's files (slf)"
        )
    for name in sample.names:
        with open_lines(Path(sample.path) / name, rules=source.rules) as lines:
            yield from slf.read(lines, file=name)
