"""Blocks read by several processes, which are simulated one after another in this one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charlm.run.stored_weights import load_run
from charlm.scoring.evaluation.state_blocks import BlockReader, Blocks
from charlm.scoring.likelihood import streams
from charlm.scoring.likelihood.log_z import MeteredOutput
from charlm.scoring.likelihood.nll import FormVectors, continued_nll, sentence_nlls
from charlm.text.vocabulary.encoding import FormIds, encode_sentences

Pool = Callable[..., Any]

BLOCKS = [
    [words.split() for words in ("a b c", "", "zz b", "g h a a a", "c", "d d e f")],
    [words.split() for words in ("b", "a zz yy d", "c c c")],
]


def reader_of(run: Path, *, metered: bool = False) -> BlockReader:
    loaded = load_run(run)
    if metered:
        loaded.model.output = MeteredOutput(loaded.model.output)
    vectors = FormVectors(loaded.model, loaded.inventory, oov_input="spelling")
    return BlockReader(vectors, precision="fp32")


@pytest.mark.parametrize("n_processes", [1, 2, 4])
def test_blocks_read_by_several_are_those_read_by_one(
    n_processes: int, run: Path, beside: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SENTENCES_AT_ONCE", 2)
    pool = beside([reader_of(run, metered=True) for _ in range(n_processes)])
    blocks = Blocks(pool, ("carried", "sentence"))
    vectors = reader_of(run).vectors
    state, n_tokens = vectors.model.context.initial_state(1), 0
    for block in BLOCKS:
        form_ids = FormIds(vectors.inventory)
        ids = encode_sentences(block, form_ids)
        found = blocks.nlls(ids, spellings=form_ids.spellings)
        spelled = form_ids.spellings
        carried, state = continued_nll(vectors, np.concatenate(ids), spellings=spelled, state=state)
        alone = np.concatenate(sentence_nlls(vectors, ids, spellings=spelled))
        assert list(found) == ["carried", "sentence"]
        # The metered output computes log Z and the score separately.
        assert found["carried"].tolist() == pytest.approx(carried.tolist(), abs=1e-5)
        assert found["sentence"].tolist() == pytest.approx(alone.tolist(), abs=1e-5)
        n_tokens += len(carried)  # log Z is measured in the first state
    assert blocks.log_z.n_tokens == n_tokens
    if n_processes > 1:  # the first process has the stream, the others the sentences
        assert [len(tasks[0].batches) for tasks in pool.rounds] == [0, 0]
        assert all(task.stream is None for tasks in pool.rounds for task in tasks[1:])


def test_without_a_stream_the_first_process_reads_sentences_too(run: Path, beside: Pool) -> None:
    readers = [reader_of(run) for _ in range(2)]
    pool, alone = beside(readers), beside(readers[:1])
    sentences = [[word] * n for word in "abcdef" for n in range(30)]
    form_ids = FormIds(readers[0].vectors.inventory)
    ids = encode_sentences(sentences, form_ids)
    two = Blocks(pool, ("sentence",)).nlls(ids, spellings=[])
    one = Blocks(alone, ("sentence",)).nlls(ids, spellings=[])
    assert two["sentence"].tobytes() == one["sentence"].tobytes()
    assert [len(task.batches) > 0 for task in pool.rounds[0]] == [True, True]


def test_a_text_begins_with_nothing_carried(run: Path, beside: Pool) -> None:
    pool = beside([reader_of(run)])
    form_ids = FormIds(pool.workers[0].vectors.inventory)
    ids = encode_sentences(BLOCKS[0], form_ids)
    first, second = Blocks(pool, ("carried",)), Blocks(pool, ("carried",))
    once = first.nlls(ids, spellings=form_ids.spellings)["carried"]
    after = first.nlls(ids, spellings=form_ids.spellings)["carried"]
    again = second.nlls(ids, spellings=form_ids.spellings)["carried"]
    assert once.tobytes() == again.tobytes() != after.tobytes()
