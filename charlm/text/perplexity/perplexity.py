"""What is counted of a text, and the perplexities that follow.

Everything here is log10. `<unk>` is a word like any other, as under `ngram -unk`: SRILM's count of
OOVs is then 0, if the model has `<unk>`, and its `ppl=` is the papers' number. A figure without
OOVs leaves the `<unk>` tokens out of both sum and denominator; they still are context for what
follows.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from charlm.errors import DataError
from charlm.interface.short_repr import ShortRepr
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.pieces import n_pieces
from charlm.text.corpus.tokens import END_WORD, UNK, UNK_WORD, FrequentWords, form_of, share
from charlm.text.io.files import display_name
from charlm.text.perplexity.spelled_words import Additive, Spelling, Spells, spelling_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MANY = 1e7  # perplexities from here on are shown with an exponent; no vocabulary is as large
MOST_DECIMALS = 6  # of a difference: what is below is rounding


@dataclass(frozen=True)
class Counts(Additive):
    """The counts of a text, which no model changes."""

    n_sentences: int = 0
    n_words: int = 0
    n_oov: int = 0  # words that are <unk> at the output, those written so included
    n_changed: int = 0  # words that the model's text normalisation changed
    n_characters: int = 0  # code points, a blank between words and a newline a sentence included
    n_bytes: int = 0  # of the same, in UTF-8
    n_pieces: int = 0  # words marked as pieces of words, whose marks are characters, too
    n_unmarked: int = 0  # sentences whose end is no prediction, nor one of the characters

    @property
    def n_tokens(self) -> int:
        """Predictions: every word, and the end of every sentence that is marked."""
        return self.n_words + self.n_sentences - self.n_unmarked

    @property
    def n_known_tokens(self) -> int:
        """Predictions of words other than `<unk>`."""
        return self.n_tokens - self.n_oov


def counts_of(words: Sequence[str], *, n_oov: int, marked: bool = True) -> Counts:
    """The counts of one sentence; `<unk>:form` is as long as its form."""
    text = " ".join(map(form_of, words))
    return Counts(
        1,
        len(words),
        n_oov,
        n_characters=len(text) + marked,
        n_bytes=len(text.encode()) + marked,
        n_pieces=n_pieces(text),
        n_unmarked=int(not marked),
    )


@dataclass(frozen=True)
class Log10Sums(Additive):
    """Sums over tokens; those of probability 0 are counted and left out, as SRILM does."""

    log10_prob: float = 0.0
    log10_prob_oov: float = 0.0  # the part of the tokens that are <unk>
    n_zeroprobs: int = 0
    n_zeroprobs_oov: int = 0  # those that are <unk>: an ARPA file need not list it


def log10_sums(log10_probs: Iterable[float], known: Iterable[bool]) -> Log10Sums:
    """The sums over some tokens; `known` tells for each whether it is not `<unk>`."""
    pairs = list(zip(log10_probs, known, strict=True))
    finite = [(value, is_known) for value, is_known in pairs if value != -math.inf]
    return Log10Sums(
        math.fsum(value for value, _ in finite),
        math.fsum(value for value, is_known in finite if not is_known),
        len(pairs) - len(finite),
        sum(value == -math.inf and not is_known for value, is_known in pairs),
    )


@dataclass(frozen=True)
class Perplexity:
    """10 to the mean negative log10 probability, over one denominator or another.

    None if nothing is left to divide by, or if the result overflows.
    """

    counts: Counts
    sums: Log10Sums

    def __repr__(self) -> str:
        ppl = self.ppl
        return f"Perplexity(ppl={ppl if ppl is None else f'{ppl:.2f}'}, n_tokens={self.n_tokens})"

    @property
    def log10_prob(self) -> float:
        """The text's probability, without tokens of probability 0."""
        return self.sums.log10_prob

    @property
    def n_tokens(self) -> int:
        """The denominator of `ppl`: tokens of probability 0 are left out."""
        return self.counts.n_tokens - self.sums.n_zeroprobs

    @property
    def n_words(self) -> int:
        """The denominator of `ppl1`."""
        return self.counts.n_words - self.sums.n_zeroprobs

    @property
    def n_known_tokens(self) -> int:
        """The denominator of `ppl_known`."""
        n_zeroprobs = self.sums.n_zeroprobs - self.sums.n_zeroprobs_oov
        return self.counts.n_known_tokens - n_zeroprobs

    @property
    def ppl(self) -> float | None:
        """Over all tokens: SRILM's `ppl`, KenLM's "including OOVs", the papers' perplexity."""
        return _perplexity(self.sums.log10_prob, self.n_tokens)

    @property
    def ppl1(self) -> float | None:
        """SRILM's `ppl1`: the same sum, sentence ends included, over the words alone."""
        return _perplexity(self.sums.log10_prob, self.n_words)

    @property
    def ppl_known(self) -> float | None:
        """Over tokens that are not `<unk>`: KenLM's "excluding OOVs"."""
        known = self.sums.log10_prob - self.sums.log10_prob_oov
        return _perplexity(known, self.n_known_tokens)

    @property
    def bits_per_character(self) -> float | None:
        """All log probability over the characters, newlines included."""
        return _bits(self.sums.log10_prob, self.counts.n_characters)

    @property
    def bits_per_byte(self) -> float | None:
        """All log probability over the bytes of UTF-8, newlines included."""
        return _bits(self.sums.log10_prob, self.counts.n_bytes)

    def to_dict(self) -> dict[str, float | None]:
        return {
            "log10_prob": self.log10_prob,
            "n_left_out": self.sums.n_zeroprobs,
            "ppl": self.ppl,
            "ppl1": self.ppl1,
            "ppl_known": self.ppl_known,
            "bits_per_character": self.bits_per_character,
            "bits_per_byte": self.bits_per_byte,
        }


def _perplexity(log10_prob: float, n_tokens: int) -> float | None:
    if n_tokens <= 0:
        return None
    try:
        return float(10.0 ** (-log10_prob / n_tokens))
    except OverflowError:
        return None


def _bits(log10_prob: float, n_units: int) -> float | None:
    return -log10_prob * math.log2(10) / n_units if n_units else None


def shown_ppl(ppl: float | None) -> str:
    """A perplexity, or a difference of two, with two decimals; huge ones as 1.76e+211."""
    if ppl is None:
        return "undefined"
    return f"{ppl:.2f}" if abs(ppl) < MANY else f"{ppl:.2e}"


def decimals_of(values: Iterable[float], *, least: int) -> int:
    """How many decimals show none of the values as 0 that is not."""
    smallest = min((abs(value) for value in values if value), default=1.0)
    wanted = (n for n in range(least, MOST_DECIMALS) if smallest >= 0.5 / 10**n)
    return next(wanted, MOST_DECIMALS)


@dataclass(frozen=True)
class NgramMatches:
    """The n-grams that an n-gram model found for each token of a sentence, `</s>` (if any) last."""

    ids: tuple[int, ...]  # of the tokens, as KenLM numbers them: `<unk>` is 0
    lengths: tuple[int, ...]  # of the n-grams, the token included


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence and the log10 probability of each of its tokens, `</s>` (if any) last."""

    words: tuple[str, ...]  # as they stand in the text, after normalisation
    word_ids: tuple[int, ...]  # what was predicted: `<unk>` for a form outside the vocabulary
    known: tuple[bool, ...]  # whether a word is another than `<unk>`
    log10_probs: tuple[float, ...]  # one more than words where `</s>` is predicted; −inf: nothing
    matches: NgramMatches | None = None  # of an n-gram model

    @property
    def ends(self) -> tuple[str, ...]:
        """`</s>`, or nothing where it was not predicted: the sentence had no marks."""
        return (END_WORD,) * (len(self.log10_probs) - len(self.words))

    @property
    def ngram_ids(self) -> tuple[int, ...]:
        """The tokens as KenLM numbers them: `<unk>`, which readers take for OOV, 0, `</s>` 2."""
        if self.matches is not None:
            return self.matches.ids
        ids = (0 if number == UNK else number + 1 for number in self.word_ids)
        return (*ids, *(2 for _ in self.ends))

    @property
    def known_tokens(self) -> tuple[bool, ...]:
        """For each token whether it is not `<unk>`."""
        return (*self.known, *(True for _ in self.ends))

    @property
    def mapped(self) -> tuple[str, ...]:
        """The words as scored."""
        return tuple(w if k else UNK_WORD for w, k in zip(self.words, self.known, strict=True))

    @property
    def perplexity(self) -> Perplexity:
        """The perplexities of this sentence alone."""
        n_oov, marked = self.known.count(False), bool(self.ends)
        counts = counts_of(self.words, n_oov=n_oov, marked=marked)
        return Perplexity(counts, log10_sums(self.log10_probs, self.known_tokens))


@dataclass(kw_only=True)
class Tally:
    """What has been read of a text, block by block: its counts, sums by state, and spellings.

    Sums are added up by blocks, so their last digits depend on where these end.
    """

    speller: Spells | None = None
    marked: bool = True
    on_sentence: Callable[[ScoredSentence], object] | None = None  # hears the first state's scores
    counts: Counts = Counts()
    sums: dict[str, Log10Sums] = field(default_factory=lambda: defaultdict(Log10Sums))
    spelling: Spelling = Spelling()  # of words that are `<unk>`, if there is a speller
    unknown: FrequentWords = field(default_factory=FrequentWords)  # words that are `<unk>`

    def add(
        self,
        block: list[list[str]],
        log10s: "Mapping[str, npt.NDArray[np.float64]]",
        *,
        ids: "npt.NDArray[np.integer]",
        unk: int,
        lengths: "npt.NDArray[np.integer] | None" = None,
    ) -> None:
        """Adds sentences with the scores of their tokens by state.

        `ids` are the words predicted, `lengths` those of the n-grams that an n-gram model found.
        """
        known: list[bool] = (ids != unk).tolist()
        tokens = [(*words, *((END_WORD,) if self.marked else ())) for words in block]
        parts = [slice(*ends) for ends in pairwise(accumulate(map(len, tokens), initial=0))]
        for words, part in zip(block, parts, strict=True):
            self.counts += counts_of(words, n_oov=known[part].count(False), marked=self.marked)
        for state, scores in log10s.items():
            self.sums[state] += log10_sums(scores.tolist(), known)
        pairs = zip(chain.from_iterable(tokens), known, strict=True)
        unknown = [token for token, is_known in pairs if not is_known]
        self.unknown.add(unknown)
        if self.speller is not None:
            self.spelling += spelling_of(unknown, self.speller)
        if self.on_sentence is not None:
            first = next(iter(log10s.values()))
            for words, part in zip(block, parts, strict=True):
                numbers, n = tuple(ids[part].tolist()), len(words)
                scored = (numbers[:n], tuple(known[part][:n]), tuple(first[part].tolist()))
                found = None if lengths is None else tuple(lengths[part].tolist())
                matches = None if found is None else NgramMatches(numbers, found)
                self.on_sentence(ScoredSentence(tuple(words), *scored, matches))

    def perplexities(self, text: ReadText) -> dict[str, Perplexity]:
        """The text's perplexities by state, when all of it has been read.

        Raises:
            DataError: a text without a sentence.
        """
        if not self.counts.n_sentences:
            raise DataError(f"{display_name(text.path)}: no sentence; expected one a line")
        counts = replace(self.counts, n_changed=text.n_changed)
        return {state: Perplexity(counts, sums) for state, sums in self.sums.items()}


@dataclass(frozen=True)
class Evaluation(ShortRepr):
    """The perplexities of a text under a model, by state, with their signatures."""

    name: str  # of the file
    counts: Counts
    by_state: Mapping[str, Perplexity]  # "carried", "sentence": first what the model is for
    signatures: Mapping[str, str]
    log_z_mean: float | None = None  # in nats, of a model whose scores may be read as they are
    log_z_variance: float | None = None
    spelling: Spelling | None = None  # of words that are `<unk>`, the same in every state
    # Words that are `<unk>` to the vocabulary alone: the n-gram model knows them. The most frequent
    # come first.
    hidden_words: Mapping[str, int] = field(default_factory=dict)
    adaptation: str = ""  # how the model followed the text; empty: not at all
    advice: str = ""  # options that would make many unknown words known, in a sentence
    trained_state: str = ""  # the state that the model was trained for; empty: it has none

    @property
    def open_by_state(self) -> dict[str, Perplexity]:
        """Perplexities with `<unk>` words spelled; empty if there is an `open_obstacle`."""
        if self.spelling is None or self.open_obstacle:
            return {}
        more = Log10Sums(self.spelling.log10_prob, self.spelling.log10_prob)
        return {state: replace(p, sums=p.sums + more) for state, p in self.by_state.items()}

    @property
    def open_obstacle(self) -> str | None:
        """Why there are no open-vocabulary figures; None if there are, or nobody asked."""
        if self.spelling is not None and self.spelling.obstacle:
            return self.spelling.obstacle
        n_zeroprobs = next(iter(self.by_state.values())).sums.n_zeroprobs
        return f"{n_zeroprobs} tokens have no probability" if n_zeroprobs else None

    def to_dict(self) -> dict[str, object]:
        counts, told = self.counts, dict[str, object]()
        states = {
            state: {**p.to_dict(), "signature": self.signatures[state]}
            for state, p in self.by_state.items()
        }
        if self.log_z_mean is not None:
            told |= {"log_z_mean": self.log_z_mean, "log_z_variance": self.log_z_variance}
        if self.spelling is not None:
            said = {"obstacle": self.open_obstacle, "spelling": self.spelling.to_dict()}
            opened = {state: p.to_dict() for state, p in self.open_by_state.items()}
            told["open_vocabulary"] = {**said, **opened}
        if self.hidden_words:
            told["hidden_words"] = dict(self.hidden_words)
        if self.adaptation:
            told["adaptation"] = self.adaptation
        if self.advice:
            told["advice"] = self.advice
        if self.trained_state:
            told["trained_state"] = self.trained_state
        return {
            "name": self.name,
            **vars(counts),
            "n_tokens": counts.n_tokens,
            "n_known_tokens": counts.n_known_tokens,
            "oov_share": share(counts.n_oov, counts.n_words),
            "changed_share": share(counts.n_changed, counts.n_words),
            **told,
            **states,
        }
