"""Lattices of a file, a folder or standard input, one at a time, their format found by content.

They are written as they were read, with the scores that rescoring gave them.

An archive is never held in memory as a whole. A folder holds HTK's files, one per utterance, which
are read in the order of their names. The beginning of each file is checked first; files that are
not lattices are left out and counted.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from charlm.errors import ConfigError, DataError, first_few
from charlm.nbest.lattices import kaldi, slf
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.lattices.slf import SlfOriginal
from charlm.nbest.reading.format import Piece, Sample, Source
from charlm.nbest.reading.list_lines import OpenSource, open_lines, opened
from charlm.nbest.reading.word_times import Span
from charlm.text.corpus.normalisation.labels import is_silent
from charlm.text.io.files import display_name, open_bytes

SLF, KALDI = "slf", "kaldi-lattice"
FORMATS = (SLF, KALDI)
BINARY = "\0B"  # where Kaldi's binary objects begin
CLAIMS = {SLF: slf.claims, KALDI: kaldi.claims}
HEAD_BYTES = 4096  # of a file in a folder; they include its first field


def lattice_format(sample: Sample) -> str | None:
    """The format of lattices with this beginning; None if they are not lattices.

    Raises:
        DataError: a binary archive.
    """
    if sample.names:
        names = (name for name in sample.names if "/" not in name)
        return SLF if any(_looks_like_one(Path(sample.path) / name) for name in names) else None
    if any(BINARY in line for line in sample.lines[:1]):
        path = str(sample.path)
        archive = f"'ark:gunzip -c {path}|'" if path.endswith(".gz") else f"ark:{path}"
        raise DataError(
            f"{display_name(sample.path)}: a binary archive of Kaldi; expected text; convert it: "
            f"lattice-copy {archive} ark,t:-"
        )
    return next((name for name, claims in CLAIMS.items() if claims(sample.lines)), None)


def read_lattices(
    source: Source, *, form: str = "auto", words_txt: str | Path | None = None
) -> Iterator[Lattice]:
    """The lattices in their order, each when it is complete.

    A source that is already open is not opened again. `words_txt` is the symbol table of Kaldi
    lattices whose words are numbers.

    Raises:
        ConfigError: Kaldi's format for a folder.
        DataError: no lattices, two of one utterance, or FILE:LINE and what was expected there.
    """
    symbols = None
    if words_txt is not None:
        symbols = kaldi.read_symbols(words_txt, rules=source.rules)
    with nullcontext(source) if isinstance(source, OpenSource) else opened(source) as ready:
        found = lattice_format(ready.sample) if form == "auto" else form
        if found is None:
            raise _no_lattices(source)
        if ready.lines is None:
            lattices = _of_folder(source, ready.sample, found)
        elif ready.lines.peek() is None:
            raise DataError(f"{ready.lines.name}: empty; expected lattices")
        elif found == SLF:
            lattices = slf.read(ready.lines)
        else:
            lattices = kaldi.read(ready.lines, symbols=symbols)
        yield from _each_once(lattices)


def rescored_text(rescored: RescoredLattice) -> Piece:
    """The expanded lattice with new language scores; at `decoder_scales` its best path is the same.

    Raises:
        ConfigError: weights that a decoder's scales cannot express.
        DataError: a lattice of probabilities, which cannot hold such scores.
    """
    scores, original = NewScores(rescored.expanded), rescored.lattice.original
    if isinstance(original, SlfOriginal):
        return Piece(original.file, slf.with_new_scores(scores))
    return Piece("", kaldi.with_new_scores(scores))


def word_spans(lattice: Lattice, arcs: Sequence[int], *, frame_shift: float) -> list[Span]:
    """When the words on a path were said; marks such as epsilon are none.

    Raises:
        DataError: a lattice without times.
    """
    path = [lattice.arcs[arc] for arc in arcs]
    if isinstance(lattice.original, SlfOriginal):
        return [slf.span_of(lattice, arc) for arc in path if not is_silent(arc.word)]
    spans = kaldi.spans_of(lattice, arcs, frame_shift=frame_shift)
    return [span for span, arc in zip(spans, path, strict=True) if not is_silent(arc.word)]


def decoder_scales(rescored: RescoredLattice) -> dict[str, float]:
    """The scales at which a decoder must read the written lattice, by the names of its options."""
    if isinstance(rescored.lattice.original, SlfOriginal):
        return dict(slf.DECODER_SCALES)
    return kaldi.decoder_scales(NewScores(rescored.expanded))


def _each_once(lattices: Iterator[Lattice]) -> Iterator[Lattice]:
    """The lattices, checked for repeated ids: references and answers are found by id."""
    places: dict[str, str] = {}
    for lattice in lattices:
        first = places.setdefault(lattice.id, lattice.place)
        if first != lattice.place:
            raise DataError(
                f"{lattice.place}: utterance {lattice.id!r:.80} for the second time, after "
                f"{first}; expected each once; give each an id of its own, as UTTERANCE= in HTK's "
                "files"
            )
        yield lattice


def _of_folder(source: Source, sample: Sample, form: str) -> Iterator[Lattice]:
    """The lattices in a folder; files that are none are counted."""
    if form != SLF:
        raise ConfigError(
            f"{source.path}: a folder; expected an archive of Kaldi's, or HTK's files (slf)"
        )
    found = {name: _is_lattice(Path(source.path) / name) for name in sample.names}
    if not any(found.values()):
        raise _no_lattices(source)
    others = [name for name, is_lattice in found.items() if not is_lattice]
    source.notices.pass_over(
        f"files that are no lattices ({first_few(others, most=4)})", len(others)
    )
    for name, is_lattice in found.items():
        if is_lattice:
            with open_lines(Path(source.path) / name, rules=source.rules) as lines:
                yield from slf.read(lines, file=name)


def _looks_like_one(path: Path) -> bool:
    """As `_is_lattice`, but without errors: a file of lists may be empty or not readable."""
    with suppress(DataError, OSError):
        return _is_lattice(path)
    return False


def _is_lattice(path: Path) -> bool:
    """Whether a file begins as HTK's do."""
    if not path.is_file():  # a pipe would block
        return False
    with open_bytes(path) as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise DataError(f"{path}: empty; expected a lattice; remove it to leave it out")
    return slf.claims(tuple(head.decode("utf-8-sig", "replace").split("\n")))


def _no_lattices(source: Source) -> DataError:
    return DataError(
        f"{display_name(source.path)}: no lattices; expected HTK's (SLF, begins with VERSION=) or "
        "Kaldi's as text (an utterance's id, then lines of numbers)"
    )
