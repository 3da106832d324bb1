"""Every token is predicted once, from the token before it, by any batch made in any order."""

import numpy as np
import pytest
import torch

from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of
from charlm.training.recipe.batching import Batch, BatchSource, StreamBatches, StreamBatching

N_WORDS = 130  # ids of a text without a word twice tell their places
SHAPES = [(1, 1, 1), (1, 20, 35), (3, 20, 35), (5, 4, 1), (97, 4, 7), (101, 20, 35), (128, 20, 3)]


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    words = [f"w{chr(0x100 + n)}" for n in range(N_WORDS - 2)]
    return inventory_of([words], min_count=1, min_char_count=1)


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
        assert batch.n_tokens == len(pairs) > 0
        assert batch.words_TB.shape[0] <= bptt
        assert batch.words_TB.shape[1] == n_streams
        predicted += [target for target, _ in pairs]
    assert sorted(predicted) == ids


@pytest.mark.parametrize(("n_tokens", "n_streams", "bptt"), SHAPES)
def test_the_chunks_of_a_stream_are_one_piece_of_the_text(
    inventory: Inventory, n_tokens: int, n_streams: int, bptt: int
) -> None:
    ids = list(range(2, 2 + n_tokens))
    batches = batches_of(ids, inventory, n_streams=n_streams, bptt=bptt)
    columns = torch.cat([batch.words_TB for batch in batches.from_step(0)]).T
    assert [x for x in columns.flatten().tolist() if x != -1] == ids


def test_a_batch_made_alone_equals_the_one_made_in_order(inventory: Inventory) -> None:
    batches = batches_of(list(range(2, 103)), inventory, n_streams=4, bptt=7)
    for step, in_order in reversed(list(enumerate(batches.from_step(0)))):
        alone = batches.batch(step)
        assert torch.equal(alone.where_TB, in_order.where_TB)
        assert torch.equal(alone.words_TB, in_order.words_TB)
        assert torch.equal(alone.forms.letters_NL, in_order.forms.letters_NL)
    assert len(batches) == step + len(list(batches.from_step(0)))


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
    assert moved.n_tokens == batch.n_tokens
