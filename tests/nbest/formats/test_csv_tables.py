"""CSV lists: quoted fields, and the written output."""

from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError
from charlm.nbest.formats import detect
from charlm.nbest.formats.csv_tables import CsvFormat
from charlm.nbest.reading.format import Sample

TEXT = """\
id,rank,am,"text",-
u,1,-1,"a, b","said ""so"",
twice"
u,2,-2,"a
c",
v,1,-3,"don""t",x
"""


def test_a_field_in_quotes_may_hold_commas_line_ends_and_quotes(read, write) -> None:
    u, v = read(CsvFormat(), TEXT)
    assert [(each.words, dict(each.features)) for each in u.hypotheses] == [
        (("a,", "b"), {"am": -1.0}),
        (("a", "c"), {"am": -2.0}),
    ]
    assert v.hypotheses[0].words == ('don"t',)
    assert [each.place for each in u.hypotheses] == ["a.list:2", "a.list:4"]
    assert write(CsvFormat(), [u, v]) == TEXT
    scored = write(CsvFormat(), [u, v], scores=[[-7, -8], [-9]], orders=[[1, 0], [0]])
    assert (
        scored
        == """\
id,rank,am,charlm,"text",-
u,1,-2,-8.000000,"a
c",
u,2,-1,-7.000000,"a, b","said ""so"",
twice"
v,1,-3,-9.000000,"don""t",x
"""
    )


def test_a_feature_may_have_brackets_in_its_name(read) -> None:
    text = "id,text,P(x),am [ln]\nu,a b,-1,-2\n"
    assert CsvFormat().claims(Sample("-", tuple(text.splitlines()), ()))
    (found,) = read(CsvFormat(), text)
    assert found.hypotheses[0].features == {"P(x)": -1.0, "am [ln]": -2.0}


def test_comments_above_the_header_do_not_make_sentences_of_a_table(read, write) -> None:
    text = "# of Monday\n\nid,am,text\nu,-1,a b\n"
    assert detect(Sample("-", tuple(text.splitlines()), ())).name == "csv"
    lists = read(CsvFormat(), text)
    assert [each.hypotheses[0].words for each in lists] == [("a", "b")]
    assert write(CsvFormat(), lists) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id,text\nu,"a\n', "a.list:2: unexpected end of data; expected fields between commas"),
        ('id,text\nu,"a"b\n', "a.list:2: ',' expected after '\"'; expected fields between commas"),
        ("id,text\nu,a\rb\n", "a.list:2: new-line character seen in unquoted field; expected "),
        ("id,text\nu,a,b\n", "a.list:2: found 3 fields between commas; expected 2 (id,text)"),
        ("u,a\n", "a.list:1: found no names of columns ('u,a'); expected a header with id and te"),
    ],
)
def test_what_is_no_such_table_is_said_with_its_place(text, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(CsvFormat(), text)
    assert str(caught.value).startswith(message)


def test_csv_and_tsv_of_the_same_lists_are_ranked_alike(tmp_path: Path) -> None:
    rows = [("id", "am", "text"), ("u", "-2", "a b"), ("u", "-1", "a c"), ("v", "-1", "h")]
    found = {}
    for mark, name in ((",", "a.csv"), ("\t", "a.tsv")):
        (tmp_path / name).write_text("".join(f"{mark.join(row)}\n" for row in rows))
        out: list[str] = []
        result = charlm.score(tmp_path / name, weight=["am=1"], write="ranked", out=out.append)
        assert result.format == name[2:]
        found[mark] = "".join(out).replace(mark, "|")
    assert found[","] == found["\t"] == "id|am|text\nu|-1|a c\nu|-2|a b\nv|-1|h\n"


def test_a_column_without_a_name_as_pandas_writes_its_index_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",id,am,text\n0,u,-2,a b\n1,u,-1,a c\n")
    out: list[str] = []
    charlm.score(path, weight=["am=1"], write="ranked", out=out.append)
    assert "".join(out) == ",id,am,text\n1,u,-1,a c\n0,u,-2,a b\n"
