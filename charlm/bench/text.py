"""A text shaped like the Penn Treebank's, made from a seed, so that a benchmark needs no data.

Ranks are drawn from Zipf's law, so a chunk repeats its words about as often as real text does: the
number of its distinct forms decides what an encoder of forms saves. The words mean nothing.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from charlm.bench.bench_options import PrepBenchOptions
from charlm.errors import ConfigError
from charlm.text.corpus.tokens import UNK_WORD
from charlm.text.io.files import atomic_write

N_WORDS = 10_000
UNK_RANK = 2  # of PTB's words, `<unk>` is the third most frequent
WORDS_PER_SENTENCE = 21  # of PTB, without </s>
LETTERS = "etaoinsrhldcumfpgwybvkxjqz"  # from the most frequent one on
ZIPF, MANDELBROT = 1.1, 2.7  # 700 tokens have 360 distinct forms, as PTB's on average
# A word of rank r has about 2 + 0.62·ln r letters: PTB's first hundred words 3.8, the rarest 7.5.
SHORTEST, GROWTH, SPREAD, LONGEST = 2.0, 0.62, 2.0, 19
SIZES = {"train": 1.0, "valid": 0.08, "test": 0.09}  # in shares of the training text, as in PTB


def text_of(options: PrepBenchOptions) -> AbstractContextManager[Path]:
    """The corpus directory of the options, or a temporary one.

    Raises:
        ConfigError: a length or seed beside a corpus directory, of whose text all is taken.
    """
    for name in ("tokens", "seed"):
        value = getattr(options, name)
        if options.data is not None and value != getattr(PrepBenchOptions, name):
            raise ConfigError(
                f"--{name} {value}: is for a text that is generated, and all of {options.data} is "
                "taken; leave one out"
            )
    return corpus(options.data, n_tokens=options.tokens, seed=options.seed)


@contextmanager
def corpus(
    data: str | Path | None,
    *,
    n_tokens: int,
    n_words: int = N_WORDS,
    longer: int = 1,
    seed: int = 0,
) -> Iterator[Path]:
    """The folder `data`, or a temporary one with a generated text of `n_tokens` for training."""
    if data is not None:
        yield Path(data)
        return
    with TemporaryDirectory(prefix="charlm-bench-") as folder:
        for number, (split, share) in enumerate(SIZES.items()):
            with atomic_write(Path(folder) / f"{split}.txt") as file:
                made = sentences(
                    int(n_tokens * share),
                    n_words=n_words,
                    longer=longer,
                    is_full=split == "train",
                    seed=(seed, number),
                )
                for words in made:
                    file.write(" ".join(words).encode() + b"\n")
        yield Path(folder)


def sentences(
    n_tokens: int,
    *,
    n_words: int = N_WORDS,
    longer: int = 1,
    is_full: bool = False,
    seed: int | tuple[int, ...] = 0,
) -> Iterator[list[str]]:
    """Sentences of `n_tokens` tokens in all, of `n_words` words; `</s>` and `<unk>` are counted.

    Words have `longer` times their letters. Where it `is_full`, it ends with every word once, so
    that its vocabulary is whole.
    """
    vocabulary = [word * longer for word in spellings(n_words - 2)]
    vocabulary.insert(UNK_RANK, UNK_WORD)
    random = np.random.default_rng(seed)
    weights = (np.arange(len(vocabulary)) + MANDELBROT) ** -ZIPF
    ends = np.cumsum(weights / weights.sum())
    left = n_tokens
    while left > 1:
        length = min(left - 1, 1 + int(random.poisson(WORDS_PER_SENTENCE - 1)))
        drawn = np.searchsorted(ends, random.random(length)).clip(max=len(vocabulary) - 1)
        yield [vocabulary[rank] for rank in drawn]
        left -= length + 1
    if is_full:
        yield vocabulary


@lru_cache(maxsize=1)
def spellings(n_words: int) -> tuple[str, ...]:
    """Distinct made words, frequent ones short; the same for every text."""
    random = np.random.default_rng(0)
    letters = np.array(list(LETTERS))
    weights = 1 / (np.arange(len(letters)) + 3.0)
    weights /= weights.sum()
    found: dict[str, None] = {}
    while len(found) < n_words:
        mean = SHORTEST + GROWTH * np.log(len(found) + 1)
        length = int(np.clip(random.normal(mean, SPREAD), 1, LONGEST))
        found.setdefault("".join(random.choice(letters, length, p=weights)))
    return tuple(found)
