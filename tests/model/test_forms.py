"""Forms as tensors: the spelling of each row, padded with 0, and the word that it is."""

import numpy as np
import pytest
import torch

from charlm.model.forms import Forms, FormTable
from charlm.text.inventory import (
    END_LETTER,
    UNK,
    UNK_LETTER,
    UNKNOWN_LETTER,
    WORD_END,
    WORD_START,
    Inventory,
)

A, B, C = 6, 7, 8  # behind the six markers


@pytest.fixture(scope="module")
def small() -> Inventory:
    return Inventory(("</s>", "<unk>", "abc", "b"), (4, 3, 2, 1), ("a", "b", "c"), 4)


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


def test_a_table_of_further_spellings_starts_at_its_first_id(small: Inventory) -> None:
    table = FormTable(small, ["ca", "b"], first_id=small.n_words)
    assert len(table) == 2
    assert rows_of(table, 1, 0) == (
        [UNK, UNK],
        [[WORD_START, B, WORD_END, 0], [WORD_START, C, A, WORD_END]],
    )


def test_no_rows_make_no_forms(small: Inventory) -> None:
    forms = FormTable(small, small.words).forms(np.array([], np.int64))
    assert len(forms.words_N) == len(forms.letters_NL) == 0


def test_forms_move_to_a_device_together(small: Inventory) -> None:
    forms = FormTable(small, small.words).forms(np.arange(2)).to(torch.device("meta"))
    assert isinstance(forms, Forms)
    assert forms.words_N.is_meta
    assert forms.letters_NL.is_meta


def test_ids_and_letters_are_int64(small: Inventory) -> None:
    forms = FormTable(small, small.words).forms(np.arange(2, dtype=np.int32))
    assert forms.words_N.dtype == forms.letters_NL.dtype == torch.int64
