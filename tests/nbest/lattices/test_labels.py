"""Which labels a model reads."""

import pytest

from charlm.errors import ConfigError
from charlm.nbest.lattices.labels import Labels


@pytest.mark.parametrize("label", ["<eps>", "!NULL", "<s>", "</s>", "!SENT_END"])
def test_marks_are_in_no_hypothesis(label: str) -> None:
    assert Labels().is_silent(label)
    assert not Labels().is_read(label)


@pytest.mark.parametrize("label", ["[laugh]", "<noise>", "<UNKNOWN>", "{breath}", "-pau-", "!SIL"])
def test_noise_is_in_hypotheses_and_no_model_reads_it(label: str) -> None:
    assert not Labels().is_silent(label)
    assert not Labels().is_read(label)


@pytest.mark.parametrize("label", ["<unk>", "<UNK>", "<unk>:word", "we", "a-b", "-", "[a"])
def test_words_are_read_and_so_is_unk(label: str) -> None:
    assert Labels().is_read(label)


def test_noise_is_what_the_user_says() -> None:
    labels = Labels(noise="sil|sp")
    assert not labels.is_read("sp")
    assert labels.is_read("spa")
    assert labels.is_read("[laugh]")


def test_without_a_pattern_all_but_marks_are_words() -> None:
    assert Labels(noise="").is_read("[laugh]")


def test_a_pattern_that_is_none_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"noise '\[a': .*expected a regular expression"):
        Labels(noise="[a")
