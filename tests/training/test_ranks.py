"""Messages between several processes, seen from one of them, with torch's calls replaced."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, distributed, nn

from charlm.errors import ConfigError
from charlm.model.kernels import sparse_rows
from charlm.processes.group import RankLostError
from charlm.text.vocabulary.encoding import EncodedText, FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import inventory_of
from charlm.training import ranks as module
from charlm.training.ranks import ALONE, Ranks, check_batch_size
from charlm.training.recipe.batching import Batch, BatchSource, SentenceBatching, StreamBatching

FIRST, SECOND = Ranks(0, 2), Ranks(1, 2)
SENTENCES = [words.split() for words in ("a b c", "d e", "a", "c d e a b", "e e b")]


@pytest.mark.parametrize(
    ("batch_size", "n_processes", "sizes"), [(20, 3, "18 or 21"), (3, 4, "4"), (5, 2, "4 or 6")]
)
def test_unequal_shares_are_refused(batch_size: int, n_processes: int, sizes: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_batch_size(batch_size, n_processes)
    assert str(caught.value) == (
        f"option 'batch_size' of recipe is {batch_size} for {n_processes} processes; expected a "
        f"multiple, so that all have the same share; use --batch-size {sizes}"
    )
    check_batch_size(n_processes * 5, n_processes)


def test_a_run_that_is_resumed_keeps_its_batch_size_and_may_have_fewer_processes() -> None:
    with pytest.raises(ConfigError, match="have the same share; go on with 5 of them$"):
        check_batch_size(20, 6, is_resumed=True)


def test_processes_draw_their_dropout_from_different_seeds() -> None:
    assert len({Ranks(rank, 4).seed(seed) for rank in range(4) for seed in (1, 2)}) == 8


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("all_reduce", lambda ranks: ranks.summed(1.0)),
        ("all_reduce", lambda ranks: ranks.sum_gradients([nn.Parameter(torch.ones(2))])),
        ("broadcast", lambda ranks: ranks.decided(True)),
        ("broadcast", lambda ranks: ranks.spread([torch.ones(2)])),
        ("broadcast_object_list", lambda ranks: ranks.from_first(int)),
        ("all_gather", lambda ranks: ranks.whole(torch.ones(2))),
    ],
)
def test_a_connection_that_is_lost_is_one_line(
    name: str, call: Callable[[Ranks], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer")

    monkeypatch.setattr(distributed, name, lost)
    with pytest.raises(RankLostError) as caught:
        call(SECOND)
    assert str(caught.value) == (
        "process 1 of 2: another process of the training ended or gives no answer; expected all "
        "to go on to the end; what was saved before is kept; go on with --resume"
    )


def test_what_the_first_process_fails_to_make_is_told_to_the_others_before_it_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[Any] = []

    def broadcast(values: list[Any], **_: object) -> None:
        told.append(list(values))

    monkeypatch.setattr(distributed, "broadcast_object_list", broadcast)
    with pytest.raises(ZeroDivisionError):
        FIRST.from_first(lambda: 1 / 0)
    with pytest.raises(RankLostError):
        SECOND.from_first(lambda: 7.0)
    assert told == [[None], [None]]


@pytest.mark.parametrize("bucket", [1, 5, 100])
def test_gradients_are_summed_and_one_that_no_process_has_stays_none(
    bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []

    def all_reduce(flat: Tensor) -> None:  # the other process has the same gradients
        sent.append(len(flat))
        flat.mul_(2)

    monkeypatch.setattr(distributed, "all_reduce", all_reduce)
    monkeypatch.setattr(module, "BUCKET", bucket)
    parameters = [nn.Parameter(torch.zeros(shape)) for shape in ((2, 3), (4,), (), (1, 2))]
    for number in (0, 2, 3):
        parameters[number].grad = torch.full_like(parameters[number], number + 1.0)
    FIRST.sum_gradients(parameters)
    assert parameters[1].grad is None
    for number in (0, 2, 3):
        expected = torch.full_like(parameters[number], 2 * (number + 1.0))
        assert torch.equal(parameters[number].grad, expected)  # type: ignore[arg-type]
    assert sum(sent) == 13 + len(parameters)  # each number once, and one flag per parameter
    assert len(sent) == {1: 4, 5: 3, 100: 1}[bucket]


def test_a_gradient_that_only_another_process_has_becomes_this_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distributed, "all_reduce", lambda flat: flat.add_(3))
    parameter = nn.Parameter(torch.zeros(2))
    SECOND.sum_gradients([parameter])
    assert parameter.grad is not None and parameter.grad.tolist() == [3, 3]


def test_rows_of_all_processes_are_in_the_order_of_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = torch.arange(12.0).reshape(6, 2)

    def all_gather(into: list[Tensor], own: Tensor) -> None:
        assert torch.equal(own, rows[1::3])
        for rank, each in enumerate(into):
            each.copy_(rows[rank::3])

    monkeypatch.setattr(distributed, "all_gather", all_gather)
    second = Ranks(1, 3)
    assert torch.equal(second.whole(rows[second.columns]), rows)


def test_alone_nothing_is_changed_and_nobody_is_asked() -> None:
    tensor = torch.ones(3)
    parameter = nn.Parameter(torch.ones(2))
    ALONE.sum_gradients([parameter])
    ALONE.spread([tensor])
    assert parameter.grad is None
    assert ALONE.whole(tensor) is tensor
    assert ALONE.summed(0.1, 2) == (0.1, 2)
    assert ALONE.decided(True, False) == (True, False)
    assert ALONE.from_first(lambda: 5) == 5


def batches_of(batching: Any, ranks: Ranks) -> list[Batch]:
    inventory = inventory_of(SENTENCES, min_count=1, min_char_count=1)
    ids = np.concatenate(encode_sentences(SENTENCES, FormIds(inventory)))
    text = EncodedText(ids, (), len(SENTENCES), "")
    batches = batching.over(BatchSource(text, inventory, 4, 3, "unk", seed=5, ranks=ranks))
    batches.begin_epoch(1)
    return list(batches.from_step(0))


def words_fed(batch: Batch) -> Tensor:
    return batch.forms.words_N[batch.where_TB]


@pytest.mark.parametrize(
    "batching",
    [StreamBatching(shuffle="partial", reset=0.5), SentenceBatching(), SentenceBatching(pool=1)],
)
@pytest.mark.parametrize("size", [2, 4])
def test_the_shares_of_the_processes_are_the_batch(batching: Any, size: int) -> None:
    wholes = batches_of(batching, ALONE)
    shares = [batches_of(batching, Ranks(rank, size)) for rank in range(size)]
    assert [len(each) for each in shares] == [len(wholes)] * size
    for whole, *parts in zip(wholes, *shares, strict=True):
        n_streams = whole.words_TB.shape[1]
        for rank, part in enumerate(parts):
            assert part.whole == whole.whole
            assert part.is_fresh == whole.is_fresh
            if rank >= n_streams:  # one sentence is left, so the others have nothing to predict
                assert part.words_TB.tolist() == [[-1]] * len(whole.words_TB)
                assert (part.own.tokens, part.own.pairs, part.temporal_weight) == (0, 0, 0)
                continue
            columns = slice(rank, None, size)
            assert torch.equal(part.words_TB, whole.words_TB[:, columns])
            assert torch.equal(words_fed(part), words_fed(whole)[:, columns])
            assert (part.resets_TB is None) == (whole.resets_TB is None)
            if whole.resets_TB is not None:
                assert torch.equal(part.resets_TB, whole.resets_TB[:, columns])
        assert sum(part.own.tokens for part in parts) == whole.own.tokens == whole.whole.tokens
        assert sum(part.own.pairs for part in parts) == whole.own.pairs == whole.whole.pairs
        assert sum(part.temporal_weight for part in parts) == pytest.approx(whole.own.tokens)


def test_the_counts_of_a_batch_are_those_of_its_targets() -> None:
    first, second = batches_of(SentenceBatching(pool=1), ALONE)
    one = min((first, second), key=lambda batch: batch.words_TB.shape[1])
    four = second if one is first else first
    # Lengths with </s> are 4, 3, 2, 6, 4: a batch of one sentence, and one of the four others.
    length = one.own.tokens
    assert one.whole == (1, length, length - 1)
    assert four.whole == (4, 19 - length, 19 - length - 4)


def sparse(rows: list[int], values: list[list[float]]) -> Tensor:
    return torch.sparse_coo_tensor(
        torch.tensor([rows]), torch.tensor(values), (4, 2), check_invariants=False
    )


@pytest.mark.parametrize("other", ["none", "rows", "dense"])
@pytest.mark.parametrize("own", ["none", "rows", "dense"])
def test_the_gradient_of_a_large_table_is_row_sparse_where_no_process_has_a_dense_one(
    own: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"none": 0, "rows": 1, "dense": 2}
    theirs = torch.zeros(4, 2)
    if other != "none":
        theirs[3] = torch.tensor([5.0, 6.0])

    def all_reduce(tensor: Tensor, **how: Any) -> None:
        if how:
            assert how == {"op": distributed.ReduceOp.MAX}
            assert tensor.tolist() == [kinds[own]]
            tensor.clamp_(min=kinds[other])
        elif tensor.is_sparse:
            assert tensor.is_coalesced() and "dense" not in (own, other)
            assert (tensor.sparse_dim(), tensor.dense_dim()) == (1, 1)  # the same in all processes
            tensor.add_(theirs.to_sparse(1))
        else:  # the whole table and its flag
            assert len(tensor) == 9
            tensor.add_(torch.cat([theirs.flatten(), torch.tensor([float(other != "none")])]))

    monkeypatch.setattr(distributed, "all_reduce", all_reduce)
    monkeypatch.setattr(sparse_rows, "LARGE", 8)
    table = nn.Parameter(torch.zeros(4, 2))
    mine = sparse([2, 0, 2], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    table.grad = {"none": None, "rows": mine, "dense": mine.to_dense()}[own]
    expected = theirs + (mine.to_dense() if own != "none" else 0.0)
    FIRST.sum_gradients([table])
    if own == other == "none":
        assert table.grad is None
        return
    assert table.grad is not None
    assert table.grad.is_sparse == ("dense" not in (own, other))
    assert torch.equal(table.grad.to_dense(), expected)
