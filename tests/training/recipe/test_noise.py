"""Words replaced by others in training: how often, by which, and what is not replaced."""

import numpy as np
import pytest
import torch

from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.batching import Batch, BatchSource, SentenceBatching, StreamBatching
from charlm.training.recipe.noise import KneserNeyNoise

A, B, C = 2, 3, 4
IDS = np.array([A, B, END, A, B, END, A, C, END, C, B, END], np.int32)
# Followers: of `</s>` A and C, of A B and C, of B `</s>`, of C `</s>` and B.
# Preceding words: of A `</s>`, of B A and C, of C A and `</s>`.


def share_of(kept: np.ndarray, word: int) -> float:
    return float((kept == word).mean())


def test_a_word_gives_way_by_how_many_of_its_occurrences_had_a_follower_of_their_own() -> None:
    noise = KneserNeyNoise(IDS, 5, share=0.6)
    assert noise.replaced_share[[A, B, C]] == pytest.approx([0.6 * 2 / 3, 0.6 / 3, 0.6 * 2 / 2])
    once = KneserNeyNoise(np.array([A, END], np.int32), 4, share=0.6)
    assert once.replaced_share[[A, B]].tolist() == [0.6, 0.0]  # B is not in the text


def test_what_comes_in_its_place_is_drawn_by_how_many_words_it_follows() -> None:
    noise = KneserNeyNoise(IDS, 5, share=1.0)
    drawn = noise.replace(np.full((100, 400), C, np.int32), np.random.default_rng(1))
    expected = [0, 0, 1 / 5, 2 / 5, 2 / 5]
    assert [share_of(drawn, word) for word in range(5)] == pytest.approx(expected, abs=0.01)


def test_the_end_of_a_sentence_neither_goes_nor_comes() -> None:
    noise = KneserNeyNoise(IDS, 5, share=0.999)
    inputs = np.tile(IDS, (500, 1))
    noised = noise.replace(inputs, np.random.default_rng(2))
    assert ((noised == END) == (inputs == END)).all()
    assert share_of(noised[inputs == C], C) < 0.5


def test_a_text_of_one_word_keeps_it() -> None:
    ids = np.array([A, END], np.int32)
    assert (KneserNeyNoise(ids, 3, share=0.9).replace(ids, np.random.default_rng(3)) == ids).all()


def source(noise: float, ranks: Ranks = ALONE) -> BatchSource:
    inventory = inventory_of([["a", "a", "b", "b", "c", "c"]], min_count=1, min_char_count=1)
    ids = np.concatenate([IDS] * 20)
    ids[1::12] = 5  # d, which has a spelling and is no word
    text = EncodedText(ids, ("d",), 80, "")
    return BatchSource(text, inventory, 4, 5, "spelling", seed=3, input_noise=noise, ranks=ranks)


def fed_in(batch: Batch) -> torch.Tensor:
    return batch.forms.words_N[batch.where_TB]


def test_a_form_that_is_no_word_goes_and_comes_as_words_do() -> None:
    noise = StreamBatching().over(source(0.9)).noise
    assert noise is not None
    assert noise.replaced_share / 0.9 == pytest.approx([0, 0, 3 / 60, 1 / 40, 2 / 40, 1 / 20])
    assert np.diff(noise.cumulative).tolist() == [0, 1, 2, 2, 1]  # from `<unk>` on


@pytest.mark.parametrize("batching", [StreamBatching(), SentenceBatching()])
def test_noise_changes_what_goes_in_and_not_what_is_predicted(
    batching: StreamBatching | SentenceBatching,
) -> None:
    plain, noised = batching.over(source(0.0)), batching.over(source(0.9))
    for each in (plain, noised):
        each.begin_epoch(1)
    batches = list(zip(plain.from_step(0), noised.from_step(0), strict=True))
    assert all(torch.equal(one.words_TB, other.words_TB) for one, other in batches)
    n_changed = sum(int((fed_in(one) != fed_in(other)).sum()) for one, other in batches)
    # 60 of A, 40 of B and C, 20 of d: followers repeat, as the text is twenty times the same.
    assert 0 < n_changed < 60


def test_several_processes_read_the_same_noise_as_one() -> None:
    batching = StreamBatching()
    whole = batching.over(source(0.9))
    shares = [batching.over(source(0.9, Ranks(rank, 2))) for rank in range(2)]
    for each in (whole, *shares):
        each.begin_epoch(0)
    for step in range(len(whole)):
        for rank, share in enumerate(shares):
            assert torch.equal(fed_in(share.batch(step)), fed_in(whole.batch(step))[:, rank::2])
