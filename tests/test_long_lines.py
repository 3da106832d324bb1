"""One line must neither fill the memory nor take hours, whoever reads it.

A table of everything that reads lines which a stranger may have written, and what stands before a
long line there.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from charlm.errors import DataError
from charlm.model.outputs.class_files import read_classes
from charlm.nbest.format import Source
from charlm.nbest.formats import FORMATS, reading
from charlm.nbest.lattices.kaldi import read_symbols
from charlm.nbest.lattices.lattice_reading import read_lattices
from charlm.nbest.references import read_references
from charlm.ngram.arpa_reading import read_arpa
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.line_blocks import read_blocks
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.prepare import prepare
from charlm.text.corpus.sentences import read_sentences
from charlm.text.io.lines import LONGEST, LineRules
from charlm.text.perplexity.score_streams import read_word_scores
from charlm.text.vocabulary.segmenters import segmenter_of
from charlm.text.vocabulary.vocabulary import Inventory

Read = Callable[[Path], object]
Files = Mapping[str, str]

NONE: Files = {}
SHORT = 1000


class Reader(NamedTuple):
    """What reads a file, or a folder with the file in it, and what stands above the long line.

    Lists are read by a rule of their own, which takes less time than the 64 MiB of the others.
    """

    read: Read
    above: str = ""
    file: str = ""  # within a folder
    beside: Files = NONE  # further files of the folder
    longest: int = LONGEST  # bytes of a line


def lists(name: str, above: str, file: str = "", beside: Files = NONE) -> Reader:
    def read(path: Path) -> None:
        with reading(Source(path, rules=LineRules(longest=SHORT)), name=name) as (_, found):
            for _ in found:
                pass

    return Reader(read, above, file, beside, SHORT)


def detected(path: Path) -> None:
    with reading(Source(path)) as (_, found):
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


ABOVE = {
    "espnet1": '{"utts": {\n',
    "vosk": '{"alternatives": [\n',
    "huggingface": '{"sequences": ["a"]}\n',
    "hyporadise": '[{"input": ["a"]},\n',
    "mlm-scoring": '{"u": {"hyp_1": {"text": "a"}},\n',
    "jsonl": '{"id": "u", "hyps": [{"text": "a"}]}\n',
    "moses": "0 ||| a ||| lm: -1 ||| -1\n",
    "srilm": "-1 -2 1 a\n",
    "nbestlist1": "(-1) a\n",
    "nbestlist2": "NBestList2.0\n",
    "cued": "0 -1 -2 1 a\n",
    "rnnlm": "0 a\n",
    "tsv": "id\tam\ttext\nu\t-1\ta\n",
    "text": "a\n",
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
    "words.txt": Reader(read_symbols, "a 1\n"),
    "references": Reader(lambda path: read_references(path, ["u"]), "u a\n"),
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
    "a raw text": Reader(lambda path: prepare(path, out=path.with_name("corpus")), "a\n"),
}


def test_every_format_of_lists_is_among_the_readers() -> None:
    assert set(FORMATS) <= set(READERS)


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
    os.truncate(file, len(reader.above) + reader.longest + 1)  # NULs that take no room on a disk
    with pytest.raises(DataError) as caught:
        reader.read(place)
    most = "1000 bytes" if reader.longest == SHORT else "1 MiB" if name == "arpa" else "64 MiB"
    number = reader.above.count("\n") + 1
    assert str(caught.value).startswith(f"{file}:{number}: longer than {most}; expected shorter l")
