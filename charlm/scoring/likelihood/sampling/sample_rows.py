"""Rows of text drawn side by side: their states, and the sentences that result.

A row is an endless stream (in export) or a sequence of sentences: when one ends, the next takes
over its row. All rows take a step together, since the cost of a step hardly depends on their
number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from charlm.errors import broken_model
from charlm.model.contract import State, merge_states
from charlm.scoring.likelihood.nll import FormVectors
from charlm.scoring.likelihood.sampling.draw import Warper, draw_several, generator_of
from charlm.scoring.likelihood.streams import as_words
from charlm.scoring.likelihood.walker import Paths
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import FormIds, Ids


@torch.no_grad()
def read(vectors: FormVectors, form_ids_B: Ids, *, state: State, spellings: list[str]) -> Paths:
    """The paths after one more form each."""
    h_TBH, state = vectors.model.context(vectors.of(form_ids_B[None], spellings), state)
    return Paths(h_TBH[-1], state)


def opened(vectors: FormVectors, n_rows: int) -> Paths:
    """Rows that have read `</s>` from the initial state, as at the beginning of every text."""
    state = vectors.model.context.initial_state(n_rows)
    return read(vectors, np.full(n_rows, END, np.int32), state=state, spellings=[])


def begun_again(paths: Paths, start: Paths, *, where_B: Tensor) -> Paths:
    """The paths, replaced by `start` (a single path) where `where_B` is true."""
    starts = start.gather(torch.zeros(len(where_B), dtype=torch.int64, device=where_B.device))
    return Paths(
        torch.where(where_B[:, None], starts.h_NH, paths.h_NH),
        merge_states(starts.state, paths.state, where_B=where_B),
    )


def drawn(
    log_probs_BV: Tensor, generators: list[np.random.Generator], *, warper: Warper, source: object
) -> Tensor:
    """The next word of each row, shape (B,); `source` is what messages call the model.

    Raises:
        DataError: the log-probabilities are not finite.
    """
    if not torch.isfinite(log_probs_BV.amax(dim=-1)).all():  # NaN wins every comparison
        raise broken_model(source)
    numbers_B1 = torch.tensor([[each.random()] for each in generators], dtype=torch.float64)
    return draw_several(warper.weights(log_probs_BV), numbers_B1.to(log_probs_BV.device))[:, 0]


@dataclass(frozen=True)
class SentencePlan:
    """The settings that all sentences share."""

    seed: int = 1
    warper: Warper = Warper()
    prefix: tuple[str, ...] = ()
    max_length: int = 200  # words
    spell: Callable[[np.random.Generator], str] | None = None  # each `<unk>`; None: it stays so

    def begun(self, index: int, prefix_log_probs: Sequence[float]) -> "Drawing":
        """A sentence that has its prefix, whose words have these log-probabilities, in nats."""
        generator = generator_of(self.seed, row=index)
        return Drawing(index, generator, [*self.prefix], [*prefix_log_probs], self.max_length)


@dataclass
class Drawing:
    """A sentence while it is being drawn."""

    index: int
    generator: np.random.Generator
    words: list[str]
    log_probs: list[float]  # nats, of each word and then of `</s>`
    max_length: int

    @property
    def is_finished(self) -> bool:
        """Whether `</s>` was drawn."""
        return len(self.log_probs) > len(self.words)

    @property
    def is_over(self) -> bool:
        return self.is_finished or len(self.words) == self.max_length


class SentenceDrawer:
    """Draws sentences, a batch of them side by side."""

    def __init__(self, vectors: FormVectors, plan: SentencePlan, *, source: object) -> None:
        self._vectors, self._plan, self._source = vectors, plan, source
        self._words = vectors.inventory.words
        self._start, self._prefix_log_probs = self._behind_prefix()

    @torch.no_grad()
    def _behind_prefix(self) -> tuple[Paths, list[float]]:
        """The path after the prefix, and the log-probabilities of its words in nats."""
        vectors, prefix = self._vectors, self._plan.prefix
        start = opened(vectors, 1)
        if not prefix:
            return start, []
        form_ids = FormIds(vectors.inventory)
        ids = np.array([form_ids[word] for word in prefix], np.int32)
        x_T1E = vectors.of(ids[:, None], form_ids.spellings)
        h_T1H, state = vectors.model.context(x_T1E, start.state)
        words_T = torch.from_numpy(as_words(ids, len(self._words)))
        h_TH = torch.cat([start.h_NH, h_T1H[:-1, 0]])
        nll_T = vectors.model.output.nll(h_TH, words_T.to(vectors.device))
        return Paths(h_T1H[-1], state), (0.0 - nll_T.double()).tolist()

    @torch.no_grad()
    def sentences(self, n: int, *, batch_size: int) -> Iterator[Drawing]:
        """Sentences 0 … n − 1, in order."""
        coming = (self._plan.begun(index, self._prefix_log_probs) for index in range(n))
        rows = list(islice(coming, batch_size))
        first = torch.zeros(len(rows), dtype=torch.int64, device=self._vectors.device)
        at = self._start.gather(first)
        over: dict[int, Drawing] = {}
        n_told = 0
        while rows:
            at = self._step(rows, at)
            over.update((row.index, row) for row in rows if row.is_over)
            rows, at = self._refilled(rows, at, coming=coming)
            while n_told in over:
                yield over.pop(n_told)
                n_told += 1

    def _step(self, rows: list[Drawing], at: Paths) -> Paths:
        """Draw and read one word in each row."""
        log_probs_BV = self._vectors.model.output.log_probs(at.h_NH)
        words_B = drawn(
            log_probs_BV,
            [row.generator for row in rows],
            warper=self._plan.warper,
            source=self._source,
        )
        own_B = log_probs_BV.gather(1, words_B[:, None])[:, 0].double()
        form_ids = words_B.to(torch.int32).cpu().numpy()
        spellings: list[str] = []
        for place, (row, log_prob) in enumerate(zip(rows, own_B.tolist(), strict=True)):
            row.log_probs.append(0.0 + log_prob)
            word = int(form_ids[place])
            if word == UNK and self._plan.spell is not None:
                spelling = self._plan.spell(row.generator)
                form_ids[place] = len(self._words) + len(spellings)
                spellings.append(spelling)
                row.words.append(spelling)
            elif word != END:
                row.words.append(self._words[word])
        return read(self._vectors, form_ids, state=at.state, spellings=spellings)

    def _refilled(
        self, rows: list[Drawing], at: Paths, *, coming: Iterator[Drawing]
    ) -> tuple[list[Drawing], Paths]:
        """Give the rows of finished sentences to new ones; drop these rows when none is left."""
        ended = [row.is_over for row in rows]
        if not any(ended):
            return rows, at
        device = self._vectors.device
        at = begun_again(at, self._start, where_B=torch.tensor(ended, device=device))
        rows = [next(coming, row) if row.is_over else row for row in rows]
        kept = [place for place, row in enumerate(rows) if not row.is_over]
        if len(kept) == len(rows):
            return rows, at
        at = at.gather(torch.tensor(kept, dtype=torch.int64, device=device))
        return [rows[place] for place in kept], at
