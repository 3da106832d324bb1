"""Tables as programs write them: quotes, line ends in fields, packed, from a pipe, broken."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.scoring.evaluation.surprisal.table_items import read_items

CSV = 'item,sentence\n1,"He said ""no"", twice"\n2,"two\r\nlines"\n\n3,plain\n'


def sentences(path: Path, **options: str) -> list[str]:
    items = read_items([path], **options)  # type: ignore[arg-type]
    return [item.text(items.sentence_column(None)) for item in items.items]


def piped(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]


def test_a_csv_field_holds_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    assert sentences(path) == ['He said "no", twice', "two lines", "plain"]
    items = read_items([path])
    assert items.columns == ("item", "sentence")
    assert items.items[2].where == f"{path}:6"


def test_csv_of_a_spreadsheet_that_writes_decimal_commas_has_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('item;sentence;rt\n1;"a; b";0,5\n2;Wer, sagt er;1,5\n')
    assert sentences(path) == ["a; b", "Wer, sagt er"]
    assert [item.values["rt"] for item in read_items([path]).items] == ["0,5", "1,5"]


@pytest.mark.parametrize("sign", [";", ",", "\t"])
def test_a_first_line_of_excels_names_the_separator(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"sep={sign}\nitem{sign}sentence\n1{sign}a\n2{sign}b\n".replace("\n", "\r\n"))
    assert sentences(path) == ["a", "b"]
    assert read_items([path]).items[1].where == f"{path}:4"
    path.write_text(f"sep={sign}\nsentence\na\n1{sign}b\n")
    with pytest.raises(DataError, match=r"a\.csv:4: 2 fields; expected 1, as in the header"):
        read_items([path])


def test_null_in_json_lines_is_an_empty_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": null}\n{"text": "a"}\n')
    assert sentences(path) == ["", "a"]


def test_line_ends_within_a_field_are_blanks_and_no_other_signs_are(tmp_path: Path) -> None:
    table, text = tmp_path / "a.csv", tmp_path / "a.txt"
    table.write_bytes('text\n"a\r\nb\rc\nd\u2028e"\n'.encode())
    assert sentences(table) == ["a b c d\u2028e"]
    text.write_bytes("a\rb\u2028c\r\n".encode())
    assert sentences(text) == ["a\rb\u2028c"]  # as `charlm eval` reads it


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_field_may_be_as_long_as_a_chapter(tmp_path: Path, name: str) -> None:
    path, chapter = tmp_path / name, "word " * 30_000 + "end"
    path.write_text(f'text\n"{chapter}"\n')
    assert sentences(path) == [chapter]


def test_packed_tables_go_by_the_name_before_the_packing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a b", "n": 1.5, "x": null}\n\n{"text": "c"}\n'))
    items = read_items([path])
    assert sentences(path) == ["a b", "c"]
    assert [item.values.get("n") for item in items.items] == ["1.5", None]
    assert items.columns == ("text", "n", "x")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('text\tn\n"a ""b"""\t1\n', ['a "b"']),
        ('text\tn\n"a ""b"""\t1\n\n"c"\t2\n\n', ['a "b"', "c"]),  # blank lines do not count
        ('text\tn\n"Yes," he said.\t1\n', ['"Yes," he said.']),  # no quoting at all
        ('text\tn\n"\t1\n"\t2\n', ['"', '"']),
    ],
)
def test_lone_quotes_of_a_tsv_are_characters(tmp_path: Path, text: str, found: list[str]) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(text)
    assert sentences(path) == found


def test_standard_input_is_a_text_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", piped(b"a b\n\nc\n"))
    assert sentences(Path("-")) == ["a b", "", "c"]
    monkeypatch.setattr(sys, "stdin", piped(b"text\na b\n"))
    assert sentences(Path("-"), format="csv") == ["a b"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", 'text\n"a\n', r"a.csv:2: unexpected end of data; expected fields between commas"),
        ("a.csv", "text,n\na\n", r"a.csv:2: 1 fields; expected 2, as in the header"),
        ("a.csv", "text,text\na,b\n", r"a.csv:1: two columns 'text'; expected a name for each"),
        ("a.csv", "text\ra\r", r"a.csv:1: found a CR at byte 5 and no LF, as old Macs end lines"),
        ("a.txt", "a b\rc\r", r"a.txt:1: found a CR at byte 4 and no LF, as old Macs end lines"),
        ("a.tsv", "text\ra\r", r"a.tsv:1: found a CR at byte 5 and no LF, as old Macs end lines"),
        (
            "a",
            "id,text\n1,a\n",
            r"a: looks like CSV .*; expected a sentence a line, or --format csv",
        ),
        ("a.txt", "id\ttext\n1\ta b\n", r"a.txt: looks like a table .*, or --format csv or tsv"),
        ("a.txt", "item\ttext\n1\ta b\n", r"a.txt: looks like a table .*, or --format csv or tsv"),
        ("a.jsonl", '{"text": "a"}\n[1]\n', r"a.jsonl:2: found '\[1\]'; expected a JSON object"),
        (
            "a.jsonl",
            '{"text": "a"}\n{"n": 1}\n',
            r"a.jsonl:2: nothing in column 'text'; expected a sent",
        ),
        ("a.jsonl", '{"text": ["a", "b"]}\n', r"""found '\["a", "b"\]' in column 'text'"""),
        ("a.csv", "text\n", r"a.csv: no sentence in it; expected one a line, or a table"),
    ],
)
def test_a_broken_table_says_where(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    with pytest.raises(DataError, match=message):
        sentences(path)


def test_columns_must_be_there(tmp_path: Path) -> None:
    table, text = tmp_path / "a.csv", tmp_path / "a.txt"
    table.write_text("satz,n\na,1\n")
    text.write_text("a\n")
    items = read_items([table])
    with pytest.raises(ConfigError, match="no column is called sentence or text; expected --col"):
        items.sentence_column(None)
    with pytest.raises(ConfigError, match="--column 'x': expected one of the columns satz, n"):
        items.sentence_column("x")
    table.write_text("n, text,\n1,a,\n")
    with pytest.raises(ConfigError, match="no column is called .*, one of n, ' text', ''"):
        read_items([table]).sentence_column(None)
    with pytest.raises(ConfigError, match="--column 'x': a text has no columns"):
        read_items([text]).sentence_column("x")
    with pytest.raises(ConfigError, match="found .*, a text by its name, beside tables"):
        read_items([text, table])
    with pytest.raises(ConfigError, match="no files; expected texts or tables"):
        read_items([])
