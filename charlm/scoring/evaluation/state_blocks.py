"""Blocks of a text read in one state or both, with their sentences divided among processes.

Sentences that start from the initial state may be read by any process, and they are handed out in
whole batches. So figures do not depend on the number of processes, to the bit if the number of
threads is the same. The carried stream cannot be cut: the first process reads it, and gets fewer
sentences in return.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from charlm.processes.worker_pool import WorkerPool, shared_out
from charlm.runtime import autocast
from charlm.scoring.likelihood.log_z import LogZ, MeteredOutput
from charlm.scoring.likelihood.nll import FormVectors, Nlls, batch_nlls, continued_nll
from charlm.scoring.likelihood.streams import sentence_batches
from charlm.text.vocabulary.encoding import Ids

# A token of the stream costs as much as 1.2 (char-small) to 2.5 (char-large) tokens of sentences
# side by side, measured on one core.
STREAM_COST = 2


class BlockTask(NamedTuple):
    """What one process reads of a block."""

    stream: Ids | None  # all of it, after the carried state; None: another process reads it
    begins: bool  # whether the text begins here, with no carried state
    batches: list[list[Ids]]  # sentences, each from the initial state, the shortest first
    spellings: Sequence[str]  # of the forms outside the vocabulary
    metered: str  # the state in which log Z is measured


class BlockAnswer(NamedTuple):
    """nll in nats of the tokens of a task."""

    stream: Nlls | None
    batches: list[list[Nlls]]
    log_z: LogZ | None  # None: the model is not meant to be used unnormalised


class BlockReader:
    """Does block tasks with a model; it carries the stream's state from one task to the next."""

    def __init__(self, vectors: FormVectors, *, precision: str) -> None:
        self.vectors = vectors
        self.precision = precision
        self._carried = vectors.model.context.initial_state(1)

    def __call__(self, task: BlockTask) -> BlockAnswer:
        vectors, spellings = self.vectors, task.spellings
        stream: Nlls | None = None
        with autocast(vectors.device, self.precision):
            if task.stream is not None:
                if task.begins:
                    self._carried = vectors.model.context.initial_state(1)
                # Every block ends with a sentence's `</s>`, the first input of the next block.
                stream, self._carried = continued_nll(
                    vectors, task.stream, spellings=spellings, state=self._carried
                )
            log_z = {"carried": self._log_z()}
            batches = [batch_nlls(vectors, each, spellings=spellings) for each in task.batches]
            log_z["sentence"] = self._log_z()
        return BlockAnswer(stream, batches, log_z[task.metered])

    def _log_z(self) -> LogZ | None:
        output = self.vectors.model.output
        return output.read_off() if isinstance(output, MeteredOutput) else None


class Blocks:
    """The blocks of one text, read by all processes in the states that are asked for."""

    def __init__(self, pool: WorkerPool[BlockTask, BlockAnswer], states: Sequence[str]) -> None:
        self.pool = pool
        self.states = states
        self.log_z = LogZ()  # so far
        self._begins = True

    def nlls(self, sentences: Sequence[Ids], *, spellings: Sequence[str]) -> dict[str, Nlls]:
        batches = sentence_batches(sentences) if "sentence" in self.states else []
        owned = self._owned(batches, sentences)
        tasks = [
            BlockTask(
                np.concatenate(sentences) if "carried" in self.states and not rank else None,
                self._begins,
                [[sentences[i] for i in batches[number]] for number in numbers],
                spellings,
                self.states[0],
            )
            for rank, numbers in enumerate(owned)
        ]
        answers = self.pool.do(tasks)
        self._begins = False
        self.log_z = sum((each.log_z for each in answers if each.log_z), self.log_z)
        found: dict[str, Nlls] = {}
        if answers[0].stream is not None:
            found["carried"] = answers[0].stream
        if batches:
            order = [i for numbers in owned for number in numbers for i in batches[number]]
            nlls = [nll for answer in answers for batch in answer.batches for nll in batch]
            found["sentence"] = np.concatenate([nlls[k] for k in np.argsort(order)])
        return found

    def _owned(self, batches: Sequence[Sequence[int]], sentences: Sequence[Ids]) -> list[list[int]]:
        """Which batches each process reads."""
        costs = [sum(len(sentences[i]) for i in batch) for batch in batches]
        loads = [0] * self.pool.size
        if "carried" in self.states:
            loads[0] = STREAM_COST * sum(map(len, sentences))
        return shared_out(costs, loads=loads)
