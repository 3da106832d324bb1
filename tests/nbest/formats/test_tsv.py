"""Tables: columns from a header, from the user, or guessed; units from column names."""

import time

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.formats.tsv import TsvFormat
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.repairs import Notices

LN10 = 2.302585092994046
HEADED = "id\trank\tam:cost\tlm:log10\ttext\nu\t1\t12.5\t-2\twe know\nu\t2\t13\t-1.5\twe do\n"


def features_of(lists):
    return [[dict(hypothesis.features) for hypothesis in each.hypotheses] for each in lists]


def test_a_header_names_columns_and_their_units(read) -> None:
    (found,) = read(TsvFormat(), HEADED)
    assert found.id == "u"
    assert [hypothesis.words for hypothesis in found.hypotheses] == [("we", "know"), ("we", "do")]
    assert features_of([found]) == [
        [
            {"am": -12.5, "lm": pytest.approx(-2 * LN10)},
            {"am": -13.0, "lm": pytest.approx(-1.5 * LN10)},
        ]
    ]
    assert found.hypotheses[1].place == "a.list:3"


def test_a_scored_table_names_its_new_column_in_the_header(read, write) -> None:
    found = read(TsvFormat(), HEADED)
    assert write(TsvFormat(), found, scores=[(-1.25, -3.0)]) == (
        "id\trank\tam:cost\tlm:log10\tcharlm\ttext\n"
        "u\t1\t12.5\t-2\t-1.250000\twe know\nu\t2\t13\t-1.5\t-3.000000\twe do\n"
    )


def test_without_a_header_numbers_are_called_by_their_column(read) -> None:
    found = read(TsvFormat(), "u-1\t1\t-0.5\tsystem\t-7\twe know\nu-1\t2\t-1\tother\t-8\t\n")
    assert [each.id for each in found] == ["u-1"]
    assert features_of(found) == [[{"c3": -0.5, "c5": -7.0}, {"c3": -1.0, "c5": -8.0}]]
    assert found[0].hypotheses[1].words == ()


def test_a_second_column_that_does_not_count_lines_is_a_feature(read) -> None:
    found = read(TsvFormat(), "u\t0\twe know\nu\t-3.5\twe do\n")
    assert features_of(found) == [[{"c2": 0.0}, {"c2": -3.5}]]


def test_scores_in_the_last_column_are_no_texts(read) -> None:
    with pytest.raises(DataError) as error:
        read(TsvFormat(), "# beam 2\nwe know\t-1.25\nwe do\t-3\n")
    assert str(error.value) == (
        "a.list:2: found numbers alone in the last column, as '-1.25'; expected texts; if they "
        "have no ids, as NeMo's beams, put some before them (of 4 a list: "
        """awk '{print int((NR-1)/4) "\\t" $0}' FILE), and name the columns with --columns, """
        "as id,text,am"
    )
    with pytest.raises(DataError, match=r"expected texts; name the columns with --columns, as id"):
        read(TsvFormat(), "u\twe know\t-1.25\nu\twe do\t-3\n")


@pytest.mark.parametrize("text", ["u\t4\nv\t42\n", "u\t-1\nu\tminus 1\n", "u\t\n"])
def test_digits_may_be_texts(read, text: str) -> None:
    assert [h.words for nbest in read(TsvFormat(), text) for h in nbest.hypotheses] == [
        tuple(line.split("\t")[1].split()) for line in text.splitlines()
    ]


def test_a_pipe_is_not_looked_at_ahead_to_guess_its_columns(pipe) -> None:
    found = next(iter(TsvFormat().read(pipe(b"u\t1\twe know\n", b"v\t1\tyes\n"))))
    assert found.id == "u"
    assert found.hypotheses[0].features == {}


def test_a_header_may_not_have_the_names_that_the_user_gives_in_another_order(read) -> None:
    text, others = "id\tlm\tam\ttext\nu\t-1\t-2\ta\n", ("id", "ac", "lm", "text")
    assert read(TsvFormat(), text, columns=others)[0].hypotheses[0].features == {"ac": -1, "lm": -2}
    with pytest.raises(ConfigError) as caught:
        read(TsvFormat(), text, columns=("id", "am", "lm", "text"))
    assert str(caught.value).endswith(
        ":1: the header names id,lm,am,text, and --columns (or the file of weights) "
        "id,am,lm,text; expected one order; give --columns as the header has it"
    )


def test_columns_that_the_user_names_hold_over_a_guess(read) -> None:
    found = read(TsvFormat(), "we know\tx\t3\tu\n", columns=("text", "-", "am:log2", "id"))
    assert found[0].id == "u"
    assert features_of(found) == [[{"am": pytest.approx(3 * 0.6931471805599453)}]]


def test_hypotheses_come_in_order_of_their_ranks_and_stay_where_they_are(read, write) -> None:
    text = "u\t1\t-1\ta\nu\t10\t-1\tc\nu\t2\t-1\tb\n"
    found = read(TsvFormat(), text)
    assert [hypothesis.words for hypothesis in found[0].hypotheses] == [("a",), ("b",), ("c",)]
    assert write(TsvFormat(), found) == text


def test_whole_numbers_with_gaps_are_a_feature_not_ranks(read) -> None:
    """As costs that are relative to the best hypothesis of each list."""
    found = read(TsvFormat(), "u\t0\ta\nu\t12\tb\nv\t0\ta\nv\t7\tc\n")
    features = [[dict(each.features) for each in nbest.hypotheses] for nbest in found]
    assert features == [[{"c2": 0.0}, {"c2": 12.0}], [{"c2": 0.0}, {"c2": 7.0}]]


def test_reranked_lines_get_the_ranks_of_their_places(read, write) -> None:
    found = read(TsvFormat(), "u\t1\t-1\ta\nu\t10\t-3\tc\nu\t2\t-2\tb\n")
    reranked = write(TsvFormat(), found, orders=[(2, 0, 1)])
    assert reranked == "u\t1\t-3\tc\nu\t10\t-2\tb\nu\t2\t-1\ta\n"
    again = read(TsvFormat(), reranked)
    assert [hypothesis.words for hypothesis in again[0].hypotheses] == [("c",), ("a",), ("b",)]


def test_comments_and_blank_lines_stay_between_lines_that_move(read, write) -> None:
    text = "\ufeff# made by hand\r\n\r\nu\t-1\ta\r\n# between\r\nu\t-2\tb\r\nv\t-3\tc\r\n# end"
    found = read(TsvFormat(), text)
    assert [each.id for each in found] == ["u", "v"]
    assert write(TsvFormat(), found) == text
    moved = write(TsvFormat(), found, orders=[(1, 0), (0,)])
    assert moved == text.replace("u\t-1\ta", "?").replace("u\t-2\tb", "u\t-1\ta").replace(
        "?", "u\t-2\tb"
    )


def test_comments_that_have_all_fields_of_a_row_are_counted(read) -> None:
    notices = Notices()
    text = "#id\tam\ttext\nu\t-1\ta b\n#u2\t-2\tc\n# a\tb\n"
    (found,) = read(TsvFormat(), text, notices=notices)
    assert found.id == "u"
    assert notices.passed_over == {"rows whose id begins with #, a comment's sign": 1}


@pytest.mark.parametrize("cell", ["NA", ""])
def test_a_feature_that_is_na_in_a_whole_list_is_not_there(cell, read) -> None:
    text = f"id\tc2\ttext\nu\t{cell}\ta\nu\t{cell}\tb\nv\t-1\tc\n"
    found = read(TsvFormat(), text)
    assert features_of(found) == [[{}, {}], [{"c2": -1.0}]]


@pytest.mark.parametrize("cell", ["NA", ""])
def test_a_missing_number_makes_a_feature_of_a_column_without_a_name(cell, read) -> None:
    found = read(TsvFormat(), f"u\t{cell}\ta\nv\t-1\tc\n")
    assert features_of(found) == [[{}], [{"c2": -1.0}]]


@pytest.mark.parametrize("cell", ["NA", ""])
def test_a_missing_name_makes_no_feature_of_a_column_without_a_name(cell, read) -> None:
    found = read(TsvFormat(), f"u\t{cell}\t-2\ta\nv\tspeaker\t-1\tc\n")
    assert features_of(found) == [[{"c3": -2.0}], [{"c3": -1.0}]]


@pytest.mark.parametrize("cell", ["NA", ""])
def test_na_among_numbers_is_refused_or_the_worst_of_its_list(cell, read) -> None:
    text = f"u\t-2\ta\nu\t{cell}\tb\nu\t-5\tc\n"
    with pytest.raises(DataError) as caught:
        read(TsvFormat(), text)
    assert str(caught.value) == (
        "a.list:2: utterance 'u': the feature 'c2' is missing; expected a finite number; "
        "mend it, or give --on-nan worst"
    )
    found = read(TsvFormat(), text, on_nan="worst")
    assert features_of(found) == [[{"c2": -2.0}, {"c2": -5.0}, {"c2": -5.0}]]


@pytest.mark.parametrize(
    ("text", "columns", "advice"),
    [
        ("u\t-1\ta\nv\t-1\ta\nu\t-1\tb\n", (), "sort the list (sort -s -k1,1 FILE), or give"),
        ("2\ta\n10\ta\n2\tb\n", (), "sort the list (sort -s -k1,1n FILE), or give"),
        ("id\ttext\nu\ta\nv\ta\nu\tb\n", (), "sort the list, or give"),  # the header stays
        ("1\tu\ta\n1\tv\ta\n1\tu\tb\n", ("-", "id", "text"), "sort the list, or give"),
        ("u 1\ta\nu 2\ta\nu 1\tb\n", (), "sort the list, or give"),  # sort cuts at the blank
    ],
)
def test_lists_that_are_not_together_are_sorted_by_a_command_where_one_does(
    text, columns, advice, read
) -> None:
    with pytest.raises(DataError) as caught:
        read(TsvFormat(), text, columns=columns)
    assert f"expected its hypotheses together; {advice}" in str(caught.value)


def test_the_worst_cost_is_the_largest(read) -> None:
    text = "id\tam:cost\ttext\nu\tinf\ta\nu\t3\tb\nu\t9\tc\n"
    found = read(TsvFormat(), text, on_nan="worst")
    assert [features["am"] for features in features_of(found)[0]] == [-9.0, -3.0, -9.0]


def test_references_and_recordings_are_columns(read) -> None:
    (found,) = read(TsvFormat(), "id\trecording\ttext\tref\nu\ttape 1\ta b\t<s> a c </s>\n")
    assert found.recording == "tape 1"
    assert found.reference == ("a", "c")


def test_a_reference_may_stand_in_any_one_row_of_its_list(read) -> None:
    text = "id\trank\trecording\ttext\tref\nu\t2\t\ta b\t\nu\t1\tr\ta\ta c\nv\t1\t\ta\t\n"
    u, v = read(TsvFormat(), text)
    assert (u.recording, u.reference) == ("r", ("a", "c"))
    assert (v.recording, v.reference) == ("", ())


@pytest.mark.parametrize("column", ["recording", "reference"])
def test_rows_of_a_list_that_say_different_things_of_it_are_refused(column: str, read) -> None:
    with pytest.raises(DataError) as caught:
        read(TsvFormat(), f"id\ttext\t{column}\nu\ta\tx\nu\tb\t\nu\tc\ty\n")
    assert str(caught.value) == (
        f"a.list:4: found another {column} than rows before it have, of list 'u'; expected the "
        "same in all rows of a list, or in one alone"
    )


@pytest.mark.parametrize(
    ("text", "said", "error", "message"),
    [
        ("u\t1\ta\nu\tb\n", {}, DataError, "a.list:2: found 2 fields between TABs; expected 3 "),
        (
            "u\t-1\ta\nu\tx\tb\n",
            {},
            DataError,
            "a.list:2: column 'c2': found 'x'; expected a number; if this is no feature, --columns "
            "gives it the name -",
        ),
        ("u\t1_0\ta\n", {"columns": ("id", "am", "text")}, DataError, "found '1_0'; expected a nu"),
        ("nothing\n", {}, DataError, "a.list:1: found no TAB; expected fields between TABs"),
        ("\t-1\ta\n", {}, DataError, "a.list:1: found an empty id; expected the name of an utt"),
        ("u\t-1\ta\nv\t-1\ta\nu\t-1\tb\n", {}, DataError, "a.list:3: found the id 'u' again after"),
        ("u\t-1\ta <s> b\n", {}, DataError, "a.list:1: found <s> within a line"),
        ("id\trank\ttext\nu\tx\ta\n", {}, DataError, "a.list:2: column 'rank': found 'x'; expecte"),
        ("id\tam:km\ttext\n", {}, DataError, "a.list:1: found the column 'am:km'; expected a unit"),
        ("id\ttext:ln\ttext\n", {}, DataError, "a.list:1: found the column 'text:ln'; expected a"),
        ("id\tam\tam:ln\ttext\n", {}, DataError, "a.list:1: found the column 'am:ln' twice"),
        ("id\t:ln\ttext\n", {}, DataError, "a.list:1: found the column ':ln' twice or without a"),
        ("id\ttext\n# end\n", {}, DataError, "a.list: found no hypothesis; expected at least one"),
        ("u\ta\n", {"columns": ("id", "am")}, ConfigError, "columns: found no column 'text' among"),
        ("u\ta\n", {"columns": ("am", "text")}, ConfigError, "columns: found no column 'id' among"),
        (b"u\t\xff\n", {}, DataError, "a.list:1: invalid UTF-8"),
        (b"u\t\0\n", {}, DataError, "a.list:1: found a NUL byte"),
    ],
)
def test_what_is_no_table_is_said_with_its_line(text, said, error, message, read) -> None:
    with pytest.raises(error) as caught:
        read(TsvFormat(), text, **said)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_second_score_of_ours_is_refused(read, write) -> None:
    once = write(TsvFormat(), read(TsvFormat(), "id\ttext\nu\ta\n"), scores=[(-1.0,)])
    with pytest.raises(DataError, match="a.list:2: found a feature 'charlm' already; expected non"):
        write(TsvFormat(), read(TsvFormat(), once), scores=[(-1.0,)])


def test_nothing_but_an_empty_file_has_no_lists(read) -> None:
    assert read(TsvFormat(), "") == []


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        (("u\t-1\twe know", "u\t-2\twe"), True),
        (("# a table", "", "u\twe know"), True),
        (("u\t-1\twe know", "u\twe"), False),
        (('{"id":\t"u"}',), False),
        ((), False),
    ],
)
def test_a_table_is_told_by_its_tabs(lines, claimed) -> None:
    assert TsvFormat().claims(Sample("-", lines, ())) is claimed


@pytest.mark.parametrize(
    "name", ["text", "hyp", "hypothesis", "sentence", "sent", "transcript", "word", "words", "Text"]
)
@pytest.mark.parametrize("id", ["id", "utt", "utterance", "ID"])
def test_a_header_is_no_hypothesis(read, id: str, name: str) -> None:
    (found,) = read(TsvFormat(), f"{id}\t{name}\nu1\tthe cat\n")
    assert (found.id, found.hypotheses[0].words) == ("u1", ("the", "cat"))


def test_a_column_of_numbers_of_words_is_a_feature_beside_a_text(read) -> None:
    (found,) = read(TsvFormat(), "id\twords\ttext\nu1\t2\tthe cat\n")
    assert features_of([found]) == [[{"words": 2.0}]]
    assert found.hypotheses[0].words == ("the", "cat")


@pytest.mark.parametrize("columns", [(), ("id", "-", "text")])
def test_a_first_line_that_looks_like_a_header_and_is_read_is_told(read, columns) -> None:
    notices = Notices()
    text = "item\tcondition\tsentence\n1\ta\tthe cat\n"
    found = read(TsvFormat(), text, notices=notices, columns=columns)
    assert [each.id for each in found] == ["item", "1"]
    assert notices.headings == ["a.list:1"]


def test_a_header_of_other_names_does_not_pass_for_a_row_of_features(read) -> None:
    text = "sent\thyp\tscore\n1\ta b\t-1\n1\ta c\t-2\n"
    with pytest.raises(DataError) as caught:
        read(TsvFormat(), text, columns=("id", "text", "am"))
    assert str(caught.value) == (
        "a.list:1: found names where features stand, as in a header; call its columns as "
        "--columns does (id,text,am), or begin the line with #"
    )
    found = read(TsvFormat(), f"#{text}", columns=("id", "text", "am"))
    assert features_of(found) == [[{"am": -1.0}, {"am": -2.0}]]


def test_a_hypothesis_is_not_told_to_look_like_a_header(read) -> None:
    notices = Notices()
    read(TsvFormat(), "utt1\tword\nutt2\ttext\n", notices=notices)
    assert not notices.headings


def test_a_long_bracket_that_is_no_id_is_read_at_once(read) -> None:
    began = time.perf_counter()
    (found,) = read(TsvFormat(), f"u\t({'1' * 60_000} x\n")
    assert len(found.hypotheses) == 1
    assert time.perf_counter() - began < 2  # by trying each digit in turn it took 5 s


def test_ids_behind_the_texts_as_sclite_has_them_are_no_texts(read) -> None:
    trn = "we know\t(spk-utt1)\nyes\t(spk-utt2)\n"
    with pytest.raises(DataError) as caught:
        read(TsvFormat(), trn)
    assert str(caught.value) == (
        "a.list:1: found ids alone in the last column, as '(spk-utt1)', where sclite has them; "
        "expected texts; give --format trn"
    )
    found = read(TsvFormat(), trn, columns=("text", "id"))
    assert [each.hypotheses[0].words for each in found] == [("we", "know"), ("yes",)]
    assert read(TsvFormat(), "u1\t(laughs)\n")[0].hypotheses[0].words == ("(laughs)",)


def test_a_reference_and_its_only_hypothesis_as_icefall_has_them_are_no_list(read) -> None:
    recogs = "u-0:\tref=['WE', 'KNOW']\nu-0:\thyp=['WE', 'DO']\n"
    with pytest.raises(DataError, match=r"^a\.list:1: found a reference or its only hypothesis, "):
        read(TsvFormat(), recogs)
    (found,) = read(TsvFormat(), "u\tref=[a]\nu\ta b\n")
    assert found.hypotheses[0].words == ("ref=[a]",)


def test_a_csv_row_says_so(read) -> None:
    with pytest.raises(DataError, match="found no TAB; .*; it looks like CSV: save it with TABs"):
        read(TsvFormat(), "u1,the cat\n")


def test_whole_numbers_that_do_not_count_from_0_or_1_are_a_feature(read) -> None:
    found = read(TsvFormat(), "u\t35\ta\nu\t70\tb\nv\t35\tc\n")
    assert features_of(found) == [[{"c2": 35.0}, {"c2": 70.0}], [{"c2": 35.0}]]


def test_a_column_that_the_first_list_lacks_is_filled_in_like_that_of_a_later_one(read) -> None:
    text = "id\tam\ttext\nu2\tNA\twe\nu1\t-3\twe\n"
    lists = read(TsvFormat(), text, allow_missing=True)
    assert [each.hypotheses[0].features["am"] for each in lists] == [0.0, -3.0]
