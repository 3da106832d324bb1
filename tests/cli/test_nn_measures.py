"""The output of `charlm nn` for files that measure vectors, and for neighbours' spelling."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.cli.printing import output
from charlm.insight.vectors.measures import analogies, noisy_words, similarity, spelling_distance
from charlm.insight.vectors.measures.analogies import AnalogyScore, AnswerCounts
from charlm.insight.vectors.measures.noisy_words import NormalisationScore
from charlm.insight.vectors.measures.similarity import Similarity
from charlm.insight.vectors.measures.spelling_distance import SpellingDistance

ANALOGIES = """\
q.txt at highway
section        questions  known  right  share  spelled  right  share
family                10      4      1  25.0%        3      0   0.0%
capital-world          2      0      0      -        0      0      -
total                 12      4      1  25.0%        3      0   0.0%
"""
SIMILARITIES = """\
file   at        pairs  known     rho  spelled  rho of both
a.tsv  char-cnn     65     10  -0.467       55        0.000
b.tsv  char-cnn      2      2       -        0            -
"""
NORMALISATIONS = """\
file  at       pairs  outside  same  asked  unread     @1     @5     @10
n     highway    100       40    10     50       5  50.0%  80.0%  100.0%
"""
DISTANCES = """\
at        edit distance  of the longer word
char-cnn           2.62               37.2%
highway            3.60               51.1%
"""


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["nn", "--model", "toy", *arguments])


def test_analogies_stand_by_section(monkeypatch: pytest.MonkeyPatch) -> None:
    sections = (AnswerCounts("family", 10, 4, 1, 3, 0), AnswerCounts("capital world", 2))
    score = AnalogyScore("q.txt", "highway", sections)
    monkeypatch.setattr(analogies, "analogy_accuracy", lambda *_, **__: (score,))
    result = ask("--analogies", "q.txt")
    assert (result.exit_code, result.stdout) == (0, ANALOGIES)
    assert result.stderr.startswith("known: all four words in the vocabulary; spelled: ")


def test_similarities_stand_a_file_and_tap_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    results = (
        Similarity("a.tsv", "char-cnn", 65, 10, 55, -0.4667, -0.0004),
        Similarity("b.tsv", "char-cnn", 2, 2, 0, None, None),
    )
    monkeypatch.setattr(similarity, "word_similarity", lambda *_, **__: results)
    assert ask("--similarity", "a.tsv", "b.tsv").stdout == SIMILARITIES


def test_each_part_of_a_table_says_which_file_and_tap(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [Similarity("a", tap, 65, 10, 55, -0.4667, -0.0004) for tap in ("word", "output")]
    monkeypatch.setattr(similarity, "word_similarity", lambda *_, **__: results)
    monkeypatch.setattr(output, "terminal_width", lambda: 40)
    parts = ask("--similarity", "a").stdout.split("\n\n")
    assert len(parts) == 2
    for part in parts:
        assert [line.split()[:2] for line in part.splitlines()[1:]] == [
            ["a", "word"],
            ["a", "output"],
        ]


def test_normalisations_show_what_accuracy_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    score = NormalisationScore("n", "highway", 100, 10, 40, 50, 5, {1: 25, 5: 40, 10: 50})
    monkeypatch.setattr(noisy_words, "text_normalisation", lambda *_, **__: (score,))
    result = ask("--normalise", "n")
    assert result.stdout == NORMALISATIONS
    assert "unread ones count as wrong" in result.stderr


def test_edit_distances_stand_a_tap_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    results = (
        SpellingDistance("char-cnn", 1000, 10, 2.6184, 0.3722),
        SpellingDistance("highway", 1000, 10, 3.5999, 0.5108),
    )
    monkeypatch.setattr(spelling_distance, "spelling_distance", lambda *_, **__: results)
    result = ask("--edit-distance", "1000")
    assert result.stdout == DISTANCES
    assert result.stderr == (
        "the 1,000 most frequent words of letters alone, the 10 nearest of each\n"
    )


@pytest.fixture
def here(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_run, "toy")
    (tmp_path / "pairs.tsv").write_text("cat\tcats\t9\ndog\tlog\t3\nthe\tmat\t1\n")
    (tmp_path / "more.tsv").write_text("CAT\tcats\t9\n")
    (tmp_path / "noisy").write_text("caat\tcat\n")
    (tmp_path / "questions").write_text("cat cats dog dogs\n")
    return tmp_path


def test_files_may_follow_an_option_as_a_shell_gives_them(here: Path) -> None:
    result = ask("--similarity", "pairs.tsv", "more.tsv", "--lower", "--device", "cpu", "--json")
    value = json.loads(result.stdout)
    expected = similarity.word_similarity(
        ["pairs.tsv", "more.tsv"], model="toy", lower=True, device="cpu"
    )
    assert value == {"model": "toy", "similarity": [each.to_dict() for each in expected]}
    assert [each.n_known for each in expected] == [3, 1]


@pytest.mark.parametrize(
    ("arguments", "name", "n_results"),
    [
        (["--analogies", "questions", "--at", "char-cnn,highway"], "analogies", 2),
        (["--normalise", "noisy"], "normalise", 1),
        (["--edit-distance", "5", "-k", "2"], "edit_distance", 3),
    ],
)
def test_every_measure_is_one_json_object_of_a_trained_run(
    here: Path, arguments: list[str], name: str, n_results: int
) -> None:
    result = ask(*arguments, "--device", "cpu", "--json")
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    assert (list(value), len(value[name])) == (["model", name], n_results)
