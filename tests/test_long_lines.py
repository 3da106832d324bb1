"""One long line must neither fill the memory nor take hours, whatever reads it.

The table lists everything that reads lines which a stranger may have written, with the text that
stands before a long line there.
"""

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from charlm.errors import DataError
from charlm.model.outputs.class_files import read_classes
from charlm.nbest.formats import FORMATS, open_lists
from charlm.nbest.lattices.kaldi import read_symbols
from charlm.nbest.lattices.lattice_files import read_lattices
from charlm.nbest.reading.format import Source
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.references.references import read_references
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.text.corpus.line_blocks import read_blocks
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.preparation.prepare import prep
from charlm.text.corpus.sentences import read_sentences
from charlm.text.io.lines import LIST, LONGEST, LineRules
from charlm.text.perplexity.score_streams import read_word_scores
from charlm.text.vocabulary.segmenters import segmenter_of
from charlm.text.vocabulary.vocabulary import Inventory

Read = Callable[[Path], object]
Files = Mapping[str, str]

NONE: Files = {}
SHORT = 1 << 17  # for lists only, since reading 64 MiB takes a while
N_BYTES = 1000  # length of the shorter of two timed lines
N_LINES = 4000
MOST_GROWTH = 24  # the most time that 8 times the length may take
CHANCES = 5


class Reader(NamedTuple):
    """What reads a file, or a folder with the file in it, and what stands above the long line.

    Lists are read by a rule of their own, which takes less time than the 64 MiB of the others.
    """

    read: Read
    above: str = ""
    file: str = ""  # name within a folder
    beside: Files = NONE  # further files of the folder
    longest: int = LONGEST  # bytes of a line


def lists(name: str, above: str, file: str = "", beside: Files = NONE) -> Reader:
    def read(path: Path) -> None:
        with open_lists(Source(path, rules=LineRules(longest=SHORT)), name=name) as (_, found):
            for _ in found:
                pass

    return Reader(read, above, file, beside, SHORT)


def detected(path: Path) -> None:
    with open_lists(Source(path)) as (_, found):
        for _ in found:
            pass


def texts(path: Path) -> None:
    text = ReadText(path, normalisation=Normalisation(lower=True, tokenise="simple", numbers=True))
    for _ in text.sentences():
        pass


def morphs(path: Path) -> None:
    words = Inventory(("</s>", "<unk>", "cats"), (1, 1, 1), ())
    segmenter_of(str(path))(words)


def exhausted(read: Callable[[Path], Iterable[object]]) -> Read:
    def read_all(path: Path) -> None:
        for _ in read(path):
            pass

    return read_all


SAMPLES = SimpleNamespace(**run_path(str(Path(__file__).parent / "nbest/formats/mutations.py")))
# Above the line in lists of each format: a sample, or in JSON what the line stands within.
ABOVE = {
    **{name: files[""] for name, seeds in SAMPLES.SEEDS.items() for files in seeds if "" in files},
    "espnet1": '{"utts": {\n',
    "vosk": '{"alternatives": [\n',
    "azure": '{"NBest": [\n',
    "google": '{"results": [\n',
    "aws": '{"results": {"segments": [\n',
    "hyporadise": '[{"input": ["a"]},\n',
    "mlm-scoring": '{"u": {"hyp_1": {"text": "a"}},\n',
    "nbestlist1": "(-1) a\n",
}
# Fillings of a line, and beginnings of lines after which the rest has a meaning.
UNITS = (
    *("a", "1", "1.", " ", "\t", '"', "'", "\\", "=", "[", "{", ",", "-", "<s> ", "a ", "a.b."),
    *('\\"', "a\\=", 'a=" ', "a='b", '"a": ', "|||", " [ ", "\t= ", "( st: ", "tensor(,", "\u2581"),
)
STARTS = {
    "slf": ("", "J=0 S=0 E=1 a=", 'J=0 S=0 E=1 W="'),
    "kaldi-lattice": ("", "0 1 a ", "0 1 a 1,"),
    "scores of SRILM's": ("\tp( a | <s> ", "\tp( a | <s> ) \t= [2gram] 0.1 [ "),
    "scores as JSON lines": ("", '{"words": ["'),
    "references": ("", "u ", '{"id": "u", "ref": "'),
    "arpa": ("", "-1 "),
    "kaldi": ("", "u-"),
    "kaldi's costs": ("u-1 ",),
    "espnet's scores": ("u ", "u tensor("),
    "moses": ("", "0 ||| a ||| ", "0 ||| a ||| lm: 1 ||| "),
    "tsv": ("", "u\t"),
    "csv": ("", "u,", 'u,"', 'u,-1,"'),
    "fairseq": ("", "D-0\t", "D-0\t-1\t", "2022-05-05 "),
    "srilm": ("", "-1 "),
    "cued": ("0 ", "0 -1 -1 "),
    "nbestlist1": ("(", "(-1) "),
    "nbestlist2": ("(-1) a ", "(-1) a ( st: 1 et: "),
    **dict.fromkeys(("vosk", "huggingface", "jsonl"), ("", '{"', '{"id": "u", "text": "')),
    **dict.fromkeys(("espnet1", "hyporadise", "mlm-scoring"), ("", '"u": {"', '"u": {"text": "')),
}
READERS = {
    **{name: lists(name, above) for name, above in ABOVE.items()},
    "kaldi": lists("kaldi", "u-1 a\n", "text", {"acwt": "u-1 1\n"}),
    "kaldi's costs": lists("kaldi", "", "acwt", {"text": "u-1 a\n"}),
    "espnet": lists("espnet", "u a\n", "1best_recog/text"),
    "espnet's scores": lists("espnet", "", "1best_recog/score", {"1best_recog/text": "u a\n"}),
    "a list that is detected": Reader(detected, "we know\n" * 20),
    "slf": Reader(exhausted(lambda path: read_lattices(Source(path))), "VERSION=1.0\n"),
    "kaldi-lattice": Reader(exhausted(lambda path: read_lattices(Source(path))), "u\n0 1 a 1,1\n"),
    "words.txt": Reader(partial(read_symbols, rules=LIST), "a 1\n"),
    "references": Reader(lambda path: read_references(path, ["u"], notices=Notices()), "u a\n"),
    "scores of SRILM's": Reader(read_word_scores, "a\n\tp( a | <s> ) \t= [2gram] 0.1 [ -1 ]\n"),
    "scores as JSON lines": Reader(
        read_word_scores, '{"words": [], "known": [], "log10_probs": [-1]}\n'
    ),
    "arpa": Reader(read_arpa, "\\data\\\nngram 1=2\n\n\\1-grams:\n"),
    "classes": Reader(lambda path: read_classes(str(path)), "a\tb\n"),
    "morphs": Reader(morphs, "cats\tcat s\n"),
    "a text": Reader(exhausted(read_sentences), "a\n"),
    "a text in blocks": Reader(exhausted(read_blocks), "a\n"),
    "a text that is scored": Reader(texts, "a\n"),
    "a raw text": Reader(lambda path: prep(path, out=path.with_name("corpus")), "a\n"),
}


def test_every_format_of_lists_is_among_the_readers() -> None:
    lacking = set(FORMATS) - set(READERS)
    assert lacking == set(), f"a file in SEEDS of {SAMPLES.__file__}, or a folder in READERS here"


def laid_out(reader: Reader, folder: Path) -> tuple[Path, Path]:
    """What is to be read, and the file in it that gets the line."""
    place = folder / "list"
    file = place / reader.file if reader.file else place
    for name, text in reader.beside.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(reader.above)
    return place, file


@pytest.mark.parametrize("name", READERS)
def test_a_line_that_is_too_long_is_refused_with_its_file_and_number(
    name: str, tmp_path: Path
) -> None:
    reader = READERS[name]
    place, file = laid_out(reader, tmp_path)
    os.truncate(file, file.stat().st_size + reader.longest + 1)  # NULs take no space on disk
    with pytest.raises(DataError) as caught:
        reader.read(place)
    most = "131072 bytes" if reader.longest == SHORT else "1 MiB" if name == "arpa" else "64 MiB"
    number = reader.above.count("\n") + 1
    assert str(caught.value).startswith(f"{file}:{number}: longer than {most}; expected shorter l")


def grows_slowly(name: str, folder: Path, *, unit: str, start: str = "", end: str = "") -> bool:
    """Whether reading a text with 8 times the units takes much less than 64 times as long."""
    reader = READERS[name]
    place, file = laid_out(reader, folder)

    def seconds(n_units: int) -> float:
        file.write_text(reader.above + start + n_units * unit + end)
        before = time.process_time()
        with suppress(DataError):
            reader.read(place)
        return max(time.process_time() - before, 1e-4)

    return any(seconds(8) < MOST_GROWTH * seconds(1) for _ in range(CHANCES))


@pytest.fixture
def _no_garbage() -> Iterator[None]:
    """To look through all that other tests have left would take longer than what is timed."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_garbage")
@pytest.mark.parametrize("name", READERS)
def test_a_line_of_twice_the_length_takes_about_twice_the_time(name: str, tmp_path: Path) -> None:
    for start, unit in product(STARTS.get(name, ("", "a ")), UNITS):
        units = N_BYTES // len(unit) * unit
        assert grows_slowly(name, tmp_path, unit=units, start=start, end="x\n"), (start, unit)


@pytest.mark.usefixtures("_no_garbage")
@pytest.mark.parametrize(
    ("name", "line"),
    [("tsv", f"# {'a' * 90}\n"), ("kaldi", f"{' ' * 90}\n"), ("vosk", f"{' ' * 90}\n")],
)
def test_twice_as_many_lines_that_are_no_hypothesis_take_about_twice_the_time(
    name: str, line: str, tmp_path: Path
) -> None:
    assert grows_slowly(name, tmp_path, unit=N_LINES * line)
