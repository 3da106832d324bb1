"""The morph encoder against eq. 11 summed by hand, over sets of morphs without padding."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.model.build import ENCODER
from charlm.model.encoders.morph import MorphEncoder
from charlm.model.forms import Forms, FormTable
from charlm.runtime import autocast
from charlm.settings import build_part
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.morphs import END_MORPH, N_MORPH_MARKERS, PAD_MORPH, UNKNOWN_MORPH
from charlm.text.vocabulary.vocabulary import Inventory

Spell = Callable[[Sequence[str]], Forms]
Build = Callable[..., MorphEncoder]

A, B, C, U, S, ABC = range(N_MORPH_MARKERS, N_MORPH_MARKERS + 6)
MORPHS = {
    "cab": [C, A, B],
    "abacus": [A, B, C, U, S],
    "bb": [B],  # twice in the word, once in the set
    "abcabc": [ABC],
    "</s>": [END_MORPH],
    "<unk>": [UNKNOWN_MORPH],
    "susabcx": [S, U, ABC, UNKNOWN_MORPH],  # never seen: abc is cheaper than a, b and c
}


@pytest.fixture
def built(build: Build, inventory: Inventory) -> Callable[..., MorphEncoder]:
    return lambda **options: build(
        ENCODER, {"type": "morph", "dim": 7, **options}, leading=[inventory]
    ).double()


def sum_by_hand(encoder: MorphEncoder, form: str) -> Tensor:
    table = encoder.morphs.weight
    total = torch.zeros(encoder.dim, dtype=table.dtype)
    for morph in MORPHS[form]:
        total = total + table[morph]
    return total


@pytest.mark.parametrize("form", MORPHS)
def test_a_form_is_its_word_and_the_sum_of_its_set_of_morphs(
    built: Build, inventory: Inventory, spell: Spell, form: str
) -> None:
    encoder = built()
    assert encoder.words is not None
    word = encoder.words.weight[inventory.word_ids.get(form, UNK)]
    expected = word + sum_by_hand(encoder, form)
    torch.testing.assert_close(encoder(spell([form, "abacus"]))[0], expected)


@pytest.mark.parametrize("form", MORPHS)
def test_without_the_word_a_form_is_the_sum_of_its_set_of_morphs(
    built: Build, spell: Spell, form: str
) -> None:
    encoder = built(word=False)
    assert [name for name, _ in encoder.named_parameters()] == ["morphs.weight"]
    torch.testing.assert_close(encoder(spell([form, "abacus"]))[0], sum_by_hand(encoder, form))


def test_every_morph_of_a_form_gets_its_gradient_once_and_padding_none(
    built: Build, spell: Spell
) -> None:
    encoder = built(word=False)
    encoder(spell(["bb", "abacus", "cab"])).sum().backward()
    gradient = encoder.morphs.weight.grad
    assert gradient is not None
    times = {PAD_MORPH: 0, A: 2, B: 3, C: 2, U: 1, S: 1, ABC: 0, END_MORPH: 0}
    assert {row: gradient[row].tolist() for row in times} == {
        row: [float(n)] * 7 for row, n in times.items()
    }


def test_padding_adds_nothing_even_where_its_row_is_not_zero(built: Build, spell: Spell) -> None:
    encoder = built()
    before = encoder(spell(["a", "abacus"]))
    with torch.no_grad():
        encoder.morphs.weight[PAD_MORPH] = 9.0
    assert torch.equal(encoder(spell(["a", "abacus"])), before)


def test_the_taps_are_the_sum_and_the_sum_with_the_word(
    built: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = built()
    taps = encoder.taps(spell(["cab"]))
    assert list(taps) == ["morphs", "morph"]
    torch.testing.assert_close(taps["morphs"][0], sum_by_hand(encoder, "cab"))
    assert encoder.words is not None
    difference = (taps["morph"] - taps["morphs"])[0]
    torch.testing.assert_close(difference, encoder.words.weight[inventory.word_ids["cab"]])


def test_a_table_has_a_row_a_morph_and_three_more(inventory: Inventory) -> None:
    with torch.device("meta"):
        part, _ = build_part(ENCODER, {"type": "morph", "dim": 20}, leading=[inventory])
    shapes = {name: tuple(p.shape) for name, p in part.named_parameters()}
    assert shapes == {
        "words.weight": (inventory.n_words, 20),
        "morphs.weight": (3 + 6, 20),
    }


def test_under_autocast_vectors_are_those_of_full_precision(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, {"type": "morph", "dim": 7}, leading=[inventory])
    forms = spell(["cab", "abcabc"])
    expected = encoder(forms)
    with autocast(torch.device("cpu"), "bf16"):
        vectors = encoder(forms)
    assert vectors.dtype == torch.float32
    assert torch.equal(vectors, expected)


def test_no_forms_have_no_vectors(built: Build, inventory: Inventory) -> None:
    forms = FormTable(inventory, inventory.words).forms(np.array([], np.int64))
    assert built()(forms).shape == (0, 7)


def test_a_vocabulary_without_morphs_is_answered_with_how_to_make_one(
    inventory: Inventory,
) -> None:
    with pytest.raises(ConfigError) as caught:
        build_part(ENCODER, {"type": "morph"}, leading=[replace(inventory, morphs=None)])
    assert str(caught.value) == (
        "encoder 'morph': the vocabulary has no morphs; expected one made by `charlm vocab "
        "--data DIR --morphs sentencepiece:N --out FILE`; train with --vocab FILE"
    )


def test_forms_without_morphs_are_our_own_mistake(built: Build, spell: Spell) -> None:
    with pytest.raises(ValueError, match="forms without morphs"):
        built()(spell(["a"])._replace(morphs_NM=None))
