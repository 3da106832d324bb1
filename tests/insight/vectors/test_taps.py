"""Words as forms, and taps by name, above all where the two sides of a mixture read differently."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from charlm.errors import ConfigError
from charlm.insight.vectors import taps
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.nn_options import VectorsOptions
from charlm.insight.vectors.run_neighbours import neighbours_in, vectors_in
from charlm.insight.vectors.taps import Reader, Vectors
from charlm.run.stored_weights import LoadedRun
from charlm.text.vocabulary.vocabulary import inventory_of

RunOf = Callable[..., LoadedRun]

CHAR_SIDE = {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 3]}
CHAR_LSTM = {"type": "char-lstm", "hidden_dim": 8}
GATE = {
    "type": "gate",
    "word": {"type": "word", "dim": 4},
    "char": {"type": "project", "dim": 4, "encoder": CHAR_SIDE},
}


@pytest.fixture
def run_of(in_memory: RunOf) -> RunOf:
    """A run in memory of random weights, its words cat, cats, dog and `<unk>`."""
    inventory = inventory_of([["cat", "cats", "dog", "<unk>"], ["cat", "cats"], ["cat"]])
    return partial(in_memory, inventory)


def test_both_sides_of_a_mixture_have_taps(run_of: RunOf) -> None:
    vectors = Vectors(run_of(GATE))
    assert vectors.widths == {
        "word": 4,
        "char-cnn": 5,
        "project": 4,
        "gate": 1,
        "gated": 4,
        "output": 4,
    }
    assert vectors.taps() == ["gated"]
    assert vectors.taps("all") == ["word", "char-cnn", "project", "gated", "output"]
    assert vectors.taps(["project, word", "word"]) == ["project", "word"]


def test_a_word_side_answers_for_words_alone(run_of: RunOf) -> None:
    run = run_of(GATE)
    both = open_vectors(VectorsOptions(at="word,char-cnn"), vectors=Vectors(run))
    found = neighbours_in(both, ["cat", "caat"])
    assert [(each.tap, each.word, len(each.nearest)) for each in found] == [
        ("word", "cat", 2),
        ("word", "caat", 0),
        ("char-cnn", "cat", 2),
        ("char-cnn", "caat", 3),
    ]
    for at in ("word", "word,output"):
        with pytest.raises(ConfigError) as caught:
            neighbours_in(
                open_vectors(VectorsOptions(at=at), vectors=Vectors(run)), ["cat", "caat"]
            )
        assert str(caught.value) == (
            "word 'caat': not in the vocabulary of toy, and 'word' reads no spellings; expected "
            "one of its 5 words, or another tap"
        )


def test_a_gate_has_the_value_of_unk_for_what_it_cannot_read(run_of: RunOf) -> None:
    unk, other = vectors_in(Vectors(run_of(GATE)), ["<unk>", "caat"], at="gate").tolist()
    assert unk == other


def test_the_last_bits_of_a_gate_are_no_spelling(in_memory: RunOf) -> None:
    words = inventory_of([[*"abcdefgh", "cat", "<unk>"]])
    for dim in range(600, 640):  # on some processors a product's bits depend on the row
        sides = {"word": {"type": "word", "dim": dim}, "char": {**CHAR_LSTM, "dim": dim}}
        vectors = Vectors(in_memory(words, {"type": "gate", **sides}))
        reading = Reader(vectors.run).read("caat")
        assert not vectors.reads(reading, tap="gate")
        assert vectors.reads(reading, tap="gated")


def test_an_output_tied_to_the_encoder_has_its_vectors(run_of: RunOf) -> None:
    tied = {"type": "composed", "bias": False}
    run = run_of({"type": "word", "dim": 4}, output=tied)
    words = ["cat", "<unk>", "dog"]
    assert (
        vectors_in(Vectors(run), words, at="output") == vectors_in(Vectors(run), words, at="word")
    ).all()


@pytest.mark.parametrize("tied", [True, False])
def test_a_mixture_has_the_vectors_that_its_components_share(tied: bool, run_of: RunOf) -> None:
    mixture = {"type": "mixture", "components": 2, "tied": tied}
    run = run_of({"type": "word", "dim": 4}, output=mixture)
    found = vectors_in(Vectors(run), ["cat", "<unk>"], at="output").tolist()
    table = "encoder.table.weight" if tied else "output.words.weight"
    rows = [run.inventory.word_ids[word] for word in ("cat", "<unk>")]
    assert found == run.model.get_parameter(table)[rows].tolist()


def test_an_output_without_a_vector_a_word_is_no_tap(run_of: RunOf) -> None:
    run = run_of({"type": "word", "dim": 4}, output={"type": "hierarchical"})
    with pytest.raises(ConfigError, match="^at: found 'output'; expected one of word$"):
        vectors_in(Vectors(run), ["cat"], at="output")


@pytest.mark.parametrize("at", ["", "word,", ["", "word"]])
def test_a_tap_without_a_name_is_one_line(at: str | list[str], run_of: RunOf) -> None:
    vectors = Vectors(run_of({"type": "word", "dim": 4}))
    with pytest.raises(ConfigError, match="^at: found ''; expected one of word, output$"):
        vectors.taps(at)


def test_a_spelled_unk_is_read_by_its_form(run_of: RunOf) -> None:
    reader = Reader(run_of(CHAR_SIDE))
    reading = reader.read("<unk>:cat")
    assert (reading.form, reading.number, reading.is_known) == ("cat", 1, False)
    assert reader.read("cat").number == 2
    assert reader.try_to_read("c t") is None


def test_a_word_keeps_its_own_row_whatever_is_asked_beside_it(run_of: RunOf) -> None:
    run = run_of(GATE)
    alone = vectors_in(Vectors(run), ["dog"], at="gated")
    beside = vectors_in(Vectors(run), ["caat", "cats", "dog"], at="gated")
    assert beside[2] == pytest.approx(alone[0], abs=1e-6)
    table = run.model.state_dict()["encoder.sides.word.table.weight"]
    assert vectors_in(Vectors(run), ["dog"], at="word").tolist() == [table[4].tolist()]


def test_words_that_are_encoded_in_blocks_keep_their_vectors(
    run_of: RunOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, words = run_of(GATE), ["caat", "cats", "dog", "catss"]
    whole = vectors_in(Vectors(run), words, at="gated")
    monkeypatch.setattr(
        taps, "form_slices", lambda lengths: (slice(n, n + 1) for n in range(len(lengths)))
    )
    np.testing.assert_allclose(vectors_in(Vectors(run), words, at="gated"), whole, atol=1e-6)
