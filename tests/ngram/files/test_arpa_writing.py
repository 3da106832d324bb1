"""Written ARPA files: the layout of lmplz, whole, and numbers to seven decimals."""

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.ngram.backoff import BackoffModel, Grams
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.files.arpa_writing import arpa_blocks, arpa_bytes, write_arpa

WORDS = ("<unk>", "<s>", "</s>", "we", "öl")
LMPLZ = """\
\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-1.5000000\t<unk>\t0
0\t<s>\t-0.3010300
-0.7500000\t</s>\t0
-0.0000001\twe\t-99
-12.3456789\töl\t0.1250000

\\2-grams:
-0.4100000\t<s> we
-99\twe öl

\\end\\
"""


@pytest.fixture
def model() -> BackoffModel:
    """Five words and two bigrams, with numbers that are awkward to write."""
    unigrams = Grams(
        keys=np.arange(5),
        log10_probs=np.array([-1.5, 0.0, -0.75, -1e-7, -12.34567891]),
        log10_backoffs=np.array([0.0, -0.30103, -1e-9, -np.inf, 0.125]),
    )
    bigrams = Grams(
        keys=np.array([1 * 5 + 3, 3 * 5 + 4]),
        log10_probs=np.array([-0.41, -np.inf]),
        log10_backoffs=np.empty(0),
    )
    return BackoffModel(WORDS, (unigrams, bigrams))


def test_a_model_is_written_as_lmplz_lays_it_out(model: BackoffModel, tmp_path: Path) -> None:
    write_arpa(model, tmp_path / "a.arpa")
    assert (tmp_path / "a.arpa").read_text() == LMPLZ


def test_srilms_start_of_sentence_has_probability_zero(model: BackoffModel, tmp_path: Path) -> None:
    write_arpa(model, tmp_path / "a.arpa", start="srilm")
    assert (tmp_path / "a.arpa").read_text() == LMPLZ.replace("\n0\t<s>", "\n-99\t<s>")


@pytest.mark.parametrize(
    ("suffix", "unpack"),
    [("gz", gzip.decompress), ("bz2", bz2.decompress), ("xz", lzma.decompress)],
)
def test_a_suffix_packs_the_file(
    model: BackoffModel, tmp_path: Path, suffix: str, unpack: object
) -> None:
    path = tmp_path / f"a.arpa.{suffix}"
    write_arpa(model, path)
    assert callable(unpack)
    assert unpack(path.read_bytes()) == LMPLZ.encode()
    first = path.read_bytes()
    write_arpa(model, path)
    assert path.read_bytes() == first


def test_the_length_of_a_file_is_known_without_writing_it(model: BackoffModel) -> None:
    assert arpa_bytes(model) == len(LMPLZ.encode())


def test_what_was_written_reads_back_to_seven_decimals(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    values = np.concatenate([-(10 ** generator.uniform(-9, 1.9, 5000)), [-98.9, -9.99999996]])
    n_words = len(values)
    words = ("<unk>", "<s>", "</s>", *(f"w{i}" for i in range(n_words - 3)))
    values[1] = 0.0  # of <s>, as lmplz writes it
    grams = Grams(np.arange(n_words), values, np.empty(0))
    write_arpa(BackoffModel(words, (grams,)), tmp_path / "a.arpa")
    read = read_arpa(tmp_path / "a.arpa")
    assert read.words == words
    np.testing.assert_allclose(read.orders[0].log10_probs, values, rtol=0, atol=5.1e-8)


def test_a_failed_write_leaves_the_old_file(model: BackoffModel, tmp_path: Path) -> None:
    path = tmp_path / "a.arpa.gz"
    path.write_text("old")
    broken = BackoffModel((*WORDS[:-1], "ö\x0bl"), model.orders)
    with pytest.raises(DataError):
        write_arpa(broken, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.arpa.gz"]


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\x0cb", "a\rb", "a\x00b", ""])
def test_a_word_that_arpa_cannot_hold_is_refused(
    model: BackoffModel, word: str, tmp_path: Path
) -> None:
    broken = BackoffModel((*WORDS[:-1], word), model.orders)
    with pytest.raises(DataError) as caught:
        write_arpa(broken, tmp_path / "a.arpa")
    assert str(caught.value) == (
        f"model: word {word!r} holds white space or nothing, and ARPA files part words there; "
        "expected words without; clean the text with `charlm prep`"
    )


def test_a_word_that_kenlm_would_take_for_unk_is_refused(
    model: BackoffModel, tmp_path: Path
) -> None:
    broken = BackoffModel((*WORDS[:-1], "<UNK>"), model.orders)
    with pytest.raises(DataError) as caught:
        write_arpa(broken, tmp_path / "a.arpa")
    assert str(caught.value) == (
        "model: word '<UNK>', which readers of ARPA take for <unk>; expected another word; rename "
        "it, as `sed 's/<UNK>/<unk>/g'` does"
    )


def test_what_is_hardly_possible_is_written_as_impossible() -> None:
    values = np.array([-98.9999999, -7.0, -99.0, -99.5, -1e9])
    grams = Grams(np.arange(5), values, np.empty(0))
    lines = b"".join(arpa_blocks(BackoffModel(WORDS, (grams,)))).decode().split("\n")[4:9]
    assert [line.split("\t")[0] for line in lines] == ["-98.9999999", "0", "-99", "-99", "-99"]


def test_a_back_off_beyond_the_tables_is_written_whole(model: BackoffModel, tmp_path: Path) -> None:
    model.orders[0].log10_backoffs[[3, 4]] = 100.0, 12345.678901234
    write_arpa(model, tmp_path / "a.arpa")
    expected = LMPLZ.replace("we\t-99", "we\t100.0000000").replace("0.1250000", "12345.6789012")
    assert (tmp_path / "a.arpa").read_text() == expected
    read = read_arpa(tmp_path / "a.arpa").orders[0].log10_backoffs
    assert read[[3, 4]].tolist() == [100.0, 12345.6789012]
