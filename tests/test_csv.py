"""CSV is refused in one line wherever text is read, and where no header names its columns; so are
sentences behind ids, and counts of n-grams.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError
from charlm.insight.vectors.measures.noisy_words import text_normalisation
from charlm.insight.vectors.measures.similarity import word_similarity
from charlm.model.outputs.class_files import read_classes
from charlm.nbest.references.unknown_words import unknown_words
from charlm.text.io.table_lines import CUT_IDS, refuse_tables
from charlm.text.vocabulary.vocabulary import inventory_of

HEADED = "id,text\nu1,the cat sat\nu2,a dog sat\n"
BARE = "utt-1,the cat sat\nutt-1,a cat sat\nutt-2,the dog did\nutt-3,yes it did\n"
TSV = "u1\t-1\tthe cat\nu1\t-2\ta cat\n"


KINDS = {"headed": HEADED, "bare": BARE, "semicolons": BARE.replace(",", ";")}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(request.param)
    return path


def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.tsv"
    path.write_text(TSV)
    return path


READERS: dict[str, Callable[[Path, Path, Path], object]] = {
    "score": lambda table, run, out: charlm.score(table, model=run),
    "tune": lambda table, run, out: charlm.tune(table, model=run, refs=lists(out)),
    "refs": lambda table, run, out: charlm.score(lists(out), model=run, refs=table),
    "eval": lambda table, run, out: charlm.evaluate(run, files=table),
    "ngram": lambda table, run, out: charlm.ngram_baseline(train=table, out=out / "kn.arpa"),
    "vocab": lambda table, run, out: unknown_words(inventory_of([["cat"]]), [table]),
    "prep": lambda table, run, out: charlm.prep(table, out=out / "corpus"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_csv_is_refused(
    read: Callable[[Path, Path, Path], object], table: Path, tiny_run: Path, tmp_path: Path
) -> None:
    named = [READERS[name] for name in ("score", "tune", "refs", "vocab")]
    if read in named and table.read_text() == HEADED:
        return  # lists and references, whose columns have names
    with pytest.raises(DataError, match=r"a\.csv: looks like CSV \(begins 'u?.*'\); expected "):
        read(table, tiny_run, tmp_path)


BEHIND_IDS = {
    "kaldi": "utt-0001 the cat sat\nutt-0002\nutt-0003\tthe dog did\n",
    "librispeech": "1089-134686-0000 HE HOPED\n1089-134686-0001 STUFF IT\n1089-134686-0002 A\n",
    "switchboard": "".join(f"sw02001-A_00009{n}-00115{n} yes it {n}\n" for n in range(9)),
    "wsj": "011c0201 THE SALE\n011c0202 THE HOTEL\n011c0203 A\n",
    "tabs": "u1\tthe cat sat\nu2\ta cat sat\nu3\tthe dog did\n",
}
COUNTS = {
    "srilm": "!\t5\na cat\t2\n<s> a\t10\ncat </s>\t1\n",
    "labels": "the cat sat\t1\na cat sat\t0\nit did\t1\n",
}
TEXT_READERS = ("eval", "ngram", "prep")


@pytest.mark.parametrize("text", [*BEHIND_IDS.values(), *COUNTS.values()])
@pytest.mark.parametrize("command", TEXT_READERS)
def test_sentences_behind_ids_and_counts_are_no_text(
    command: str, text: str, tiny_run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "text"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        READERS[command](path, tiny_run, tmp_path)
    what, advice = (
        (
            "counts of n-grams, or sentences with labels",
            "cut -f1 FILE leaves labels out; `charlm ngram --counts FILE` reads counts",
        )
        if text in COUNTS.values()
        else ("sentences behind ids", f"{CUT_IDS} leaves the ids out")
    )
    begins = text.splitlines()[0]
    assert str(caught.value) == (
        f"{path}: looks like {what} (begins {begins!r:.40}); expected a sentence a line; {advice}"
    )


def test_the_advised_command_leaves_ids_out_of_empty_sentences_too(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(BEHIND_IDS["kaldi"])
    command = CUT_IDS.replace("FILE", "text")
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "the cat sat\n\nthe dog did\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("utt-0001 the cat", "utt-0001 a cat", "utt-0002 the dog"),  # one twice
        ("utt-0001 the cat", "utt-0002 a cat", "the dog"),
        ("utt-0001 the cat", "utt-0002 a cat"),  # too few
        ("utt-0001", "utt-0002", "utt-0003"),  # words of one line each
        ("2024-01-05 rain", "06-01-2024 sun", "07-Jan-2024 rain"),
        ("1 the cat", "2 a cat", "3 the dog"),
        ("18-year-old cat", "COVID-19 did", "F-16 sat"),
        ("1970s cats", "1980s dogs", "1914-1918 war"),
        ("SPEAKER_00 hello", "SPEAKER_01 hi", "SPEAKER_02 ho"),
        ("C4_1001 E4_1002", "C4_1003 E4_1004", "C4_1005 E4_1006"),  # all are of a code
        ("dog\tNN1", "cat\tNN2", "sat\tVB"),
        ("the cat\t1", "a dog\t2 3", "it did\t3"),
        ("1\t5", "2\t6", "3\t7"),
    ],
)
def test_what_may_be_a_text_is_read(lines: list[str], tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("\n".join(lines))
    (result,) = charlm.evaluate(tiny_run, files=path, state="sentence", threads=1)
    assert result.counts.n_sentences == len(lines)


@pytest.mark.parametrize("line", ["a," * 500_000, "1_" * 500_000, "a 1-" * 250_000])
def test_a_line_as_long_as_a_book_is_looked_at_once(line: str, tmp_path: Path) -> None:
    # An expression that tries all parts of it would take half an hour.
    assert list(refuse_tables([(1, line)] * 3, tmp_path)) == [(1, line)] * 3


def test_a_training_text_that_is_csv_is_refused(table: Path) -> None:
    folder = table.parent / "corpus"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_bytes(b"\xef\xbb\xbf" + table.read_bytes())
    with pytest.raises(DataError, match=r"train\.txt: looks like CSV"):
        charlm.train(data=folder, out=table.parent / "run")


def test_a_table_of_words_says_that_a_row_looks_like_csv(tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("cat,dog,3.5\ncat,mat,1\n")
    hint = "it looks like CSV: save it with TABs between the fields"
    for read in (word_similarity, text_normalisation):
        with pytest.raises(DataError, match=hint):
            read(path, model=tiny_run)
    with pytest.raises(DataError, match=hint):
        read_classes(str(path))


def test_lines_that_only_look_like_csv_are_sentences_where_the_user_says_so(
    table: Path, tiny_run: Path, tmp_path: Path
) -> None:
    if table.read_text() != HEADED:
        with pytest.raises(DataError, match="give --format text if its lines are sentences"):
            charlm.score(table, model=tiny_run)
    out = tmp_path / "scores"
    charlm.score(table, model=tiny_run, format="text", out=out)
    assert len(out.read_text().splitlines()) == len(table.read_text().splitlines())


def test_a_table_with_tabs_and_names_of_columns_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("id\ttext\n1\ta b\n2\tc\n3\td\n")
    with pytest.raises(DataError, match=r"looks like a table \(begins 'id\\ttext'\); expected a"):
        charlm.prep(tmp_path / "raw", out=tmp_path / "c")
