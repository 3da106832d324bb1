"""Kaldi's lattices as text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.lattices.lattice import Arc, Lattice

Read = Callable[..., list[Lattice]]
ROW = "0 1 a 1,2,\n1\n\n"


@pytest.mark.parametrize("kind", ["compact", "lattice"])
def test_both_kinds_hold_the_same_arcs_in_nats(
    read: Read, texts: dict[str, str], kind: str
) -> None:
    lattice = read(texts[kind])[0]
    assert lattice.id == "utt-A"
    assert lattice.names == ("graph", "am")
    assert lattice.arcs[0] == Arc(0, 1, "we", (-2.5, -100.25))
    assert lattice.arcs[2] == Arc(1, 3, "<eps>", (-0.5, 0.0))
    assert lattice.finals == {3: (-0.125, 0.0), 4: (0.0, 0.0)}


def test_the_first_source_is_the_start_whatever_its_number(read: Read) -> None:
    lattice = read("u\n7 2 a 1,2\n2\n\n")[0]
    assert lattice.nodes[lattice.start] == "7"


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("0 1 a", "a"),
        ("0 1 5 a", "a"),
        ("0 1 5 a 1,2", "a"),
        ("0 1 a 1,2", "a"),
        ("0 1 0", "<eps>"),
    ],
)
def test_a_row_tells_its_kind_by_its_columns(read: Read, row: str, word: str) -> None:
    assert read(f"u\n{row}\n1\n\n")[0].arcs[0].word == word


def test_a_missing_weight_counts_nothing(read: Read) -> None:
    assert read("u\n0 1 a\n1\n\n")[0].arcs[0].values == (0.0, 0.0)


def test_an_infinite_final_cost_means_not_final(read: Read) -> None:
    lattice = read("u\n0 1 a\n0 Infinity,Infinity,\n1 3,4\n\n")[0]
    assert lattice.finals == {1: (-3.0, -4.0)}


def test_a_symbol_table_turns_numbers_into_words(read: Read, tmp_path: Path) -> None:
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nwe 1\nknow 2\n")
    lattice = read("u\n0 1 1\n1 2 0\n2 3 2\n3\n\n", words_txt=table)[0]
    assert [arc.word for arc in lattice.arcs] == ["we", "<eps>", "know"]


def test_a_number_that_is_not_in_the_table_names_its_line(read: Read, tmp_path: Path) -> None:
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\n")
    with pytest.raises(DataError, match=r"lattices:2: label 8, which the symbol table does not"):
        read("u\n0 1 8\n1\n\n", words_txt=table)


def test_a_table_for_lattices_of_words_is_refused(read: Read, tmp_path: Path) -> None:
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\nwe 12\n")
    message = r"lattices:3: label 'years' is a word; expected the number .* drop --words-txt"
    with pytest.raises(DataError, match=message):
        read("u\n0 1 12\n1 2 years\n2\n\n", words_txt=table)


@pytest.mark.parametrize(
    ("table", "message"),
    [("we\n", "'we'; expected a word and its number"), ("a 1\nb 1\n", "number 1 for the second")],
)
def test_a_broken_table_names_its_line(
    read: Read, tmp_path: Path, table: str, message: str
) -> None:
    path = tmp_path / "words.txt"
    path.write_text(table)
    with pytest.raises(DataError, match=message):
        read("u\n0 1 1\n1\n\n", words_txt=path)


def test_numbers_for_words_ask_for_the_table(read: Read) -> None:
    with pytest.raises(DataError, match=r":2: utterance 'u': all words are numbers;.*--words-txt"):
        read("u\n0 1 12 1,2,\n1 2 0\n2\n\n")


@pytest.mark.parametrize("text", ["u\n0 1 12\n1 2 <eps>\n2\n\n", "u\n0 1 12\n1 2 we\n2\n\n"])
def test_a_number_among_symbols_is_a_word(read: Read, text: str) -> None:
    assert read(text)[0].arcs[0].word == "12"
    assert read(text.replace("12", "0"))[0].arcs[0].word == "0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u 0 1\n0 1 a\n", ":1: found 3 fields; expected the id of an utterance alone"),
        ("u\n\nv\n" + ROW, ":1: utterance 'u': no state"),
        ("u\n0 1 a b c d\n1\n\n", ":2: found 6 fields; expected source target word"),
        ("u\n0 1 a\n0 1 5 a 1,2\n1\n\n", ":3: rows of 3 and of 5 fields in one lattice"),
        ("u\n0 1 5 a 1,2\n0 1 5 6 7 8\n1\n\n", ":3: found 6 fields; expected source target label"),
        ("u\nx 1 a\n1\n\n", ":2: state 'x'; expected a whole number; if it is the id of "),
        ("u\n0 1 a\n1\nv\n0\n\n", "the next utterance, put a blank line before it"),
        ("u\n0 -1 a\n1\n\n", ":2: state '-1'; expected a whole number"),
        ("u\n0 1 a 1,2,\n0 1 a 1;2\n1\n\n", r":3: weight '1;2'; expected graph,acoustic"),
        ("u\n0 1 5 a 1,2\n0 1 x a\n1\n\n", ":3: label 'x'; expected a whole number before words"),
        ("u\n0 1 a nan,2\n0 1 b 1,2\n0 1 c\n1\n\n", r":2: weight 'nan,2'; expected graph"),
        ("u\n0 1 a 1e31,2\n1\n\n", r":2: weight '1e31,2'; expected costs below 1e30"),
        ("u\n0 1 a\n1 -inf,2\n\n", r":3: weight '-inf,2'; expected costs below 1e30"),
        ("u\n0 1 a inf,2\n1\n\n", r":2: an infinite cost; expected finite ones on arcs"),
        ("u\n0 1 a\n1\n1 2,3\n\n", ":4: state 1 is final for the second time"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(read: Read, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(text, form="kaldi-lattice")
    assert "\n" not in str(error.value)


def test_lattices_come_before_the_next_one_is_looked_at(read: Read) -> None:
    from charlm.nbest.lattices.kaldi import read as read_kaldi
    from charlm.nbest.reading.list_lines import open_lines

    read("u\n" + ROW)  # writes the file's folder
    broken = "u\n" + ROW + "v\nbroken line of more fields\n\n"
    with pytest.raises(DataError):
        read(broken)
    path = Path(read("w\n" + ROW)[0].place.rpartition(":")[0])
    path.write_text(broken)
    with open_lines(path) as lines:
        assert next(read_kaldi(lines)).id == "u"
