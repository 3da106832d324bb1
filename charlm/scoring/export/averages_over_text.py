"""Running a model over many streams of text side by side, one given or drawn word per step.

Texts are word ids with every sentence closed by `</s>`, as in training and evaluation. `<s>` is
inserted only where an n-gram model is made from them, since its n-grams begin with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.errors import DataError
from charlm.ngram import word_ids as ngram_words
from charlm.scoring.likelihood.nll import FormVectors
from charlm.scoring.likelihood.sampling.draw import Warper, draw_several, generator_of
from charlm.scoring.likelihood.sampling.sample_rows import begun_again, drawn, opened, read
from charlm.scoring.likelihood.streams import Streams
from charlm.scoring.likelihood.walker import Paths
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import Ids

STREAMS = 512  # side by side; more streams make a step slower in proportion
# Tokens of a stream. The unfinished sentence at its end, some twenty words, is lost.
LEAST_LENGTH = 2000

FOLLOWERS = 1 << 32  # the row number of the generator that draws followers

OnTokens = Callable[[int], None]  # called with the number of tokens done


@dataclass(frozen=True)
class StreamModel:
    """A model with its vocabulary's vectors, and whether it carries its state past `</s>`."""

    vectors: FormVectors
    carries_state: bool
    source: object  # what messages call it

    def step(self, words_B: Ids, at: Paths, *, start: Paths) -> Paths:
        """Every stream one word further; after `</s>` at `start`, unless the state is carried."""
        behind = read(self.vectors, words_B, state=at.state, spellings=[])
        ends = words_B == END
        if self.carries_state or not ends.any():
            return behind
        where_B = torch.from_numpy(ends).to(self.vectors.device)
        return begun_again(behind, start, where_B=where_B)


@torch.no_grad()
def sampled_text(model: StreamModel, n_tokens: int, *, seed: int, on_tokens: OnTokens) -> Ids:
    """Word ids of whole sentences drawn from the model, at most `n_tokens` of them.

    Raises:
        DataError: the model never ends a sentence, or gives no finite numbers.
    """
    n_streams = max(1, min(STREAMS, n_tokens // LEAST_LENGTH))
    generators = [generator_of(seed, row=row) for row in range(n_streams)]
    start, at = opened(model.vectors, 1), opened(model.vectors, n_streams)
    n_steps = n_tokens // n_streams
    text_TB = np.empty((n_steps, n_streams), np.int32)
    for t in range(n_steps):
        log_probs_BV = model.vectors.model.output.log_probs(at.h_NH)
        words_B = drawn(log_probs_BV, generators, warper=Warper(), source=model.source)
        text_TB[t] = words_B.cpu().numpy()
        at = model.step(text_TB[t], at, start=start)
        on_tokens((t + 1) * n_streams)
    whole = [_whole_sentences(column) for column in text_TB.T]
    ids = np.concatenate(whole)
    if not len(ids):
        raise DataError(
            f"{model.source}: ended no sentence in {n_tokens} tokens; expected sentences; draw "
            "more tokens, or train it longer"
        )
    return ids


def _whole_sentences(words: Ids) -> Ids:
    ends = np.flatnonzero(words == END)
    return words[: ends[-1] + 1] if len(ends) else words[:0]


@torch.no_grad()
def distributions(
    model: StreamModel, ids: Ids, *, n_streams: int = STREAMS
) -> Iterator[tuple[Ids, Tensor]]:
    """Step through a text cut into streams, and yield the input words, (B,), and P of the next.

    P has one row per stream, shape (B, V); a stream that has ended gives no more rows. A stream
    that begins inside a sentence sees only one word before its first prediction.
    """
    n_streams = min(n_streams, len(ids))
    streams = Streams(ids, n_streams=n_streams)
    start = opened(model.vectors, 1)
    network = model.vectors.model
    at = Paths(start.h_NH[:0], network.context.initial_state(n_streams))
    for t in range(streams.length):
        inputs_TB, targets_TB = streams.chunk(t, t + 1)
        at = model.step(inputs_TB[0], at, start=start)
        n_left = int((targets_TB[0] >= 0).sum())  # the last streams are the shorter ones
        yield inputs_TB[0, :n_left], network.output.log_probs(at.h_NH[:n_left]).exp()


def drawn_followers(
    model: StreamModel,
    ids: Ids,
    *,
    n_drawn: int,
    seed: int,
    on_tokens: OnTokens,
    n_streams: int = STREAMS,
) -> Ids:
    """Words that the model draws at every position of a text, shape (len(ids), n_drawn).

    A single random number decides all draws of a position, at equal distances in [0, 1). So a word
    with a probability of at least k/n_drawn is drawn at least k times.
    """
    n_streams = min(n_streams, len(ids))
    length = Streams(ids, n_streams=n_streams).length
    words_BTK = np.zeros((n_streams, length, n_drawn), np.int32)
    generator = generator_of(seed, row=FOLLOWERS)
    parts_K = torch.arange(n_drawn, dtype=torch.float64) / n_drawn
    for t, (_, probs_BV) in enumerate(distributions(model, ids, n_streams=n_streams)):
        numbers_B = torch.from_numpy(generator.random(len(probs_BV)) / n_drawn)
        numbers_BK = (numbers_B[:, None] + parts_K).to(probs_BV.device)
        words_BTK[: len(probs_BV), t] = draw_several(probs_BV, numbers_BK).cpu().numpy()
        on_tokens(min(len(ids), (t + 1) * n_streams))
    return words_BTK.reshape(-1, n_drawn)[: len(ids)]


def ngram_ids(word_ids: Ids) -> Ids:
    """A neural model's word ids as ids of n-gram models, with `<s>` before each sentence."""
    numbers = ngram_numbers(int(word_ids.max(initial=UNK)) + 1)
    ends = np.flatnonzero(word_ids == END)
    starts = np.concatenate([[0], ends[:-1] + 1])
    return np.insert(numbers[word_ids], starts, ngram_words.START).astype(np.int32)


def ngram_numbers(n_words: int) -> npt.NDArray[np.int64]:
    """For each of a neural model's `n_words` word ids, the n-gram model's id.

    Both list their words in the same order; n-gram models have three marks first, neural models
    two.
    """
    ids = np.arange(1, n_words + 1)
    ids[[END, UNK]] = ngram_words.END, ngram_words.UNK
    return ids
