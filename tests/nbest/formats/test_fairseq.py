"""The output of fairseq-generate and fairseq-interactive as lists."""

import math

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.fairseq import FairseqFormat

LN2 = 0.6931471805599453
SECOND = "H-12\t-0.5\t▁we\nD-12\t-0.5\twe\nP-12\t-0.4000 -0.6000\nA-12\t0-0\n"
FIRST = "H-12\t-0.25\t▁we ▁know\nD-12\t-0.25\twe know\nP-12\t-0.1000 -0.2000 -0.4500\n"
LOG = "Namespace(beam=2)\n| loading\n2022-05-05 10:00:00 | INFO | fairseq_cli.generate | loading\n"
ABOVE = f"{LOG}S-12\t▁wir\nT-12\twe know\n"
BELOW = "S-3\t▁ja\nT-3\tyes\nH-3\t-2\t\nD-3\t-2\t\nP-3\t-2.0000\nGenerate test with beam=2: BLEU4\n"
WHOLE = ABOVE + FIRST + SECOND + BELOW


def test_words_are_those_of_d_and_scores_are_log2(read) -> None:
    first, second = read(FairseqFormat(), WHOLE)
    assert (first.id, first.reference) == ("12", ("we", "know"))
    assert [each.words for each in first.hypotheses] == [("we", "know"), ("we",)]
    assert [each.features for each in first.hypotheses] == [
        {"score": pytest.approx(-0.25 * LN2)},
        {"score": pytest.approx(-0.5 * LN2)},
    ]
    assert (second.id, second.reference, second.hypotheses[0].words) == ("3", ("yes",), ())


@pytest.mark.parametrize(("penalty", "factors"), [(1.0, (3, 2)), (0.5, (3**0.5, 2**0.5))])
def test_a_length_penalty_is_undone_by_the_tokens_of_p(penalty, factors, read) -> None:
    first, _ = read(FairseqFormat(), WHOLE, length_penalty=penalty)
    assert [each.features["score"] for each in first.hypotheses] == pytest.approx(
        [-0.25 * LN2 * factors[0], -0.5 * LN2 * factors[1]]
    )


def test_what_interactive_prints_is_read_and_lines_h_alone(read) -> None:
    said = "S-0\twir\nW-0\t0.123\tseconds\nC-0\tx\nH-0\t-1\twe\nD-0\t-1\twe\nP-0\t-1.0 -1.0\n"
    for text in (said, "H-0\t-1\twe\n", "D-0\t-1\twe\n"):
        (found,) = read(FairseqFormat(), text)
        assert [each.words for each in found.hypotheses] == [("we",)]


def test_steps_of_a_refinement_are_of_their_hypothesis(read) -> None:
    steps = "H-0\t-1\ta\nD-0\t-1\ta\nI-0\t2\nE-0_0\tx\nE-0_1\ta\n"
    (found,) = read(FairseqFormat(), steps + steps.replace("\ta", "\tb"))
    assert [each.words for each in found.hypotheses] == [("a",), ("b",)]


def test_all_lines_of_a_hypothesis_move_together_and_others_stay(read, write) -> None:
    found = read(FairseqFormat(), WHOLE)
    assert write(FairseqFormat(), found) == WHOLE
    ranked = write(FairseqFormat(), found, scores=[(-3.0, -1.0), (0.0,)], orders=[(1, 0), (0,)])
    assert ranked == ABOVE + SECOND + FIRST + BELOW


def test_scores_are_a_log10_a_line(read, write) -> None:
    scores = [(-3 * math.log(10), -math.log(10)), (0.0,)]
    written = write(FairseqFormat(), read(FairseqFormat(), WHOLE), scores=scores)
    assert written == "-3.000000\n-1.000000\n0.000000\n"


@pytest.mark.parametrize(
    ("text", "said", "message"),
    [
        ("H-0 -1 we\n", {}, "a.list:1: found 'H-0 -1 we'; expected a line of fairseq's"),
        ("H-0\tx\twe\n", {}, "a.list:1: the score: found 'x'; expected a number"),
        ("D-0\t-1\ta\nP-1\t-1\n", {}, "a.list:2: found P-1 without H-1 before it"),
        ("A-0\t0-0\nD-0\t-1\ta\n", {}, "a.list:1: found A-0 without H-0 before it"),
        ("H-0\t-1\ta\n", {"length_penalty": 1.0}, "a.list:1: found no numbers of a lin"),
    ],
)
def test_what_is_no_such_output_is_said_with_its_place(text, said, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(FairseqFormat(), text, **said)
    assert message in str(caught.value)


def test_a_reference_is_of_its_own_id_alone(read) -> None:
    first, second = read(FairseqFormat(), "T-0\tyes\nH-0\t-1\tja\nS-1\tno\nH-1\t-1\tnein\n")
    assert (first.reference, second.reference) == (("yes",), None)
