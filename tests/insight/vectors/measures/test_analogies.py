"""Analogies among hand-made vectors, and files of questions."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.insight.vectors.measures.analogies import (
    AnswerCounts,
    analogy,
    analogy_accuracy,
    parse_expression,
)
from charlm.text.corpus.normalisation.normalisation import Normalisation

MakeRun = Callable[..., Path]
# First number: royal; second: female; third: neither.
COURT = {
    "king": [1.0, 0.0, 0.2],
    "queen": [1.0, 1.0, 0.2],
    "man": [0.0, 0.0, 1.0],
    "woman": [0.0, 1.0, 1.0],
    "dog": [0.0, 0.0, -1.0],
}


def test_king_less_man_plus_woman_is_queen_and_none_of_the_three(run_of_vectors: MakeRun) -> None:
    (found,) = analogy("king - man + woman", model=run_of_vectors(COURT), k=9, device="cpu")
    assert found.expression == "king - man + woman"
    assert found.tap == "word"
    assert [near.word for near in found.nearest] == ["queen", "dog"]
    # Units: king (1, 0, .2)/1.0198, man (0, 0, 1), woman (0, 1, 1)/1.4142.
    x, y, z = 0.980581, 0.707107, 0.196116 - 1 + 0.707107
    length = math.sqrt(x * x + y * y + z * z) * math.sqrt(1 + 1 + 0.04)
    assert found.nearest[0].similarity == pytest.approx((x + y + 0.2 * z) / length, abs=2e-6)


def test_the_length_of_a_vector_has_no_weight_in_a_sum(run_of_vectors: MakeRun) -> None:
    court = run_of_vectors(COURT)
    longer = {**COURT, "man": [0.0, 0.0, 50.0]}
    expected = analogy("king - man + woman", model=court, device="cpu")
    assert analogy("king - man + woman", model=run_of_vectors(longer), device="cpu") == expected


def test_an_analogy_is_answered_at_every_tap_that_is_asked(tiny_run: Path) -> None:
    found = analogy("cats - cat + dog", model=tiny_run, k=1, at="char-cnn,highway", device="cpu")
    assert [each.tap for each in found] == ["char-cnn", "highway"]
    (spelled,) = analogy("c-t + caat", model=tiny_run, k=1, device="cpu")
    assert [(t.sign, t.form, t.is_known) for t in spelled.terms] == [
        (1, "c-t", False),
        (1, "caat", False),
    ]
    assert spelled.to_dict()["analogy"] == "c-t + caat"


def test_a_hyphen_within_a_word_is_no_sign() -> None:
    assert parse_expression("computer-aided + x-ray") == [(1, "computer-aided"), (1, "x-ray")]
    assert parse_expression(" - man  + king ") == [(-1, "man"), (1, "king")]
    assert parse_expression("new\xa0york - a") == [(1, "new\xa0york"), (-1, "a")]


@pytest.mark.parametrize("expression", ["", "king", "king man", "king - ", "king -man", "+ + +"])
def test_what_is_no_sum_is_one_line(expression: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_expression(expression)
    assert str(caught.value) == (
        f"analogy {expression!r}: expected words with + or - between them, blanks around the "
        "signs, such as 'king - man + woman'"
    )


QUESTIONS = """\
: family
man king woman queen
king man queen woman
king queen man dog

: far away
man king woman emperor
man king lady queen
"""


def test_questions_are_counted_by_section_and_coverage(
    run_of_vectors: MakeRun, tmp_path: Path
) -> None:
    (tmp_path / "questions").write_text(QUESTIONS)
    (score,) = analogy_accuracy(tmp_path / "questions", model=run_of_vectors(COURT), device="cpu")
    assert score.sections == (AnswerCounts("family", 3, 3, 2), AnswerCounts("far away", 2))
    assert score.total == AnswerCounts("total", 5, 3, 2)
    assert score.total.accuracy_known == score.total.accuracy == 2 / 3
    assert score.sections[1].accuracy is None
    spelled = AnswerCounts("", 9, n_known=4, n_known_right=3, n_spelled=2, n_spelled_right=1)
    assert (spelled.accuracy_known, spelled.accuracy) == (3 / 4, 4 / 6)
    assert score.to_dict()["total"] == {
        "section": "total",
        "n_questions": 5,
        "n_known": 3,
        "n_known_right": 2,
        "n_spelled": 0,
        "n_spelled_right": 0,
        "accuracy_known": 2 / 3,
        "accuracy": 2 / 3,
    }


def test_words_outside_the_vocabulary_are_asked_by_spelling_but_never_answered(
    tiny_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "q").write_text("caat cat dog log\ncat dog log caat\ncat dog log 東京\n")
    (score,) = analogy_accuracy(tmp_path / "q", model=tiny_run, device="cpu")
    (asked,) = analogy("cat - caat + dog", model=tiny_run, k=1, device="cpu")
    right = int(asked.nearest[0].word == "log")
    assert score.total == AnswerCounts("total", 3, 0, 0, 1, right)


def test_the_other_layout_has_tabs_sections_and_a_heading(
    run_of_vectors: MakeRun, tmp_path: Path
) -> None:
    text = "# A Paper (2016)\na1\ta2\tb1\tb2\n# opposites\nman\tking\twoman\tqueen\n"
    (tmp_path / "q.tsv").write_text(text)
    (score,) = analogy_accuracy([tmp_path / "q.tsv"], model=run_of_vectors(COURT), device="cpu")
    assert score.sections == (AnswerCounts("opposites", 1, 1, 1),)


def test_upper_case_is_read_as_lower_where_asked(run_of_vectors: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "q").write_text("Man King Woman Queen\n")
    run = run_of_vectors(COURT)
    (as_is,) = analogy_accuracy(tmp_path / "q", model=run, device="cpu")
    (lower,) = analogy_accuracy(tmp_path / "q", model=run, lower=True, device="cpu")
    assert (as_is.total.n_known, lower.total.n_known) == (0, 1)
    folding = run_of_vectors(COURT, name="folding", normalisation=Normalisation(lower=True))
    (folded,) = analogy_accuracy(tmp_path / "q", model=folding, device="cpu")
    assert folded.total == lower.total


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\na b c\n", "q:2: found 3 words; expected four words, or : section"),
        (": family\n", "q: no question in it; expected four words a line"),
    ],
)
def test_a_file_of_another_format_is_one_line(
    run_of_vectors: MakeRun, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(DataError) as caught:
        analogy_accuracy(tmp_path / "q", model=run_of_vectors(COURT), device="cpu")
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_no_file_is_one_line() -> None:
    with pytest.raises(ConfigError, match="^files: found none; expected at least one$"):
        analogy_accuracy([])
