"""lmplz's stored answers, and a second, slow Kneser–Ney over dictionaries of tuples of words.

The slow estimator is written from the published rules and lmplz's own habits, and is itself tested
against lmplz's figures. It then answers what lmplz cannot be asked: a literal `<unk>`, and words
that do not occur.
"""

import lzma
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from charlm.ngram.backoff import BackoffModel

FIGURES = Path(__file__).parent / "lmplz"
UNK, START, END = "<unk>", "<s>", "</s>"

Ngram = tuple[str, ...]
Sentences = list[list[str]]
Entries = tuple[dict[Ngram, float], dict[Ngram, float]]


@dataclass(frozen=True)
class Figures:
    """An answer of lmplz, or what the slow estimator finds; log10."""

    probs: dict[Ngram, float]
    backoffs: dict[Ngram, float]
    discounts: list[tuple[float, ...]]
    fallback_orders: tuple[int, ...]


def parsed(answer: str) -> Figures:
    """The figures in an answer of lmplz: the telling lines of its messages, then the ARPA file."""
    messages, _, arpa = answer.partition("\\data\\\n")
    fallback = re.findall(r"for order (\d+)", messages)
    discounts = re.findall(r"^\d+ \S+ D1=(\S+) D2=(\S+) D3\+=(\S+)$", messages, re.MULTILINE)
    probs: dict[Ngram, float] = {}
    backoffs: dict[Ngram, float] = {}
    for fields in (line.split("\t") for line in arpa.split("\n") if "\t" in line):
        ngram = tuple(fields[1].split(" "))
        probs[ngram] = float(fields[0])
        if len(fields) > 2:
            backoffs[ngram] = float(fields[2])
    numbers = [tuple(map(float, each)) for each in discounts]
    return Figures(probs, backoffs, numbers, tuple(int(n) + 1 for n in fallback))


@pytest.fixture(scope="session")
def lmplz_says() -> Callable[[str, int, str], Figures]:
    """What lmplz answered for a text, an order and a pruning; see lmplz/make.py."""
    answers = lzma.decompress((FIGURES / "figures.txt.xz").read_bytes()).decode()
    by_head = dict(each.split("\n", 1) for each in answers.split("== ")[1:])
    return lambda name, order, pruning: parsed(by_head[f"{name} {order} {pruning}"])


@pytest.fixture(scope="session")
def text_of() -> Callable[[str], Sentences]:
    """The sentences of one of the stored texts."""

    def read(name: str) -> Sentences:
        lines = (FIGURES / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        return [line.split() for line in lines[:-1]]

    return read


@pytest.fixture(scope="session")
def entries_of() -> Callable[[BackoffModel], Entries]:
    """The log10 probabilities and back-offs of a model, by the words of each n-gram."""

    def entries(model: BackoffModel) -> Entries:
        probs: dict[Ngram, float] = {}
        backoffs: dict[Ngram, float] = {}
        for n, grams in enumerate(model.orders, 1):
            columns = model.ngram_words(n, slice(None))
            ngrams = [
                tuple(model.words[word] for word in row) for row in zip(*columns, strict=True)
            ]
            probs.update(zip(ngrams, grams.log10_probs.tolist(), strict=True))
            if n < model.order:
                backoffs.update(zip(ngrams, grams.log10_backoffs.tolist(), strict=True))
        return probs, backoffs

    return entries


@pytest.fixture
def play(tmp_path: Path) -> Callable[[str], Path]:
    """A program of this Python code, in a folder of its own."""

    def program(code: str) -> Path:
        folder = tmp_path / "programs"
        folder.mkdir()
        path = folder / "lmplz"
        path.write_text(f"#!{sys.executable} -SE\nimport os, sys, time\n{code}\n")
        path.chmod(0o755)
        return path

    return program


@pytest.fixture(scope="session")
def slow_estimate() -> Callable[..., Figures]:
    return estimated


def estimated(
    sentences: Sentences,
    *,
    order: int,
    prune: Sequence[int] = (0,),
    words: Iterable[str] = (),
    has_slip: bool = True,
) -> Figures:
    """Kneser–Ney of a text; `words` may name some that do not occur.

    `has_slip` puts the last n-grams into the discounts as lmplz does.
    """
    raw = raw_counts(sentences, order)
    thresholds = [*prune, *[prune[-1]] * order][:order]
    adjusted = [adjusted_counts(raw, n) for n in range(1, order + 1)]
    told = [dict(counts) for counts in adjusted]
    if has_slip:
        for ngram in last_ngrams(sentences, order):
            told[len(ngram) - 1][ngram] = raw[len(ngram)][ngram]
    discounts = [discounts_of(list(counts.values())) for counts in told]
    vocabulary = {UNK, END, *words, *(ngram[0] for ngram in raw[1])} - {START}
    probs: dict[Ngram, float] = {}
    backoffs = {(): 1.0}
    for n in range(1, order + 1):
        kept = {ngram for ngram in adjusted[n - 1] if raw[n][ngram] > thresholds[n - 1]}
        if n == 1:
            kept |= {(UNK,), (END,)} & set(adjusted[0])
        add_order(adjusted[n - 1], kept, discounts[n - 1][0], into=(probs, backoffs))
        if n == 1:
            listed = {*kept, (UNK,)} if thresholds[0] else {(word,) for word in vocabulary}
            share = backoffs.pop(()) / len(listed)
            probs.update({ngram: probs.get(ngram, 0.0) + share for ngram in listed})
            probs[START,] = 1.0
            kept = {*listed, (START,)}
        if n < order:
            backoffs.update(dict.fromkeys(kept, 1.0))
    with np.errstate(divide="ignore"):
        return Figures(
            {ngram: float(np.log10(p)) for ngram, p in probs.items()},
            {ngram: float(np.log10(p)) for ngram, p in backoffs.items()},
            [values for values, _ in discounts],
            tuple(n for n, (_, is_fallback) in enumerate(discounts, 1) if is_fallback),
        )


def raw_counts(sentences: Sentences, order: int) -> dict[int, Counter[Ngram]]:
    counts: dict[int, Counter[Ngram]] = {n: Counter() for n in range(1, order + 1)}
    for words in sentences:
        padded = [START, *words, END]
        for n, ngrams in counts.items():
            ngrams.update(tuple(padded[i : i + n]) for i in range(len(padded) - n + 1))
    return counts


def adjusted_counts(raw: dict[int, Counter[Ngram]], n: int) -> dict[Ngram, int]:
    """Counts of the text, or of distinct left neighbours; the unigram `<s>` has no part in it."""
    if n == len(raw):
        counts = dict(raw[n])
    else:
        neighbours = Counter(ngram[1:] for ngram in raw[n + 1])
        counts = {g: raw[n][g] if g[0] == START else neighbours[g] for g in raw[n]}
    return {ngram: count for ngram, count in counts.items() if ngram != (START,)}


def last_ngrams(sentences: Sentences, order: int) -> list[Ngram]:
    """The ends of the n-gram that lmplz sorts last, shorter than it and without `<s>`.

    It sorts by the last word, then the one before it, words by when they first occur. To it each
    sentence begins with as many `<s>` as the longest context has words.
    """
    ages = {START: 0, END: 1}
    for words in sentences:
        for word in words:
            ages.setdefault(word, len(ages))
    padded = [[*[START] * (order - 1), *words, END] for words in sentences]
    ngrams = [each[i : i + order] for each in padded for i in range(len(each) - order + 1)]
    last = max(ngrams, key=lambda ngram: [ages[word] for word in reversed(ngram)], default=[START])
    ends = [tuple(last[-n:]) for n in range(1, order)]
    return [end for end in ends if START not in end]


def discounts_of(counts: list[int]) -> tuple[tuple[float, ...], bool]:
    n = [counts.count(j) for j in range(5)]
    if 0 not in n[1:4]:
        y = n[1] / (n[1] + 2 * n[2])
        values = tuple(j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3))
        if all(0 <= value <= j for j, value in enumerate(values, 1)):
            return values, False
    return (0.5, 1.0, 1.5), True


def add_order(
    counts: dict[Ngram, int], kept: set[Ngram], discounts: tuple[float, ...], *, into: Entries
) -> None:
    """The probabilities of the n-grams kept, and the back-offs of their contexts."""
    probs, backoffs = into
    followers: dict[Ngram, list[Ngram]] = defaultdict(list)
    for ngram in counts:
        followers[ngram[:-1]].append(ngram)
    for context, ngrams in followers.items():
        if context not in backoffs:  # it was pruned, and with it all n-grams that begin with it
            continue
        total = sum(counts[ngram] for ngram in ngrams)
        taken = {g: discounts[min(counts[g], 3) - 1] if g in kept else counts[g] for g in ngrams}
        backoffs[context] = sum(taken.values()) / total
        for ngram in kept.intersection(ngrams):
            lower = probs[ngram[1:]] if len(ngram) > 1 else 0.0
            probs[ngram] = (counts[ngram] - taken[ngram]) / total + backoffs[context] * lower
