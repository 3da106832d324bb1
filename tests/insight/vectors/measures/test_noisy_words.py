"""Noisy words among hand-made neighbours: what is found, counted and refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError
from charlm.insight.vectors.measures.noisy_words import text_normalisation

MakeRun = Callable[..., Path]
# Seen from teh the order is the, x1, x2, ..., x9, and at last far.
FAN = {
    "teh": [1.0, 0.0],
    "the": [1.0, 0.05],
    **{f"x{n}": [1.0, 0.1 * n] for n in range(1, 10)},
    "far": [0.0, 1.0],
}


def test_ranks_are_counted_among_the_other_words(run_of_vectors: MakeRun, tmp_path: Path) -> None:
    lines = ["teh\tthe", "teh\tx4", "teh\tx5", "teh\tx9", "teh\tfar"]
    (tmp_path / "n.tsv").write_text("\n".join(lines) + "\n")
    (found,) = text_normalisation(tmp_path / "n.tsv", model=run_of_vectors(FAN), device="cpu")
    # By rank: the 1, x4 5, x5 6, x9 10, far 11.
    assert found.found == {1: 1, 5: 2, 10: 4}
    assert found.accuracy == {1: 0.2, 5: 0.4, 10: 0.8}
    assert found.to_dict() == {
        "file": str(tmp_path / "n.tsv"),
        "at": "word",
        "n_pairs": 5,
        "n_same": 0,
        "n_outside": 0,
        "n_asked": 5,
        "n_unread": 0,
        "accuracy@1": 0.2,
        "accuracy@5": 0.4,
        "accuracy@10": 0.8,
    }


def test_every_pair_is_counted_as_one_thing(run_of_vectors: MakeRun, tmp_path: Path) -> None:
    lines = [
        "# noisy and normal",
        "# noisy\tnormal",
        "#the\tthe",  # not a comment, but unread
        "teh\tthe",
        "lol\tlaughing out loud",  # outside: not a single word
        "teh\tzebra",  # outside
        "teh\t<unk>",  # outside: not a written form
        "Teh\tteh",  # the same in lower case
        "thhe\tthe",  # this model does not read spellings
        "t he\tthe",  # nor is that one word
    ]
    (tmp_path / "n").write_text("\n".join(lines) + "\n\n")
    (found,) = text_normalisation(
        tmp_path / "n", model=run_of_vectors(FAN), lower=True, device="cpu"
    )
    counts = (found.n_pairs, found.n_same, found.n_outside, found.n_asked, found.n_unread)
    assert counts == (8, 1, 3, 4, 3)
    assert found.accuracy == {1: 1 / 4, 5: 1 / 4, 10: 1 / 4}


def test_noisy_words_are_read_by_their_spelling_at_each_tap(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "n").write_text("caat\tcat\nlooooked\tlooked\nmatt\tmat\n")
    found = text_normalisation(tmp_path / "n", model=tiny_run, at="char-cnn,output", device="cpu")
    near = charlm.neighbours(
        ["caat", "looooked", "matt"], model=tiny_run, k=5, at="char-cnn", device="cpu"
    )
    words = [[each.word for each in hood.nearest] for hood in near]
    right = sum(n in found for n, found in zip(["cat", "looked", "mat"], words, strict=True))
    assert found[0].found[5] == right
    assert (found[0].n_asked, found[0].n_unread) == (3, 0)
    assert (found[1].tap, found[1].n_asked, found[1].n_unread) == ("output", 3, 3)
    assert found[1].accuracy == {1: 0, 5: 0, 10: 0}


def test_nothing_asked_has_no_accuracy(run_of_vectors: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "n").write_text("teh\tzebra\n")
    (found,) = text_normalisation(tmp_path / "n", model=run_of_vectors(FAN), device="cpu")
    assert found.accuracy == {1: None, 5: None, 10: None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("teh\tthe\nteh the\n", "n:2: found 'teh the'; expected noisy TAB normal"),
        ("a\tb\tc\n", "n:1: found 'a\\tb\\tc'; expected noisy TAB normal"),
        ("teh\t\n", "n:1: found 'teh\\t'; expected noisy TAB normal"),
        ("\n", "n: no pair in it; expected noisy TAB normal, a pair a line"),
    ],
)
def test_a_file_of_another_format_is_one_line(
    run_of_vectors: MakeRun, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "n").write_text(text)
    with pytest.raises(DataError) as caught:
        text_normalisation(tmp_path / "n", model=run_of_vectors(FAN), device="cpu")
    assert str(caught.value) == f"{tmp_path}/{message}"
