"""Lists of translation systems; those of real systems lack the blank after the id."""

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.moses import MosesFormat
from charlm.nbest.ranking.features import feature_table
from charlm.nbest.reading.format import Sample

MARIAN = "0 ||| das ist ||| 0-0 1-1 ||| WordScores= -0.5 -0.1 ||| F0= -0.6 ||| -0.3\n"
OLD = "0 ||| das ist ein haus ||| d: 0 -5.56 lm: -36.1 w: -7 ||| -9.2298 ||| 0-0 1-1\n"
NEW = "2||| ok  ||| LM0= -33.0 w= -6 ||| -9.9001\n"


def test_a_label_owns_all_numbers_up_to_the_next(read) -> None:
    (found,) = read(MosesFormat(), OLD)
    assert found.id == "0"
    assert found.hypotheses[0].words == ("das", "ist", "ein", "haus")
    assert found.hypotheses[0].features == {
        "d_1": 0.0,
        "d_2": -5.56,
        "lm": -36.1,
        "w": -7.0,
        "total": -9.2298,
    }


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("F0= -1.23", {"F0": -1.23}),
        ("tm_pt_0=-3 lm_0=-12.5", {"tm_pt_0": -3.0, "lm_0": -12.5}),
        ("-1 ||| -2", {"f_1": -1.0, "total": -2.0}),
        ("-1 -2", {"f_1": -1.0, "f_2": -2.0}),
        ("swd_a=b= 1", {"swd_a=b": 1.0}),
        ("", {}),
    ],
)
def test_labels_are_written_in_several_ways(features, expected, read) -> None:
    (found,) = read(MosesFormat(), f"0 ||| ok ||| {features}\n")
    assert found.hypotheses[0].features == expected


@pytest.mark.parametrize(
    ("line", "scored"),
    [
        (OLD, OLD.replace("w: -7", "w: -7 charlm: -1.500000")),
        (NEW, NEW.replace("w= -6", "w= -6 charlm= -1.500000")),
        ("0 |||  ||| F0= 1 ||| 2\r\n", "0 |||  ||| F0= 1 charlm= -1.500000 ||| 2\r\n"),
        ("0 ||| a |||  ||| 2", "0 ||| a ||| charlm= -1.500000  ||| 2"),
        ("0 ||| a ||| F0= 1", "0 ||| a ||| F0= 1 charlm= -1.500000"),
        ("0 ||| a ||| tm_0=-3 lm_0=1 ||| 2", "0 ||| a ||| tm_0=-3 lm_0=1 charlm=-1.500000 ||| 2"),
        ("0 ||| a ||| swd_a=b= 1 ||| 2", "0 ||| a ||| swd_a=b= 1 charlm= -1.500000 ||| 2"),
        ("0 ||| a ||| d: 0 -5.5 w=-7 ||| 2", "0 ||| a ||| d: 0 -5.5 w=-7 charlm: -1.500000 ||| 2"),
    ],
)
def test_the_score_is_the_last_feature_labelled_like_the_others(line, scored, read, write) -> None:
    found = read(MosesFormat(), line)
    assert write(MosesFormat(), found, scores=[(-1.5,)]) == scored
    (again,) = read(MosesFormat(), scored)
    assert again.hypotheses[0].features["charlm"] == -1.5
    assert again.hypotheses[0].words == found[0].hypotheses[0].words


@pytest.mark.parametrize(
    "between", ["0-0 1-1 |||", "WordScores= -0.5 -0.1 |||", "0.1,0.9 0.2,0.8 |||", "1 |||", "|||"]
)
def test_what_marian_writes_before_the_features_is_kept_and_not_read(between, read, write) -> None:
    line = f"0 ||| das ist ||| {between} F0= -0.6 ||| -0.3\n"
    found = read(MosesFormat(), line)
    assert found[0].hypotheses[0].words == ("das", "ist")
    assert found[0].hypotheses[0].features == {"F0": -0.6, "total": -0.3}
    scored = write(MosesFormat(), found, scores=[(-1.5,)])
    assert scored == line.replace("F0= -0.6", "F0= -0.6 charlm= -1.500000")


@pytest.mark.parametrize("line", ["0 ||| a ||| -1.5", "0 ||| a |||  ||| -1.5"])
def test_a_number_alone_behind_the_words_is_the_total(line, read, write) -> None:
    found = read(MosesFormat(), line)
    assert found[0].hypotheses[0].features == {"total": -1.5}
    assert write(MosesFormat(), found) == line
    (again,) = read(MosesFormat(), write(MosesFormat(), found, scores=[(-2.0,)]))
    assert again.hypotheses[0].features == {"total": -1.5, "charlm": -2.0}


def test_a_feature_that_only_some_hypotheses_have_is_0_in_the_others(read, write) -> None:
    text = (
        "0 ||| a ||| lm=-1 pp_a=1 ||| -2\n0 ||| b ||| lm=-1 pp_b=2 ||| -3\n1 ||| c ||| lm=0 ||| 0\n"
    )
    first, second = found = read(MosesFormat(), text)
    assert [each.features for each in first.hypotheses] == [
        {"lm": -1.0, "pp_a": 1.0, "pp_b": 0.0, "total": -2.0},
        {"lm": -1.0, "pp_a": 0.0, "pp_b": 2.0, "total": -3.0},
    ]
    assert second.hypotheses[0].features == {"lm": 0.0, "total": 0.0}
    assert write(MosesFormat(), found) == text


def test_a_score_that_only_some_hypotheses_have_is_not_0_in_the_others(read) -> None:
    text = "0 ||| a ||| lm=-1 charlm=-3 ||| -2\n0 ||| b ||| lm=-1\n"
    (found,) = read(MosesFormat(), text)
    assert found.hypotheses[1].features == {"lm": -1.0}
    with pytest.raises(DataError, match=r"^a\.list:2: no feature 'charlm', which others of list"):
        feature_table(found)


def test_blank_lines_mean_nothing_and_are_kept(read, write) -> None:
    text = OLD + "\n" + NEW + " \n"
    found = read(MosesFormat(), text)
    assert [each.id for each in found] == ["0", "2"]
    assert write(MosesFormat(), found) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 ||| ok\n", "a.list:1: found 2 fields between '|||'; expected at least 3"),
        (" ||| ok ||| F0= 1\n", "a.list:1: found no id before the first '|||'; expected a number"),
        ("0 ||| ok ||| F0= x\n", "a.list:1: feature 'F0': found 'x'; expected a number"),
        ("0 ||| ok ||| F0= 1 |||  ||| 2\n", "a.list:1: feature 'total': found ''; expected a num"),
        ("0 ||| ok ||| F0= 1 ||| x\n", "a.list:1: feature 'total': found 'x'; expected a num"),
        ("0 ||| ok ||| d= 1 w= 2 d= 3\n", "a.list:1: found the label 'd' twice; expected each onc"),
        ("0 ||| a ||| total= 1 ||| 2\n", "a.list:1: found the feature 'total' twice; expected"),
        ("0 ||| a ||| b c ||| f= 1 ||| 2\n", "a.list:1: found 'b' between the words and the featu"),
    ],
)
def test_what_is_no_such_line_is_said_with_its_place(text, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(MosesFormat(), text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        ((OLD[:-1], NEW[:-1]), True),
        ((MARIAN[:-1],), True),
        (("1462 ||| 0 ||| a reference ||| a hypothesis",), False),
        (("u ||| ok ||| F0= 1 ||| 1",), False),
        (("0 ||| ok",), False),
        ((), False),
    ],
)
def test_a_list_is_told_by_bars_numbers_and_labels(lines, claimed) -> None:
    assert MosesFormat().claims(Sample("-", lines, ())) is claimed
