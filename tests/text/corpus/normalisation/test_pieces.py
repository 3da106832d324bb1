"""Words that are made of pieces, by hand, and against a segmentation that is undone."""

import random

import pytest

from charlm.text.corpus.normalisation.pieces import BOUNDARIES, is_piece, joined, n_pieces


@pytest.mark.parametrize(
    ("mark", "pieces", "words"),
    [
        ("@@", "wir bei@@ d@@ en gehen", "wir beiden gehen"),
        ("@@", "bei@@", "bei"),  # an end that was cut off
        ("@@", "@@ bei @@", "@@ bei @@"),
        ("##", "play ##ing ##s now", "playings now"),
        ("##", "##ing now", "ing now"),
        ("+", "koulu+ +ssa on", "koulussa on"),  # marked on both sides
        ("+", "koulu +ssa on", "koulussa on"),
        ("+", "koulu+ ssa 2 + 2 +", "koulussa 2 + 2 +"),
        ("+", "a +b+ c", "abc"),
        ("\uffed", "don \uffed' \uffedt stop", "don't stop"),
        ("\u2581", "\u2581wir \u2581bei de n", "wir beiden"),
        ("\u2581", "\u2581 wir\u2581 \u2581bei", "wir bei"),
        ("\u2581", "wir gehen", "wir gehen"),  # a reference in words
        ("<w>", "<w> koulu ssa <w> on <w>", "koulussa on"),
        ("\u2581", "\u2581caf\u00e9\u00a0 x", "caf\u00e9\u00a0x"),
        ("@@", "", ""),
    ],
)
def test_pieces_become_words(mark: str, pieces: str, words: str) -> None:
    assert " ".join(joined([piece for piece in pieces.split(" ") if piece], mark)) == words


@pytest.mark.parametrize("mark", ["@@", "##", "+", *BOUNDARIES])
def test_a_segmentation_is_undone(mark: str) -> None:
    draw = random.Random(5)
    words = ["".join(draw.choices("abc", k=draw.randint(1, 6))) for _ in range(50)]
    pieces: list[str] = []
    for word in words:
        cuts = sorted(draw.sample(range(1, len(word)), draw.randint(0, len(word) - 1)))
        parts = [word[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        if mark == "<w>":
            pieces += [*parts, mark]
        elif mark in BOUNDARIES:
            pieces += [mark + parts[0], *parts[1:]]
        elif mark == "@@":
            pieces += [*(part + mark for part in parts[:-1]), parts[-1]]
        else:
            pieces += [parts[0], *(mark + part for part in parts[1:])]
    assert joined(pieces, mark) == words
    assert joined(words, mark) == words


def test_marked_pieces_are_told() -> None:
    assert n_pieces("wir bei@@ de \u2581ein \uffedt @@ a") == 3
    assert [is_piece(word) for word in ("bei@@", "@@", "koulu+", "\u2581")] == [
        True,
        False,
        False,
        True,
    ]
