"""Decipher's lists in their two versions."""

from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.nbestlist import NbestList1Format, NbestList2Format
from charlm.nbest.reading.format import Sample, Source

LN10 = 2.302585092994046
BYTELOG = 10000.5 / 1024  # of a nat
ONE = "NBestList1.0\n(-15234) i think so too\n(-15310)\n"
WORD = "i ( st: 0.10 et: 0.18 g: -120 a: -3450 )"
PHONE = "ay[i] ( st: 0.10 et: 0.18 g: 0 a: -3450 )"
STATE = "ay-1 ( st: 0.40 et: 0.42 g: 0 a: -50 )"
THINK = "think ( st: 0.19 et: 0.35 g: -92 a: -4211 )"
TWO = f"NBestList2.0\r\n(-7873) {WORD} {PHONE} {STATE} {THINK}\r\n(0)"


def test_version_1_holds_a_total_in_bytelogs(read) -> None:
    (found,) = read(NbestList1Format(), ONE)
    assert [h.words for h in found.hypotheses] == [("i", "think", "so", "too"), ()]
    totals = [hypothesis.features["total"] for hypothesis in found.hypotheses]
    assert totals == pytest.approx([-15234 / BYTELOG, -15310 / BYTELOG])
    assert found.hypotheses[0].place == "a.list:2"


def test_version_1_may_lack_its_header(read, write) -> None:
    found = read(NbestList1Format(), "(-1) yes\n")
    assert found[0].hypotheses[0].words == ("yes",)
    assert write(NbestList1Format(), found) == "(-1) yes\n"


def test_version_2_leaves_phones_and_states_out(read) -> None:
    (found,) = read(NbestList2Format(), TWO)
    assert [h.words for h in found.hypotheses] == [("i", "think"), ()]
    assert found.hypotheses[0].features == {
        "total": pytest.approx(-7873 / BYTELOG),
        "am": pytest.approx(-(3450 + 4211) / BYTELOG),
        "old_lm": pytest.approx(-(120 + 92) / BYTELOG),
    }


def test_a_word_may_begin_when_the_one_before_it_ends(read) -> None:
    think = THINK.replace("0.19", "0.18")
    (found,) = read(NbestList2Format(), f"NBestList2.0\n(-7873) {WORD} {PHONE} {think}\n")
    (hypothesis,) = found.hypotheses
    assert hypothesis.words == ("i", "think")
    assert hypothesis.features["am"] == pytest.approx(-(3450 + 4211) / BYTELOG)


@pytest.mark.parametrize(
    ("reader", "text"), [(NbestList1Format, ONE), (NbestList2Format, TWO)], ids=["1.0", "2.0"]
)
def test_lines_move_below_their_header(reader, text, read, write) -> None:
    found = read(reader(), text)
    assert write(reader(), found) == text
    header, first, second = text.replace("\r", "").split("\n")[:3]
    moved = write(reader(), found, orders=[(1, 0)])
    assert moved.replace("\r", "").split("\n")[:3] == [header, second, first]
    assert len(moved) == len(text)


def test_scores_are_a_log10_a_line_without_a_header(read, write) -> None:
    found = read(NbestList1Format(), ONE)
    scored = write(NbestList1Format(), found, scores=[(-LN10, -2 * LN10)])
    assert scored == "-1.000000\n-2.000000\n"


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (NbestList1Format, TWO, "a.list:1: found 'NBestList2.0'; expected NBestList1.0; give anot"),
        (NbestList2Format, ONE, "a.list:1: found 'NBestList1.0'; expected NBestList2.0; give anot"),
        (NbestList1Format, "NBestList1.0\n", "a.list: found no hypothesis; expected at least one"),
        (NbestList1Format, "yes\n", "a.list:1: found 'yes'; expected a score in parentheses and"),
        (NbestList1Format, "(x) yes\n", "a.list:1: the score: found 'x'; expected a number"),
        (NbestList1Format, "(-1) a\n\n", "a.list:2: found ''; expected a score in parentheses an"),
        (NbestList2Format, "(-1) a ( st: 1\n", "a.list:1: found 4 fields after the score; expect"),
        (
            NbestList2Format,
            f"(-1) {WORD.replace('et:', 'xt:')}\n",
            "a.list:1: found 'xt:' in the fields of 'i'; expected 'et:'",
        ),
        (NbestList2Format, f"(-1) {WORD.replace('-120', 'x')}\n", "a.list:1: 'i', g:: found 'x'; "),
    ],
)
def test_what_is_no_such_list_is_said_with_its_line(reader, text, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(reader(), text)
    assert message in str(caught.value)


def test_a_file_with_a_header_alone_is_refused_or_left_out(tmp_path: Path) -> None:
    (tmp_path / "sw-1").write_text(ONE)
    (tmp_path / "sw-2").write_text("NBestList1.0\n")
    with pytest.raises(DataError, match="sw-2: found no hypothesis; expected at least one; --allo"):
        list(NbestList1Format().read(Source(tmp_path)))
    source = Source(tmp_path, allow_missing=True)
    assert [each.id for each in NbestList1Format().read(source)] == ["sw-1"]
    assert source.notices.passed_over == {"lists without a hypothesis": 1}


@pytest.mark.parametrize(
    ("lines", "one", "two"),
    [
        (("NBestList1.0", "(-1) yes"), True, False),
        (("NBestList2.0", "(-1)"), False, True),
        (("(-1) yes", "(12)"), True, False),
        (("(-1) yes", "no"), False, False),
        (("(a) yes",), False, False),
        (("-1) yes",), False, False),
        ((), False, False),
    ],
)
def test_versions_are_told_by_their_header(lines, one, two) -> None:
    sample = Sample("-", lines, ())
    assert (NbestList1Format().claims(sample), NbestList2Format().claims(sample)) == (one, two)
