"""What is recognised as CSV or as column names, and what must not be."""

import pytest

from charlm.errors import DataError
from charlm.text.io.table_lines import csv_hint, is_csv, may_name_columns, refuse_tables

TABLES = {
    "names of an id and a text": ["id,text", "u1,the cat, it sat", 'u2,"a cat'],
    "names in capitals": ["ID;Sentence", "u1;the cat"],
    "names of any kind beside these": ["id,rank,am+lm,2nd pass,%,-,text", "u1,1,-2,-3,5,x,cat"],
    "a text and a label": ["text,label", '"the cat, it sat",1', "a dog,0"],
    "ids in front": ["utt-1,the cat sat", "utt-1,a cat sat", "utt-2,yes it did"],
    "ids and numbers": ["u1,1,-2.5,the cat", "u1,2,-3.5,a cat", "u2,1,-1.5,the dog"],
    "bare commas in the text": ["u1,the cat, it sat", "u2,a dog, well, sat", "u3,it did"],
    "quotes around all": ['"the cat, it sat","1"', '"a ""dog"" sat","0"', '"it did","1"'],
    "semicolons": ["u1;the cat, it sat", "u2;a dog sat", "u3;yes, it did"],
    "Excel's first line": ["sep=;", "item;sentence", "1;the cat"],
    "an empty line at its end": ["u1,the cat", "u2,a cat", "u3,the dog", ""],
}
TEXTS = {
    "a comma and a blank": ["1990, the cat sat", "1991, a dog sat", "1992, it did so"],
    "tokens": ["the cat , it sat", "utt-1 , the cat sat", "yes , it did"],
    "no blank behind commas": ["Well,the cat sat", "No,it did not", "Yes,it did so"],
    "thousands": ["1,000 cats sat there", "2,500 dogs did so", "3,100 did not do so"],
    "numbers with a decimal comma": ["1,5 litres of it", "2,4-D is poison, too", "3,2 of them"],
    "quoted speech": ['"Yes," said the cat', '"No," said the dog', '"Well," said he'],
    "two lines": ["u1,the cat", "u2,a cat"],
    "names within a sentence": ["the word, text and id", "a sentence,text", "yes, it did"],
    "names with blanks behind the commas": ["word,id,text, and so on", "Yes, it did"],
    "JSON": ['{"id":"u1","text":"the cat"}', '{"id":"u2","text":"a cat"}', '{"id":"u3"}'],
    "TABs": ["id,text\tu1", "u1,the cat\t1", "u2,a dog sat\t2"],
    "a list of ids alone": ["u1,u2", "u3,u4", "u5,u6"],
    "table, then text": ["u1,the cat sat", "u2,a cat sat", "u3,the dog sat", "it did"],
    "nothing": [],
}


@pytest.mark.parametrize("lines", TABLES.values(), ids=TABLES)
def test_csv_is_seen(lines: list[str]) -> None:
    assert is_csv(lines)


@pytest.mark.parametrize("lines", TEXTS.values(), ids=TEXTS)
def test_text_is_not_taken_for_csv(lines: list[str]) -> None:
    assert not is_csv(lines)


def test_csv_is_refused_in_one_line_that_says_what_to_do() -> None:
    with pytest.raises(DataError) as caught:
        list(refuse_tables(enumerate(["id,text", "u1,the cat"], 1), "a.csv"))
    assert str(caught.value) == (
        "a.csv: looks like CSV (begins 'id,text'); expected a sentence a line; save the column "
        "of sentences as a text of its own, without quotes"
    )


def test_text_without_commas_is_handed_on_at_its_first_line() -> None:
    def lines():
        yield 1, "the cat sat"
        raise AssertionError("read on")

    assert next(refuse_tables(lines(), "-")) == (1, "the cat sat")


def test_all_lines_of_a_text_are_handed_on() -> None:
    lines = list(enumerate(["a, b", "c, d", "", "e, f", "g, h", "i, j", "k"], 1))
    assert list(refuse_tables(lines, "-")) == lines


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (("item", "condition", "sentence"), True),
        (("Utt", "am"), True),
        (("text", "टिप्पणी"), True),
        (("utt1", "word"), False),
        (("word", "word"), False),
        (("anna", "a sentence"), False),
        (("anna", "hello"), False),
        (("text",), False),
    ],
)
def test_a_line_may_name_columns_if_a_name_is_known(
    fields: tuple[str, ...], *, expected: bool
) -> None:
    assert may_name_columns(fields) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("cat,dog,3.5", True), ("cat;dog", True), ("cat, dog", False), ("a,b\tc", False), ("", False)],
)
def test_the_message_about_a_broken_row_says_that_it_may_be_csv(
    line: str, *, expected: bool
) -> None:
    assert csv_hint(line) == (
        "; it looks like CSV: save it with TABs between the fields" if expected else ""
    )
