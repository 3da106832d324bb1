"""Forms as tensors: the spelling of each row, padded with 0, and the word of each row."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from charlm.model.forms import Forms, FormTable
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.morphs import END_MORPH, UNKNOWN_MORPH, MorphModel
from charlm.text.vocabulary.vocabulary import (
    END_LETTER,
    UNK_LETTER,
    UNKNOWN_LETTER,
    WORD_END,
    WORD_START,
    Inventory,
)

A, B, C = 6, 7, 8  # after the six markers


@pytest.fixture(scope="module")
def small() -> Inventory:
    return Inventory(("</s>", "<unk>", "abc", "b"), (4, 3, 2, 1), ("a", "b", "c"), 4)


@pytest.fixture(scope="module")
def segmented(small: Inventory) -> Inventory:
    morphs = MorphModel(("a", "bc", "c"), (1.0, 1.0, 1.0), {"abc": ("a", "bc"), "b": ("b",)})
    return replace(small, morphs=morphs)


def rows_of(table: FormTable, *rows: int) -> tuple[list[int], list[list[int]]]:
    forms = table.forms(np.array(rows, np.int32))
    return forms.words_N.tolist(), forms.letters_NL.tolist()


def test_each_row_is_spelled_between_its_markers_and_padded_with_0(small: Inventory) -> None:
    words, letters = rows_of(FormTable(small, small.words), 2, 0, 1, 3)
    assert words == [2, 0, 1, 3]
    assert letters == [
        [WORD_START, A, B, C, WORD_END],
        [WORD_START, END_LETTER, WORD_END, 0, 0],
        [WORD_START, UNK_LETTER, WORD_END, 0, 0],
        [WORD_START, B, WORD_END, 0, 0],
    ]


def test_rows_are_as_wide_as_the_longest_asked_for_and_may_repeat(small: Inventory) -> None:
    words, letters = rows_of(FormTable(small, small.words), 3, 3)
    assert words == [3, 3]
    assert letters == [[WORD_START, B, WORD_END]] * 2


def test_a_form_behind_the_vocabulary_is_unk_with_its_own_spelling(small: Inventory) -> None:
    words, letters = rows_of(FormTable(small, (*small.words, "cx", "aaaaaa")), 4, 5)
    assert words == [UNK, UNK]
    assert letters[0] == [WORD_START, C, UNKNOWN_LETTER, WORD_END, 0, 0]
    assert letters[1] == [WORD_START, A, A, A, A, WORD_END]  # read up to the fourth letter


def test_a_table_of_further_spellings_knows_which_of_them_are_words(small: Inventory) -> None:
    table = FormTable(small, ["ca", "b"], ids=[small.n_words, 3])
    assert len(table) == 2
    assert rows_of(table, 1, 0) == (
        [3, UNK],
        [[WORD_START, B, WORD_END, 0], [WORD_START, C, A, WORD_END]],
    )


def test_no_rows_make_no_forms(small: Inventory) -> None:
    forms = FormTable(small, small.words).forms(np.array([], np.int64))
    assert len(forms.words_N) == len(forms.letters_NL) == 0


def test_forms_move_to_a_device_together(segmented: Inventory) -> None:
    forms = FormTable(segmented, segmented.words).forms(np.arange(2)).to(torch.device("meta"))
    assert isinstance(forms, Forms)
    assert [part is not None and part.is_meta for part in forms] == [True] * 3


def test_ids_and_letters_are_int64(small: Inventory) -> None:
    forms = FormTable(small, small.words).forms(np.arange(2, dtype=np.int32))
    assert forms.words_N.dtype == forms.letters_NL.dtype == torch.int64


def test_each_row_has_its_set_of_morphs_padded_with_0(segmented: Inventory) -> None:
    table = FormTable(segmented, (*segmented.words, "cacb"))
    forms = table.forms(np.array([2, 0, 1, 3, 4]))
    assert forms.morphs_NM is not None
    assert forms.morphs_NM.dtype == torch.int64
    assert forms.morphs_NM.tolist() == [
        [3, 4, 0],
        [END_MORPH, 0, 0],
        [UNKNOWN_MORPH, 0, 0],
        [UNKNOWN_MORPH, 0, 0],  # no morph covers b
        [5, 3, UNKNOWN_MORPH],  # c once
    ]


def test_rows_without_any_morph_are_padding(segmented: Inventory) -> None:
    forms = FormTable(segmented, [""], ids=[segmented.n_words]).forms(np.array([0, 0]))
    assert forms.morphs_NM is not None
    assert forms.morphs_NM.tolist() == [[0], [0]]


def test_where_words_are_not_segmented_forms_have_no_morphs(small: Inventory) -> None:
    assert FormTable(small, small.words).forms(np.arange(2)).morphs_NM is None


def test_morphs_move_with_their_forms(segmented: Inventory) -> None:
    forms = FormTable(segmented, segmented.words).forms(np.arange(2)).to(torch.device("meta"))
    assert forms.morphs_NM is not None
    assert forms.morphs_NM.is_meta


def test_padded_forms_are_the_same_ones_and_unks_without_letters(segmented: Inventory) -> None:
    forms = FormTable(segmented, segmented.words).forms(np.arange(3))
    padded = forms.padded()
    assert padded.morphs_NM is not None and forms.morphs_NM is not None
    assert [tuple(tensor.shape) for tensor in padded.tensors()] == [(64,), (64, 8), (64, 8)]
    assert torch.equal(padded.words_N[:3], forms.words_N)
    assert torch.equal(padded.letters_NL[:3, :5], forms.letters_NL)
    assert torch.equal(padded.morphs_NM[:3, : forms.morphs_NM.shape[1]], forms.morphs_NM)
    assert set(padded.words_N[3:].tolist()) == {UNK}
    assert not padded.letters_NL[3:].any() and not padded.letters_NL[:, 5:].any()
    assert all(torch.equal(*pair) for pair in zip(padded, padded.padded(), strict=True))


def test_padded_forms_have_few_sizes(small: Inventory) -> None:
    table = FormTable(small, small.words)
    sizes = [len(table.forms(np.zeros(n, np.int64)).padded().words_N) for n in range(1, 1000)]
    assert sizes == sorted(sizes)
    assert all(n <= size <= max(64, 1.25 * n + 8) for n, size in enumerate(sizes, 1))
    assert sorted(set(sizes))[:5] == [64, 80, 104, 136, 176]
    assert {size % 8 for size in sizes} == {0}
