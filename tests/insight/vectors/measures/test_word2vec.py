"""Vectors in word2vec's text format, read by gensim's rules and compared bit by bit."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import ConfigError
from charlm.insight.vectors.measures.word2vec import write_vectors
from charlm.insight.vectors.run_neighbours import vectors_in
from charlm.insight.vectors.taps import Vectors
from charlm.run.stored_weights import load_run

MakeRun = Callable[..., Path]
# A no-break space and a line separator are characters of a word like any other.
ODD = {"new\xa0york": [0.1, -1e-9], "a\u2028b": [1e20, 3.0], "1.5": [1 / 3, 2 / 3]}


def as_gensim_reads(path: Path) -> tuple[list[str], np.ndarray]:
    """What `load_word2vec_format(path, binary=False)` does, its checks included."""
    words, rows = [], []
    with open(path, "rb") as file:
        n_words, dim = map(int, file.readline().decode().split())
        for line in file:
            parts = line.rstrip().decode().split(" ")
            assert len(parts) == dim + 1
            words.append(parts[0])
            rows.append([np.float32(number) for number in parts[1:]])
    assert len(words) == len(set(words)) == n_words
    return words, np.array(rows, np.float32)


@pytest.mark.parametrize("at", [None, "char-cnn", "output"])
def test_the_vocabulary_comes_back_in_its_order_bit_by_bit(
    tiny_run: Path, tmp_path: Path, at: str | None
) -> None:
    written = write_vectors(tmp_path / "v.txt", model=tiny_run, at=at, device="cpu")
    words, rows = as_gensim_reads(tmp_path / "v.txt")
    run = load_run(tiny_run)
    assert words == list(run.inventory.words)
    assert words[:2] == ["</s>", "<unk>"]
    assert rows == pytest.approx(vectors_in(Vectors(run), words, at=at), abs=1e-6)
    assert written.to_dict() == {
        "file": str(tmp_path / "v.txt"),
        "at": at or "highway",
        "n_words": len(words),
        "dim": rows.shape[1],
    }


def test_odd_words_and_numbers_come_back_bit_by_bit(
    run_of_vectors: MakeRun, tmp_path: Path
) -> None:
    write_vectors(tmp_path / "v.txt", model=run_of_vectors(ODD), device="cpu")
    words, rows = as_gensim_reads(tmp_path / "v.txt")
    assert words[2:] == list(ODD)
    assert np.array_equal(rows[2:], np.array(list(ODD.values()), np.float32))


def test_a_file_is_compressed_by_its_name_as_gensim_opens_it(
    tiny_run: Path, tmp_path: Path
) -> None:
    for name in ("v.txt", "v.txt.gz"):
        write_vectors(tmp_path / name, ["cat"], model=tiny_run, device="cpu")
    packed = (tmp_path / "v.txt.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "v.txt").read_bytes()


def test_given_words_are_written_alone_known_or_spelled(tiny_run: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.txt", ["caat", "cat"], model=tiny_run, device="cpu")
    words, rows = as_gensim_reads(tmp_path / "v.txt")
    assert words == ["caat", "cat"]
    assert rows == pytest.approx(vectors_in(Vectors(load_run(tiny_run)), words), abs=1e-6)


@pytest.mark.parametrize(
    ("words", "at", "message"),
    [
        (["cat", "cat"], None, "word 'cat': found twice; expected each word once in a file"),
        ([], "char-cnn,highway", "at: found char-cnn, highway; expected one of them"),
        (
            ["caat"],
            "output",
            "word 'caat': not in the vocabulary of RUN, and 'output' reads no spellings; expected "
            "one of its V words, or another tap",
        ),
    ],
)
def test_what_cannot_be_written_is_one_line_and_leaves_no_file(
    tiny_run: Path, tmp_path: Path, words: list[str], at: str | None, message: str
) -> None:
    n_words = str(load_run(tiny_run).inventory.n_words)
    with pytest.raises(ConfigError) as caught:
        write_vectors(tmp_path / "v.txt", words, model=tiny_run, at=at, device="cpu")
    assert str(caught.value) == message.replace("RUN", str(tiny_run)).replace(
        "V words", f"{n_words} words"
    )
    assert list(tmp_path.iterdir()) == []


def test_standard_output_gets_no_vectors(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        write_vectors("-", model=tiny_run, device="cpu")
    expected = "--vectors -: nothing goes to standard output; expected a file"
    assert str(caught.value) == expected
    assert list(tmp_path.iterdir()) == []


def test_a_word_that_is_not_utf_8_is_written_with_an_escape(tiny_run: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.txt", ["caf\udce9"], model=tiny_run, device="cpu")
    assert as_gensim_reads(tmp_path / "v.txt")[0] == ["caf\\udce9"]
