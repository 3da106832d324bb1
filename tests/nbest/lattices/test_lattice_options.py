"""Options of the lattice search, and the default weights."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from charlm.errors import ConfigError
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import LatticeOptions, default_weights, weighing

Read = Callable[..., list[Lattice]]


@pytest.mark.parametrize(
    ("kind", "models", "weights"),
    [
        ("slf", [], {"am": 2.0, "old_lm": 14.0, "words": -0.5}),
        ("slf", ["nn"], {"am": 2.0, "old_lm": 7.0, "nn": 7.0, "words": -0.5}),
        ("compact", [], {"am": 0.1, "graph": 1.0}),
        ("compact", ["nn", "kn"], {"am": 0.1, "graph": 0.5, "nn": 0.25, "kn": 0.25}),
        ("compact", ["nn", "old_lm"], {"am": 0.1, "graph_nolm": 1.0, "old_lm": 0.5, "nn": 0.5}),
    ],
)
def test_weights_that_nobody_says_are_the_lattices_own(
    read: Read, texts: dict[str, str], kind: str, models: list[str], weights: dict[str, float]
) -> None:
    assert default_weights(read(texts[kind])[0], models) == weights


def test_where_the_lattice_has_no_language_scores_new_models_share_all_of_the_scale(
    read: Read, texts: dict[str, str]
) -> None:
    (lattice, *_) = read(re.sub(r"\bl=\S+", "", texts["slf"]))
    weights = {"am": 2.0, "old_lm": 0.0, "nn": 7.0, "kn": 7.0, "words": -0.5}
    assert default_weights(lattice, ["nn", "kn"]) == weights
    assert default_weights(lattice, [])["old_lm"] == 14.0


def test_some_weights_may_be_others_than_the_lattices_own(
    read: Read, texts: dict[str, str]
) -> None:
    options = LatticeOptions(overrides={"nn": 0.75})
    found = weighing(read(texts["compact"])[0], ["nn"], options=options)
    assert found.weights == {"am": 0.1, "graph": 0.5, "nn": 0.75}
    assert (found.own, found.models) == ((0.5, 0.1), (0.75,))


def test_what_the_old_model_takes_out_comes_back_by_its_own_weight(
    read: Read, texts: dict[str, str]
) -> None:
    options = LatticeOptions(weights={"graph_nolm": 2.0, "old_lm": 0.5, "nn": 0.25, "oov": -3.0})
    found = weighing(read(texts["compact"])[0], ["nn", "old_lm"], options=options)
    assert found.own == (2.0, 0.0)
    assert found.models == (0.25, 0.5 - 2.0)
    assert found.counts == (0.0, -3.0)


def test_a_weight_of_what_is_not_there_lists_what_is(read: Read, texts: dict[str, str]) -> None:
    options = LatticeOptions(weights={"ctc": 1.0})
    with pytest.raises(ConfigError) as error:
        weighing(read(texts["compact"])[0], ["nn"], options=options)
    assert "weight 'ctc': no such feature" in str(error.value)
    assert str(error.value).endswith("expected graph, am, nn, words, oov")
    with pytest.raises(ConfigError) as error:
        weighing(read(texts["compact"])[0], [], options=replace(options, weights_path="w.json"))
    assert str(error.value).startswith("w.json: weight 'ctc': no such feature in ")
    assert str(error.value).endswith("or the models of the tuning by --model, --lm or --old-lm")


def test_what_speaks_against_a_path_is_in_the_beams_unit_and_in_no_scores(
    read: Read, texts: dict[str, str]
) -> None:
    lattice = read(texts["compact"])[0]
    for weights, language, scale in (
        ({"am": 0.1, "graph": 1.5, "nn": -0.5}, 2.0, 1.5),
        ({"am": 0.1, "graph": 0.0, "nn": -0.5}, 0.5, 1.0),
        ({"am": 0.1, "words": 3.0}, 1.0, 1.0),
    ):
        found = weighing(lattice, ["nn"], options=LatticeOptions(weights=weights))
        assert (found.language, found.scale) == (language, scale)
