"""Sentences drawn from an n-gram model, side by side, each from the start of a sentence."""

from collections.abc import Iterator

import numpy as np
import torch

from charlm.ngram.backoff import BackoffModel
from charlm.ngram.ngram_states import NgramSteps, Rows
from charlm.scoring.likelihood.sampling.sample_rows import Drawing, SentencePlan, drawn
from charlm.text.corpus.tokens import END


def ngram_sentences(
    model: BackoffModel, plan: SentencePlan, *, n: int, batch_size: int
) -> Iterator[Drawing]:
    """Sentences 0 … n − 1, in order; all words of the prefix are the model's."""
    steps = NgramSteps(model)
    start, prefix_log_probs = _behind_prefix(steps, plan)
    for first in range(0, n, batch_size):
        indices = range(first, min(first + batch_size, n))
        rows = [plan.begun(index, prefix_log_probs) for index in indices]
        at = steps.gather(start, np.zeros(len(rows), np.int64))
        open_rows = rows
        while open_rows:
            open_rows, at = _step(steps, open_rows, at, plan=plan)
        yield from rows


def _behind_prefix(steps: NgramSteps, plan: SentencePlan) -> tuple[Rows, list[float]]:
    """The position after the prefix, and the log-probabilities of its words in nats."""
    position, log_probs = steps.start(1), list[float]()
    alone = np.zeros(1, np.int64)
    for word in plan.prefix:
        ids = np.array([steps.words.index(word)])
        log_probs += steps.log_probs(position, rows=alone, words=ids).tolist()
        position = steps.read(position, rows=alone, tokens=[word], words=ids)
    return position, log_probs


def _step(
    steps: NgramSteps, rows: list[Drawing], at: Rows, *, plan: SentencePlan
) -> tuple[list[Drawing], Rows]:
    """Draw a word in each row; the rows that are not over, and their positions after it."""
    log_probs_BV = torch.from_numpy(steps.distribution(at))
    generators = [row.generator for row in rows]
    words_B = drawn(log_probs_BV, generators, warper=plan.warper, source=steps.model.source)
    own_B = log_probs_BV.gather(1, words_B[:, None])[:, 0]
    for row, word, log_prob in zip(rows, words_B.tolist(), own_B.tolist(), strict=True):
        row.log_probs.append(0.0 + log_prob)
        if word != END:
            row.words.append(steps.words[word])
    kept = [place for place, row in enumerate(rows) if not row.is_over]
    left = [rows[place] for place in kept]
    ids = words_B.numpy()[kept]
    tokens = [row.words[-1] for row in left]
    return left, steps.read(at, rows=np.array(kept, np.int64), tokens=tokens, words=ids)
