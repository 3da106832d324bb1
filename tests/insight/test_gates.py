"""Gates and filters of models whose weights are set by hand."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError, DataError
from charlm.insight.filters import filter_matches
from charlm.insight.gates import gate_profile, rank_correlation, transform_gates
from charlm.insight.vectors.projection import ngram_map
from charlm.run.stored_weights import LoadedRun
from charlm.settings import Settings
from charlm.text.vocabulary.vocabulary import Inventory

Toy = Callable[..., LoadedRun]

WORDS = ("</s>", "<unk>", "ab", "ba", "aa")
CNN = {"type": "char-cnn", "dim": 2, "widths": [1, 2], "filters": [1, 2]}
CHARS = {"type": "char-ngram", "dim": 2, "min_n": 1, "max_n": 1, "buckets": 50}


@pytest.fixture
def toy(in_memory: Toy) -> Toy:
    """A model of three words whose weights are all 0."""

    def make(encoder: Settings) -> LoadedRun:
        run = in_memory(Inventory(WORDS, (9, 4, 3, 2, 1), ("a", "b")), encoder)
        for parameter in run.model.parameters():
            torch.nn.init.zeros_(parameter)
        return run

    return make


def weights(run: LoadedRun, name: str) -> torch.Tensor:
    return run.model.get_parameter(f"encoder.{name}").data


def test_the_transform_gate_of_closed_and_open_dimensions_is_counted_in_bins(toy: Toy) -> None:
    run = toy({"type": "highway", "encoder": {"type": "word", "dim": 2}, "layers": 1})
    weights(run, "encoder.table.weight")[2:, 0] = torch.tensor([-1.0, 0.0, 1.0])
    weights(run, "layers.0.gate.weight")[0, 0] = 100  # sigmoid of -102, -2, 98
    weights(run, "layers.0.gate.bias")[1] = 2  # sigmoid of 0 for every word
    (gate,) = transform_gates(run)
    assert gate.counts_B.sum() == 6  # three words of two numbers; neither </s> nor <unk>
    counted = {
        round(float(low), 3): int(n)
        for low, n in zip(gate.edges[:-1], gate.counts_B, strict=True)
        if n
    }
    assert counted == {0.0: 1, 0.1: 1, 0.5: 3, 0.975: 1}  # sigmoid(-2) is 0.119
    assert gate.mean == pytest.approx((0 + 0.1192 + 1 + 3 * 0.5) / 6, abs=1e-4)
    assert (gate.n_dimensions, gate.n_switching) == (2, 1)


@pytest.mark.parametrize(
    ("weight", "bias", "n_switching"),
    [
        (10, 2, 1),  # sigmoid of -10, 0, 10
        (5, 5, 0),  # of -2, 3, 8: never closed
        (5, -1, 0),  # of -8, -3, 2: never open
    ],
)
def test_a_dimension_switches_if_it_is_closed_on_one_word_and_open_on_another(
    weight: float, bias: float, n_switching: int, toy: Toy
) -> None:
    run = toy({"type": "highway", "encoder": {"type": "word", "dim": 2}, "layers": 1})
    weights(run, "encoder.table.weight")[2:, 0] = torch.tensor([-1.0, 0.0, 1.0])
    weights(run, "layers.0.gate.weight")[0, 0] = weight
    weights(run, "layers.0.gate.bias")[0] = bias
    (gate,) = transform_gates(run)
    assert gate.n_switching == n_switching


def test_a_vocabulary_read_in_blocks_has_the_gates_of_all_its_words(
    toy: Toy, gated: LoadedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = toy({"type": "highway", "encoder": {"type": "word", "dim": 2}, "layers": 1})
    weights(run, "encoder.table.weight")[2:, 0] = torch.tensor([1.0, -1.0, 0.0])
    weights(run, "layers.0.gate.weight")[0, 0] = 10  # sigmoid of 8, -12, -2
    ((whole,), profile) = transform_gates(run), gate_profile(gated)
    monkeypatch.setattr(
        "charlm.insight.encoded_pieces.form_slices",
        lambda lengths: (slice(row, row + 1) for row in range(len(lengths))),
    )
    ((found,), again) = transform_gates(run), gate_profile(gated)
    assert found.counts_B.tolist() == whole.counts_B.tolist()
    assert found.mean == pytest.approx(whole.mean)
    assert found.n_switching == whole.n_switching == 1
    assert again.gates_N.tolist() == pytest.approx(profile.gates_N.tolist())


def test_every_highway_layer_has_a_gate_of_its_own(toy: Toy) -> None:
    run = toy({"type": "highway", "encoder": {"type": "word", "dim": 2}, "layers": 2})
    weights(run, "layers.1.gate.bias").fill_(2)
    assert [(gate.layer, round(gate.mean, 3)) for gate in transform_gates(run)] == [
        (1, 0.119),
        (2, 0.5),
    ]


@pytest.fixture
def gated(toy: Toy) -> LoadedRun:
    """Gates of sigmoid(-1), sigmoid(0), sigmoid(2) for the words, sigmoid(1) for `<unk>`."""
    run = toy({"type": "gate", "word": {"type": "word", "dim": 2}, "char": CHARS})
    weights(run, "gate.weight")[0, 0] = 1
    weights(run, "sides.word.table.weight")[1:, 0] = torch.tensor([1.0, -1.0, 0.0, 2.0])
    weights(run, "sides.word.table.weight")[2, 1] = 1
    weights(run, "sides.char.table.weight").fill_(1)
    return run


def test_the_gate_stands_against_the_rank_with_the_norms_of_both_sides(gated: LoadedRun) -> None:
    found = gate_profile(gated)
    assert found.words == ("ab", "ba", "aa")
    assert found.ranks.tolist() == [1, 2, 3]
    np.testing.assert_allclose(found.gates_N, [0.268941, 0.5, 0.880797], atol=1e-6)
    np.testing.assert_allclose(found.word_norms_N, [2**0.5, 0, 2], atol=1e-6)
    np.testing.assert_allclose(found.char_norms_N, [8**0.5] * 3, atol=1e-6)  # two letters


def test_the_gate_of_unk_is_told_beside_those_of_the_words(gated: LoadedRun) -> None:
    found = gate_profile(gated)
    assert found.unk_gate == pytest.approx(0.731059, abs=1e-6)
    assert found.unk_percentile == pytest.approx(200 / 3)
    assert found.correlation == pytest.approx(1)
    assert found.to_dict() == {
        "n_words": 3,
        "gate_rank_spearman": pytest.approx(1),
        "n_frequent": 3,
        "gate_rank_spearman_frequent": pytest.approx(1),
        "gate_mean": pytest.approx(0.549913, abs=1e-6),
        "unk_gate": found.unk_gate,
        "unk_percentile": found.unk_percentile,
        "word_norm_mean": pytest.approx((2**0.5 + 2) / 3),
        "char_norm_mean": pytest.approx(8**0.5),
    }


def test_the_most_frequent_words_have_a_correlation_of_their_own(
    gated: LoadedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charlm.insight.gates.FREQUENT", 2)
    weights(gated, "sides.word.table.weight")[2:, 0] = torch.tensor([-1.0, 2.0, 0.0])
    found = gate_profile(gated)
    assert found.n_frequent == 2
    assert found.correlation == pytest.approx(1 / 2)
    assert found.correlation_frequent == pytest.approx(1)


def test_a_fixed_gate_correlates_with_nothing(toy: Toy) -> None:
    kind = {"type": "gate", "kind": "fixed", "value": 0.25}
    run = toy({**kind, "word": {"type": "word", "dim": 2}, "char": CHARS})
    found = gate_profile(run)
    assert found.correlation is None
    assert found.unk_percentile == 0
    np.testing.assert_array_equal(found.gates_N, [0.25] * 3)


@pytest.mark.parametrize(
    ("values", "counts", "expected"),
    [
        ([0.1, 0.2, 0.3], (9, 5, 1), 1.0),
        ([0.3, 0.2, 0.1], (9, 5, 1), -1.0),
        ([0.1, 0.3, 0.2], (9, 5, 1), 0.5),  # 1 - 6 (0 + 1 + 1) / (3 · 8)
        ([0.1, 0.2, 0.3], (9, 5, 5), 3**0.5 / 2),  # Pearson of (1, 2.5, 2.5) and (1, 2, 3)
        ([0.1, 0.2, 0.3], (5, 5, 5), None),
        ([0.1], (5,), None),
    ],
)
def test_rank_correlation(
    values: list[float], counts: tuple[int, ...], expected: float | None
) -> None:
    found = rank_correlation(np.array(values), counts)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_filter_prefers_the_substrings_that_its_weights_add_up_for(toy: Toy) -> None:
    run = toy(CNN)
    weights(run, "letters.weight")[6:] = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # a, b
    weights(run, "filters.1.weight")[1] = torch.tensor([2.0, 0.5, -9.0, 1.0])
    weights(run, "filters.1.bias")[1] = 0.25
    found = filter_matches(run, 3)
    assert (found.width, found.n_filters, found.n_asked) == (2, 3, 7)
    by_hand = {"ab": 3, "a}": 2, "{b": 1, "b}": 0.5, "aa": -7, "ba": -8.5, "{a": -9}
    assert dict(zip(found.substrings, found.responses, strict=True)) == {
        substring: pytest.approx(response + 0.25) for substring, response in by_hand.items()
    }
    assert found.substrings[0] == "ab"
    assert list(found.responses) == sorted(found.responses, reverse=True)
    assert dict(zip(found.substrings, found.n_words, strict=True))["{a"] == 2


def test_without_a_number_it_is_the_first_of_the_widest_filters(toy: Toy) -> None:
    assert filter_matches(toy(CNN)).number == 2
    assert len(filter_matches(toy(CNN), k=4).substrings) == 4


def test_a_filter_wider_than_every_word_is_told(toy: Toy) -> None:
    wide = {"type": "char-cnn", "dim": 2, "widths": [9], "filters": [1]}
    with pytest.raises(ConfigError, match="no word has the 9 characters that filter 1 reads, its"):
        filter_matches(toy(wide))


@pytest.mark.parametrize("number", [0, 4, -1])
def test_a_filter_that_is_not_there_is_told_with_how_many_there_are(number: int, toy: Toy) -> None:
    with pytest.raises(ConfigError) as caught:
        filter_matches(toy(CNN), number)
    assert str(caught.value) == f"filter: found {number}; toy has 1 to 3; choose one"


@pytest.mark.parametrize(
    ("look", "what"),
    [
        (transform_gates, "no highway layers; expected one with highway"),
        (gate_profile, "no gate between words and characters; expected one with gate"),
        (filter_matches, "no filters; expected one with char-cnn"),
        (
            ngram_map,
            "no character encoder; expected one with char-cnn, char-lstm or char-ngram",
        ),
    ],
)
def test_a_part_that_the_encoder_lacks_is_told_in_one_line(
    look: object, what: str, toy: Toy
) -> None:
    assert callable(look)
    with pytest.raises(ConfigError) as caught:
        look(toy({"type": "word", "dim": 2}))
    expected = f"toy: its encoder 'word' has {what}"
    assert str(caught.value) == expected


@pytest.mark.parametrize("look", [transform_gates, gate_profile])
def test_a_broken_model_has_no_gates(look: object, toy: Toy) -> None:
    assert callable(look)
    gate = {"type": "gate", "word": {"type": "word", "dim": 2}, "char": CHARS}
    run = toy({"type": "highway", "encoder": gate, "layers": 1})
    for parameter in run.model.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    with pytest.raises(DataError, match="toy: the model is broken: its encoder gives NaN"):
        look(run)
