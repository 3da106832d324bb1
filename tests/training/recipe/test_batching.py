"""Streams and sentences: every token once, from the one before it, and reproducible order."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from charlm.errors import DataError
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of
from charlm.training.recipe.batching import (
    Batch,
    Batches,
    BatchSource,
    SentenceBatching,
    StreamBatches,
    StreamBatching,
)

N_WORDS = 130
SHAPES = [(1, 1, 1), (1, 20, 35), (3, 20, 35), (5, 4, 1), (97, 4, 7), (101, 20, 35), (128, 20, 3)]
LENGTHS = [3, 1, 7, 2, 2, 5, 0, 4, 1, 6]  # words of the sentences


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    words = [f"w{chr(0x100 + n)}" for n in range(N_WORDS - 2)]
    return inventory_of([words], min_count=1, min_char_count=1)


@pytest.fixture(scope="module")
def source(inventory: Inventory) -> BatchSource:
    """Ten sentences whose words all differ, three streams or sentences at a time."""
    ids: list[int] = []
    number = 2
    for length in LENGTHS:
        ids += [*range(number, number + length), END]
        number += length
    text = EncodedText(np.array(ids, np.int32), (), len(LENGTHS), "")
    return BatchSource(text, inventory, 3, 4, "unk", seed=7)


def batches_of(
    ids: list[int],
    inventory: Inventory,
    *,
    n_streams: int = 2,
    bptt: int = 3,
    oov_input: str = "unk",
    spellings: tuple[str, ...] = (),
) -> StreamBatches:
    text = EncodedText(np.array(ids, np.int32), spellings, 1, "")
    source = BatchSource(text, inventory, n_streams, bptt, oov_input, seed=1)
    return StreamBatching().over(source)


def fed_in(batch: Batch) -> torch.Tensor:
    return batch.forms.words_N[batch.where_TB]


def of_epoch(batches: Batches, epoch: int) -> list[Batch]:
    batches.begin_epoch(epoch)
    return list(batches.from_step(0))


def predicted(some: list[Batch]) -> list[int]:
    return [word for batch in some for word in batch.words_TB.T.flatten().tolist() if word != -1]


@pytest.mark.parametrize(
    "batching",
    [
        StreamBatching(),
        StreamBatching(shuffle="partial", reset=0.5),
        SentenceBatching(),
        SentenceBatching(pool=1),
    ],
    ids=["streams", "shuffled", "sentences", "small pool"],
)
def test_every_epoch_predicts_every_token_once(
    batching: StreamBatching | SentenceBatching, source: BatchSource
) -> None:
    batches = batching.over(source)
    for epoch in range(3):
        some = of_epoch(batches, epoch)
        assert sorted(predicted(some)) == sorted(source.text.ids.tolist())
        assert sum(batch.own.tokens for batch in some) == len(source.text.ids)
        assert len(some) == len(batches)


@pytest.mark.parametrize(
    "batching",
    [StreamBatching(shuffle="partial", reset=0.5), SentenceBatching(pool=2)],
    ids=["streams", "sentences"],
)
def test_a_batch_depends_on_seed_epoch_and_step_alone(
    batching: StreamBatching | SentenceBatching, source: BatchSource
) -> None:
    noised = replace(source, input_noise=0.9)
    first, second = batching.over(noised), batching.over(noised)
    of_epoch(first, 0)
    whole = of_epoch(first, 1)
    second.begin_epoch(1)
    for step in reversed(range(len(whole))):
        again = second.batch(step)
        assert torch.equal(again.words_TB, whole[step].words_TB)
        assert torch.equal(fed_in(again), fed_in(whole[step]))
        if whole[step].resets_TB is not None:
            assert torch.equal(again.resets_TB, whole[step].resets_TB)
    assert predicted(of_epoch(first, 2)) != predicted(whole)


@pytest.mark.parametrize(("n_tokens", "n_streams", "bptt"), SHAPES)
def test_an_epoch_predicts_every_token_once_from_the_token_before_it(
    inventory: Inventory, n_tokens: int, n_streams: int, bptt: int
) -> None:
    ids = list(range(2, 2 + n_tokens))
    before = dict(zip(ids, [0, *ids], strict=False))
    batches = batches_of(ids, inventory, n_streams=n_streams, bptt=bptt)
    predicted = []
    for batch in batches.from_step(0):
        targets, inputs = batch.words_TB.flatten().tolist(), fed_in(batch).flatten().tolist()
        pairs = [(t, i) for t, i in zip(targets, inputs, strict=True) if t != -1]
        assert all(before[target] == given for target, given in pairs)
        assert batch.own.tokens == len(pairs) > 0
        assert batch.words_TB.shape[0] <= bptt
        assert batch.words_TB.shape[1] == n_streams
        predicted += [target for target, _ in pairs]
    assert sorted(predicted) == ids


def test_the_batches_from_a_step_on_are_the_rest(inventory: Inventory) -> None:
    batches = batches_of(list(range(2, 103)), inventory, n_streams=4, bptt=7)
    assert len(batches) == 4  # 26 tokens a stream
    rest = [batch.words_TB.tolist() for batch in batches.from_step(3)]
    assert rest == [batches.batch(3).words_TB.tolist()]
    assert len(rest[0]) == 26 - 3 * 7
    assert list(batches.from_step(4)) == []


def test_the_forms_of_a_batch_are_its_distinct_ones(inventory: Inventory) -> None:
    batch = batches_of([5, 7, 5, 7, 9, 5], inventory, n_streams=1, bptt=6).batch(0)
    assert sorted(batch.forms.words_N.tolist()) == [0, 5, 7, 9]
    assert fed_in(batch).flatten().tolist() == [0, 5, 7, 5, 7, 9]


@pytest.mark.parametrize("oov_input", ["unk", "spelling"])
def test_a_form_outside_the_vocabulary_goes_in_as_said_and_comes_out_as_unk(
    inventory: Inventory, oov_input: str
) -> None:
    ids = [N_WORDS + 1, 5, N_WORDS, 6]
    spellings = (inventory.words[7], "www")
    batch = batches_of(
        ids, inventory, n_streams=1, bptt=4, oov_input=oov_input, spellings=spellings
    ).batch(0)
    assert batch.words_TB.flatten().tolist() == [UNK, 5, UNK, 6]
    assert fed_in(batch).flatten().tolist() == [0, UNK, 5, UNK]
    spelled = batch.forms.letters_NL[batch.where_TB[:, 0]].tolist()
    read = [[letter for letter in row if letter] for row in spelled]
    shown = ("<unk>", "<unk>") if oov_input == "unk" else ("www", inventory.words[7])
    assert read[1] == inventory.spelling(shown[0])
    assert read[3] == inventory.spelling(shown[1])


def test_a_batch_on_another_device_keeps_its_parts(inventory: Inventory) -> None:
    batch = batches_of([5, 6, 7], inventory).batch(0)
    moved = batch.to(torch.device("meta"))
    parts = (moved.forms.words_N, moved.forms.letters_NL, moved.where_TB, moved.words_TB)
    assert {part.device.type for part in parts} == {"meta"}
    assert moved.own.tokens == batch.own.tokens


def test_a_partial_shuffle_rotates_each_stream_by_itself(source: BatchSource) -> None:
    batches = StreamBatching(shuffle="partial").over(source)
    ids = source.text.ids.tolist()
    length = -(-len(ids) // source.batch_size)
    pieces = [ids[first : first + length] for first in range(0, len(ids), length)]
    offsets = set()
    for epoch in range(4):
        batches.begin_epoch(epoch)
        rotated = batches.streams.ids.tolist()
        for number, piece in enumerate(pieces):
            turned = rotated[number * length : number * length + len(piece)]
            rotations = [piece[k:] + piece[:k] for k in range(len(piece))]
            assert turned in rotations
            offsets.add((number, rotations.index(turned)))
    assert len(offsets) > 2 * len(pieces)
    starts = [[k for n, k in offsets if n == number] for number in range(len(pieces))]
    assert len(set(map(tuple, map(sorted, starts)))) > 1  # not the same in all epochs


def test_a_state_begins_anew_only_where_a_sentence_has_ended(source: BatchSource) -> None:
    assert all(b.resets_TB is None for b in of_epoch(StreamBatching().over(source), 0))
    for batch in of_epoch(StreamBatching(reset=0.5).over(source), 0):
        assert batch.resets_TB is not None
        assert bool((fed_in(batch) == END)[batch.resets_TB].all())


def test_resets_are_drawn_with_their_probability(inventory: Inventory) -> None:
    text = EncodedText(np.array([2, END] * 5000, np.int32), (), 5000, "")
    batches = StreamBatching(reset=0.3).over(BatchSource(text, inventory, 10, 50, "unk", seed=1))
    batches.begin_epoch(0)
    resets = [batch.resets_TB for batch in batches.from_step(0)]
    n_resets = sum(int(each.sum()) for each in resets if each is not None)
    assert n_resets / 5000 == pytest.approx(0.3, abs=0.02)


def test_sentences_stand_alone_padded_and_begin_with_the_end_of_none(source: BatchSource) -> None:
    sentences = np.split(source.text.ids, np.flatnonzero(source.text.ids == END) + 1)[:-1]
    found = []
    for batch in of_epoch(SentenceBatching().over(source), 0):
        assert batch.is_fresh
        assert batch.words_TB.shape[0] == int((batch.words_TB >= 0).sum(0).max())
        inputs = fed_in(batch)
        for words, read in zip(batch.words_TB.T, inputs.T, strict=True):
            kept = words[words >= 0]
            assert (words[len(kept) :] == -1).all()
            assert read[: len(kept)].tolist() == [END, *kept[:-1].tolist()]
            found.append(kept.tolist())
    assert sorted(found) == sorted(sentence.tolist() for sentence in sentences)


def test_padding_lengthens_sentences_to_a_multiple_of_four_by_positions_without_a_word(
    source: BatchSource,
) -> None:
    for batch in of_epoch(SentenceBatching(pool=4).over(source), 0):  # 2, 4, 7 and 8 positions
        length, padded = len(batch.words_TB), batch.padded()
        assert len(padded.words_TB) == len(padded.where_TB) == math.ceil(length / 4) * 4
        assert torch.equal(padded.words_TB[:length], batch.words_TB)
        assert (padded.words_TB[length:] == -1).all()


def test_sentences_of_a_pool_stand_beside_those_of_like_length(source: BatchSource) -> None:
    some = of_epoch(SentenceBatching(pool=4).over(source), 0)  # all sentences are one pool
    lengths = sorted(sorted((b.words_TB >= 0).sum(0).tolist()) for b in some)
    assert lengths == [[1, 2, 2], [3, 3, 4], [5, 6, 7], [8]]


def test_sentences_of_as_many_words_as_the_limit_are_left_out(source: BatchSource) -> None:
    some = of_epoch(SentenceBatching(max_words=3).over(source), 0)
    lengths = sorted(n - 1 for b in some for n in (b.words_TB >= 0).sum(0).tolist())
    assert lengths == sorted(n for n in LENGTHS if n < 3)


def test_a_limit_that_leaves_nothing_is_refused(inventory: Inventory) -> None:
    text = EncodedText(np.array([2, 3, END], np.int32), (), 1, "")
    with pytest.raises(DataError) as caught:
        SentenceBatching(max_words=2).over(BatchSource(text, inventory, 3, 4, "unk", seed=7))
    assert str(caught.value) == (
        "train.txt: no sentence of less than 2 words; expected some; raise "
        "--set recipe.batching.max_words"
    )


def test_the_batches_of_sorted_sentences_come_in_another_order_each_epoch(
    source: BatchSource,
) -> None:
    batches = SentenceBatching(pool=4).over(source)  # all sentences are one pool
    orders = {tuple(len(batch.words_TB) for batch in of_epoch(batches, n)) for n in range(5)}
    assert len(orders) > 2
    assert {tuple(sorted(order)) for order in orders} == {(2, 4, 7, 8)}


def test_noise_is_drawn_anew_at_each_step(inventory: Inventory) -> None:
    text = EncodedText(np.array([2, 3, 4, 5, 6, 7, 8, END] * 5, np.int32), (), 5, "")
    source = BatchSource(text, inventory, 1, 8, "unk", seed=1, input_noise=1.0)
    some = of_epoch(StreamBatching().over(source), 0)
    read = {tuple(fed_in(batch).flatten().tolist()) for batch in some}
    assert len(read) > 2  # without noise the same eight inputs at each of the five steps
