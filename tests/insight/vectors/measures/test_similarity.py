"""Spearman's rho on word pairs: by hand, by another tool, and the counts beside it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from charlm.errors import ConfigError, DataError
from charlm.insight.vectors.measures.similarity import spearman, word_similarity
from charlm.insight.vectors.run_neighbours import vectors_in
from charlm.insight.vectors.taps import Vectors
from charlm.run.stored_weights import load_run

MakeRun = Callable[..., Path]
# Cosines with a: b 0.8, c 0.6, d 0.6, e 0, f -1.
FAN = {
    "a": [1.0, 0.0],
    "b": [0.8, 0.6],
    "c": [0.6, 0.8],
    "d": [3.0, -4.0],
    "e": [0.0, 2.0],
    "f": [-1.0, 0.0],
}


def test_rho_with_ties_is_that_of_a_hand_calculation(
    run_of_vectors: MakeRun, tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\t5\na\tc\t7\na\td\t3\na\te\t3\na\tf\t1\n")
    (found,) = word_similarity(tmp_path / "pairs.tsv", model=run_of_vectors(FAN), device="cpu")
    # Ranks of scores: 4, 5, 2.5, 2.5, 1; of cosines: 5, 3.5, 3.5, 2, 1; means 3.
    # Products of deviations 2 + 1 - .25 + .5 + 4; squares 1 + 4 + .25 + .25 + 4 both times.
    assert found.rho == found.rho_known == pytest.approx(7.25 / 9.5)
    assert (found.n_pairs, found.n_known, found.n_spelled) == (5, 5, 0)
    assert (found.tap, found.file) == ("word", str(tmp_path / "pairs.tsv"))


def test_rho_is_scipys_of_the_cosines_and_words_may_be_spelled(
    tiny_run: Path, tmp_path: Path
) -> None:
    pairs = [("cat", "cats", 9), ("dog", "the", 1), ("looked", "look", 8), ("mat", "log", 4)]
    spelled = [("caat", "cat", 7), ("doggg", "looooked", 2)]
    lines = [f"{one}\t{other}\t{score}\n" for one, other, score in (*pairs, *spelled)]
    (tmp_path / "p").write_text("".join(lines))
    found = word_similarity(tmp_path / "p", model=tiny_run, at="char-cnn,highway", device="cpu")
    assert [each.tap for each in found] == ["char-cnn", "highway"]
    run = load_run(tiny_run)
    for each in found:
        cosines = []
        for one, other, _ in (*pairs, *spelled):
            x, y = vectors_in(Vectors(run), [one, other], at=each.tap).astype(float)
            cosines.append(x @ y / (x @ x * (y @ y)) ** 0.5)
        scores = [score for *_, score in (*pairs, *spelled)]
        assert (each.n_known, each.n_spelled) == (4, 2)
        assert each.rho == pytest.approx(spearmanr(cosines, scores).statistic)
        assert each.rho_known == pytest.approx(spearmanr(cosines[:4], scores[:4]).statistic)


def test_what_cannot_be_read_is_counted_and_left_out(
    run_of_vectors: MakeRun, tmp_path: Path
) -> None:
    pairs = "a\tb\t9\na\tzebra\t1\na\tdigital camera\t2\na\tc\t5\na\tf\t0\n"
    (tmp_path / "p").write_text(pairs)
    (found,) = word_similarity(tmp_path / "p", model=run_of_vectors(FAN), device="cpu")
    assert (found.n_pairs, found.n_known, found.n_spelled, found.rho) == (5, 3, 0, 1.0)


def test_two_different_scores_are_enough() -> None:
    assert spearman(np.array([0, 1, 1]), np.array([2, 3, 3])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "pairs", ["a b 1\na c 2\n", "a b 1\na c 1\na e 1\n", "a c 1\na d 2\na c 3\n"]
)
def test_two_pairs_or_all_of_one_score_have_no_rho(
    run_of_vectors: MakeRun, tmp_path: Path, pairs: str
) -> None:
    (tmp_path / "p").write_text(pairs)
    (found,) = word_similarity(tmp_path / "p", model=run_of_vectors(FAN), device="cpu")
    assert found.rho is None
    assert found.to_dict()["rho"] is None


@pytest.mark.parametrize(
    "text",
    [
        "# Rubenstein (1965)\n# IRR .85\nword1\tword2\tsimilarity\na\tb\t3\na\tc\t2\na\tf\t1\n",
        "a b 3\na  c 2\n\na f 1\n",
        "Word1\tWord2\tScore\tpos\r\na\tb\t3\tn\r\na\tc\t2e0\tn\r\na\tf\t-1\tn\r\n",
    ],
)
def test_headings_comments_blanks_and_further_columns_are_read_over(
    run_of_vectors: MakeRun, tmp_path: Path, text: str
) -> None:
    (tmp_path / "p").write_bytes(text.encode())
    (found,) = word_similarity(tmp_path / "p", model=run_of_vectors(FAN), device="cpu")
    assert (found.n_pairs, found.n_known, found.rho) == (3, 3, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", "p:1: found 'a\\tb'; expected word, word, score"),
        ("a b 1\na c high\n", "p:2: found 'high'; expected word, word, score"),
        ("a b 1\na c 1_0\n", "p:2: found '1_0'; expected word, word, score"),
        ("one two three\nanother two three\n", "p:2: found 'three'; expected word, word, score"),
        ("a b nan\na c nan\n", "p:2: found 'nan'; expected word, word, score"),
        ("# nothing\n", "p: no pair in it; expected word, word, score a line"),
    ],
)
def test_a_file_of_another_format_is_one_line(
    run_of_vectors: MakeRun, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(DataError) as caught:
        word_similarity(tmp_path / "p", model=run_of_vectors(FAN), device="cpu")
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_a_tap_of_one_number_has_no_cosines(run_of_vectors: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "p").write_text("a b 1\n")
    run = run_of_vectors({"a": [1.0], "b": [2.0]})
    with pytest.raises(ConfigError, match="^at: 'word' is one number a form, which has no direc"):
        word_similarity(tmp_path / "p", model=run, device="cpu")
