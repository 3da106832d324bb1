"""Principal components against hand-made ones, and maps of words and n-grams of small models."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError, DataError
from charlm.insight.encoded_pieces import character_encoder, pieces_of, shown
from charlm.insight.vectors.projection import ngram_map, principal_plane, word_map
from charlm.insight.vectors.taps import Vectors
from charlm.model.forms import Forms, FormTable
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.text.vocabulary.vocabulary import Inventory

InMemory = Callable[..., LoadedRun]

BRACES = {"{": 1, "}": 2}


@pytest.fixture
def run(tiny_run: Path) -> LoadedRun:
    return load_run(tiny_run)


def test_the_plane_of_points_on_two_axes_is_these_axes_the_longer_first() -> None:
    points = np.array([[0, 3, 1], [0, -3, 1], [1, 0, 1], [-1, 0, 1]], np.float32)
    plane = principal_plane(points)
    expected = [[3, 0], [-3, 0], [0, 1], [0, -1]]
    np.testing.assert_allclose(plane.points_N2, expected, atol=1e-12)
    assert plane.shares == pytest.approx((0.9, 0.1))  # 18 and 2 of 20


def test_the_plane_keeps_the_largest_distances_that_an_svd_keeps() -> None:
    points = np.random.default_rng(2).normal(0, 1, (30, 5)) * [5, 1, 3, 1, 1]
    _, sizes, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    plane = principal_plane(points)
    np.testing.assert_allclose(np.linalg.norm(plane.points_N2, axis=0), sizes[:2])
    assert plane.shares == pytest.approx(tuple(sizes[:2] ** 2 / (sizes**2).sum()))


def test_an_axis_points_to_where_its_largest_component_is_positive() -> None:
    points = np.array([[0.0, 0.0], [-4.0, 1.0], [-8.0, 2.0]])
    assert principal_plane(points).points_N2[:, 0].tolist() == sorted(
        principal_plane(points).points_N2[:, 0], reverse=True
    )


def test_vectors_of_one_number_lie_on_a_line() -> None:
    plane = principal_plane(np.array([[1.0], [2.0], [6.0]]))
    np.testing.assert_allclose(plane.points_N2, [[-2, 0], [-1, 0], [3, 0]])
    assert plane.shares == (1.0, 0.0)


def test_equal_vectors_lie_on_one_point() -> None:
    plane = principal_plane(np.ones((3, 4)))
    np.testing.assert_array_equal(plane.points_N2, np.zeros((3, 2)))
    assert plane.shares == (0.0, 0.0)


def test_ngrams_count_the_words_that_hold_them_and_the_marks_of_start_and_end() -> None:
    inventory = Inventory(("</s>", "<unk>", "aba", "ab", "b-b"), (1,) * 5, ("a", "b", "-"))
    counts = {shown(p, inventory): n for p, n in pieces_of(inventory, longest=2).items()}
    expected = {"a": 2, "b": 3, "-": 1, "{a": 2, "ab": 2, "ba": 1, "a}": 1, "b}": 2}
    assert counts == expected | {"{b": 1, "b-": 1, "-b": 1}


def test_a_character_that_is_too_rare_for_the_model_is_shown_as_unknown() -> None:
    inventory = Inventory(("</s>", "<unk>", "aé"), (1,) * 3, ("a",))
    ngrams = [shown(piece, inventory) for piece in pieces_of(inventory, longest=1)]
    assert sorted(ngrams) == ["a", "\N{REPLACEMENT CHARACTER}"]


def test_the_map_holds_the_ngrams_of_two_words_with_their_kinds(run: LoadedRun) -> None:
    found = ngram_map(run)
    marked = [f"{{{word}}}" for word in run.inventory.words[2:]]
    by_hand = {
        ngram: sum(ngram in word for word in marked)
        for word in marked
        for n in (1, 2, 3)  # the widest filter
        for ngram in (word[i : i + n] for i in range(len(word) - n + 1))
    }
    expected = {g: n for g, n in by_hand.items() if n >= 2 and g not in ("{", "}")}
    assert dict(zip(found.ngrams, found.n_words, strict=True)) == expected
    for ngram, kind in zip(found.ngrams, found.kinds, strict=True):
        is_prefix = ngram.startswith("{")
        assert kind == ("prefix" if is_prefix else "suffix" if ngram.endswith("}") else "other")


def test_an_ngram_with_a_hyphen_is_hyphenated_wherever_it_stands(
    run: LoadedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "charlm.insight.vectors.projection.shown", lambda piece, inventory: "-" * len(piece)
    )
    assert set(ngram_map(run).kinds) == {"hyphenated"}


def test_ngrams_lie_where_the_character_encoder_alone_puts_them(run: LoadedRun) -> None:
    found = ngram_map(run)
    letters = {c: n for n, c in enumerate(run.inventory.characters, 6)} | BRACES
    encoder = character_encoder(run)
    vectors = []
    with torch.no_grad():
        for ngram in found.ngrams:
            ids = torch.tensor([[letters[c] for c in ngram]])
            vectors.append(encoder(Forms(torch.tensor([1]), ids))[0].numpy())
    expected = principal_plane(np.stack(vectors))
    np.testing.assert_allclose(found.plane.points_N2, expected.points_N2, atol=1e-5)
    assert "highway" in Vectors(run).widths  # so the encoder's last vectors are others


def test_ngrams_of_the_most_words_come_first_and_the_rest_is_counted(
    run: LoadedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ngram_map(run)
    monkeypatch.setattr("charlm.insight.vectors.projection.MOST_NGRAMS", 10)
    cut = ngram_map(run)
    assert cut.ngrams == whole.ngrams[:10]
    assert list(whole.n_words) == sorted(whole.n_words, reverse=True)
    assert cut.n_left_out == len(whole.ngrams) - 10


def test_the_map_of_words_holds_directions_of_the_tap_asked_for(run: LoadedRun) -> None:
    found = word_map(run, at="char-cnn")
    table = FormTable(run.inventory, run.inventory.words[2:], ids=range(2, run.inventory.n_words))
    with torch.no_grad():
        taps = run.model.encoder.eval().taps(table.forms(np.arange(len(table))))
    vectors = taps["char-cnn"].numpy()
    expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(found.units_NE, expected, rtol=1e-6)
    np.testing.assert_allclose(found.plane.points_N2, principal_plane(found.units_NE).points_N2)
    assert found.words == run.inventory.words[2:]
    assert word_map(run).tap == "highway"


def test_a_tap_that_the_encoder_lacks_is_told_with_those_it_has(run: LoadedRun) -> None:
    with pytest.raises(ConfigError) as caught:
        word_map(run, at="lowway")
    expected = f"at: found 'lowway'; {run.path} has char-cnn, transform, highway; choose one"
    assert str(caught.value) == expected


def test_a_broken_model_has_no_map(run: LoadedRun) -> None:
    for parameter in run.model.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    for draw_map in (ngram_map, word_map):
        with pytest.raises(DataError, match="the model is broken: its encoder gives NaN"):
            draw_map(run)


def test_words_that_share_no_ngram_have_no_map_of_them(run: LoadedRun) -> None:
    object.__setattr__(run.inventory, "words", run.inventory.words[:3])
    with pytest.raises(ConfigError) as caught:
        ngram_map(run)
    assert str(caught.value) == (
        f"{run.path}: no character n-gram stands in two of its words; expected some; choose a run "
        "of more words"
    )


WORDS = ("</s>", "<unk>", "aab", "abab", "bab", "baab")
INVENTORY = Inventory(WORDS, (9, 8, 4, 3, 2, 1), ("a", "b"))


@pytest.mark.parametrize("has_markers", [True, False])
def test_an_encoder_without_markers_reads_every_letter_of_an_ngram(
    has_markers: bool, in_memory: InMemory
) -> None:
    small = {"dim": 3, "letter_dim": 3, "hidden_dim": 3, "markers": has_markers}
    run = in_memory(INVENTORY, {"type": "char-lstm", **small})
    found = ngram_map(run)
    letters = {"a": 6, "b": 7} | (BRACES if has_markers else {})
    encoder = character_encoder(run)
    vectors = []
    with torch.no_grad():
        for ngram in found.ngrams:
            ids = [letters[c] for c in ngram if c in letters]
            whole = torch.tensor([ids if has_markers else [1, *ids, 2]])
            vectors.append(encoder(Forms(torch.tensor([1]), whole))[0].numpy())
    expected = principal_plane(np.stack(vectors))
    np.testing.assert_allclose(found.plane.points_N2, expected.points_N2, atol=1e-5)
    places = dict(zip(found.ngrams, found.plane.points_N2.round(5).tolist(), strict=True))
    assert (places["{ba"] == places["ba"]) is not has_markers
    assert places["ab"] != places["ba"]


def test_ngrams_that_an_encoder_has_no_vector_for_are_no_points(in_memory: InMemory) -> None:
    encoder = {"type": "char-ngram", "dim": 3, "min_n": 3, "max_n": 4}
    found = ngram_map(in_memory(INVENTORY, encoder))
    assert min(map(len, found.ngrams)) == 3
