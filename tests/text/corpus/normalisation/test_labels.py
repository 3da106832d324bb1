"""Which noise labels a model reads."""

import pytest

from charlm.text.corpus.normalisation.labels import is_silent, is_word


@pytest.mark.parametrize("label", ["<eps>", "!NULL", "<s>", "</s>", "!SENT_END"])
def test_marks_are_in_no_hypothesis(label: str) -> None:
    assert is_silent(label)
    assert not is_word(label)


@pytest.mark.parametrize("label", ["[laugh]", "<noise>", "<UNKNOWN>", "{breath}", "-pau-", "!SIL"])
def test_noise_is_in_hypotheses_and_no_model_reads_it(label: str) -> None:
    assert not is_silent(label)
    assert not is_word(label)


@pytest.mark.parametrize("label", ["<unk>", "<UNK>", "<unk>:word", "we", "a-b", "-", "[a"])
def test_words_are_read_and_so_is_unk(label: str) -> None:
    assert is_word(label)
