"""Where an n-gram model comes from: our estimator, from a text or counts, lmplz, or a file.

lmplz works on disk and leaves an ARPA file, the others give a model in memory.
"""

import hashlib
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import NO_PRUNING, estimate_counted, last_ngrams, thresholds_of
from charlm.ngram.files.arpa_writing import require_arpa_words
from charlm.ngram.files.counts_file import read_counts, write_counts
from charlm.ngram.files.load import NgramModel, QueryEngine, load_ngram
from charlm.ngram.lmplz import estimate_with_lmplz
from charlm.ngram.ngram_counts import CountArray, Counted, count_ngrams
from charlm.ngram.ngram_options import Start
from charlm.ngram.word_ids import MARKS, WordIds, encode, mapped, noise_of, text_in, words_of
from charlm.text.corpus.normalisation.normalisation import NO_RULES, Normalisation
from charlm.text.io.files import display_name, sha256_of
from charlm.text.io.lines import CORPUS, UTF8, LineRules
from charlm.text.io.paths import is_pipe
from charlm.text.perplexity.signature import HASH_DIGITS
from charlm.text.vocabulary.vocabulary import Inventory

SRILMS_PRUNE = "; SRILM's -prune T is charlm ngram --entropy-prune T"


@dataclass(frozen=True)
class ModelInfo:
    """The description of a model, for people and for signatures."""

    source: str  # the text it was estimated from, or the file it was loaded from
    order: int
    sizes: tuple[int, ...]  # n-grams of each order; empty where the engine does not tell
    fallback_orders: tuple[int, ...]  # for which the text gave no discounts
    seconds: float
    in_signature: dict[str, str]  # what a signature says of it
    left_out: tuple[str, ...] = ()  # labels of noise in a list of words that the text lacks
    lacking: tuple[str, ...] = ()  # words of --limit-vocab that the model lacks

    @property
    def n_ngrams(self) -> int:
        """The number of n-grams of all orders; 0 where the engine does not tell."""
        return sum(self.sizes)

    def to_dict(self) -> dict[str, object]:
        return {
            "source": self.source,
            "order": self.order,
            "n_ngrams": list(self.sizes),
            "fallback_orders": list(self.fallback_orders),
            "left_out": list(self.left_out),
            "lacking": list(self.lacking),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class EstimationPlan:
    """How a model is to be estimated.

    Raises:
        ConfigError: an order or pruning that makes no model, which is told before a text is read.
    """

    order: int
    prune: Sequence[int] = NO_PRUNING
    vocabulary: Inventory | None = None
    rules: LineRules = CORPUS  # how the text's lines are read
    further: Normalisation = NO_RULES  # in addition to those of the vocabulary
    counts_out: str | Path | None = None  # where the counts are written, too

    def __post_init__(self) -> None:
        thresholds_of(self.prune, order=self.order)

    def in_signature(self, sha256: str, *, of: str = "train") -> dict[str, str]:
        """What a signature says of the model; `of` what the hash is of."""
        pruned = ",".join(map(str, self.prune)) if any(self.prune) else ""
        return {"lm": f"kn{self.order}", "prune": pruned, of: sha256[:HASH_DIGITS]}


def parse_pruning(said: str | Sequence[int]) -> tuple[int, ...]:
    """`0,0,1` or `0 0 1` as numbers; Python may pass numbers, too.

    Raises:
        ConfigError: anything else.
    """
    text = said if isinstance(said, str) else ",".join(map(str, said))
    parts = text.replace(",", " ").split()
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        expected = f"expected counts from unigrams on, as 0,0,1{SRILMS_PRUNE}"
        raise ConfigError(f"--prune {text!r}: {expected}")
    return tuple(map(int, parts))


def model_of_text(
    path: str | Path, plan: EstimationPlan, *, for_arpa: bool = False
) -> tuple[BackoffModel, ModelInfo, CountArray]:
    """The Kneser–Ney model of a text, and how often each of its words occurs in the text.

    `for_arpa`: an ARPA file must be able to hold the model.

    Raises:
        ConfigError: an order or pruning that makes no model.
        DataError: a text without a sentence, or without a word of a list, or that is not what was
            expected; a word that an ARPA file for it cannot hold.
    """
    began = time.perf_counter()
    text = text_in(path, plan.vocabulary, rules=plan.rules, further=plan.further)
    word_ids = _word_ids(plan.vocabulary)
    ids = encode(text.sentences(), word_ids)
    if not len(ids):
        raise DataError(f"{display_name(path)}: no sentence; expected one a line")
    counted = count_ngrams(ids, order=plan.order, n_words=len(word_ids.words))
    in_signature = plan.in_signature(text.sha256)
    source = _CountedText(display_name(path), in_signature, word_ids, counted, began)
    lasts = last_ngrams(counted, ids, n_words=len(word_ids.words))
    return source.model(plan, for_arpa=for_arpa, lasts=lasts)


def model_of_counts(
    paths: Sequence[str | Path], plan: EstimationPlan, *, for_arpa: bool = False
) -> tuple[BackoffModel, ModelInfo, CountArray]:
    """The Kneser–Ney model of the counts in files; rules of a text do not apply.

    Raises:
        ConfigError, DataError: as `model_of_text`, and as `read_counts`.
    """
    began = time.perf_counter()
    word_ids = _word_ids(plan.vocabulary)
    counted, sha256 = read_counts(paths, word_ids, order=plan.order, rules=plan.rules)
    name = ", ".join(map(display_name, paths))
    in_signature = plan.in_signature(sha256, of="counts")
    source = _CountedText(name, in_signature, word_ids, counted, began)
    return source.model(plan, for_arpa=for_arpa)


def _word_ids(vocabulary: Inventory | None) -> WordIds:
    if vocabulary is None:
        return WordIds()
    noise = noise_of(vocabulary)
    words = (word for word in words_of(vocabulary) if word not in noise)
    return WordIds(words, closed=True, if_met=noise)


@dataclass(frozen=True)
class _CountedText:
    """The counts that a model is made from."""

    name: str
    in_signature: dict[str, str]
    word_ids: WordIds
    counted: list[Counted]
    began: float

    def model(
        self, plan: EstimationPlan, *, for_arpa: bool, lasts: Sequence[int] = ()
    ) -> tuple[BackoffModel, ModelInfo, CountArray]:
        """The model, and how often each of its words occurs."""
        vocabulary, words = plan.vocabulary, self.word_ids.words
        counts = self.counted[0].counts
        if vocabulary and not any(vocabulary.counts) and not counts[len(MARKS) :].any():
            raise DataError(
                f"{self.name}: holds none of the words of the list; expected them as the text has "
                "them, in its case and spelling"
            )
        if for_arpa:
            require_arpa_words(words, source=self.name)
        if plan.counts_out is not None:
            write_counts(self.counted, plan.counts_out, words=words)
        result = estimate_counted(self.counted, words=words, prune=plan.prune, lasts=lasts)
        info = ModelInfo(
            source=self.name,
            order=plan.order,
            sizes=result.model.sizes,
            fallback_orders=result.fallback_orders,
            seconds=time.perf_counter() - self.began,
            in_signature=self.in_signature,
            left_out=tuple(sorted(noise_of(vocabulary) - self.word_ids.keys())),
        )
        if len(result.model.words) < len(counts):  # words were pruned
            counts = counts[[self.word_ids[word] for word in result.model.words]]
        return result.model, info, counts


def model_in_file(
    path: str | Path, *, engine: QueryEngine, encoding: str = UTF8
) -> tuple[NgramModel, ModelInfo]:
    """The model in a file.

    Raises:
        ConfigError, DataError: as `load_ngram`.
    """
    began, digest = time.perf_counter(), hashlib.sha256()
    model = load_ngram(path, engine=engine, encoding=encoding, digest=digest)
    sha256 = digest.hexdigest() if is_pipe(path) else sha256_of(path)
    info = ModelInfo(
        source=display_name(path),
        order=model.order,
        sizes=model.sizes,
        fallback_orders=(),
        seconds=time.perf_counter() - began,
        in_signature=file_in_signature(model, sha256),
    )
    return model, info


def file_in_signature(model: NgramModel, sha256: str) -> dict[str, str]:
    """What a signature says of a model that was read from a file with this hash."""
    return {"lm": f"{model.order}gram", "model": sha256[:HASH_DIGITS]}


def write_lmplz_model(
    path: str | Path, plan: EstimationPlan, *, out: Path, program: Path, start: Start
) -> ModelInfo:
    """lmplz's estimate from a text, as an ARPA file at `out`; the text is never in memory.

    Raises:
        ConfigError, DataError: as `estimate_with_lmplz`.
        DataError: words of the vocabulary that do not occur: lmplz's model would lack them.
    """
    began = time.perf_counter()
    vocabulary = plan.vocabulary
    text = text_in(path, vocabulary, rules=plan.rules, further=plan.further)
    sentences = (mapped(words, vocabulary) for words in text.sentences())
    unseen = dict.fromkeys(words_of(vocabulary)[len(MARKS) :] if vocabulary else ())
    result = estimate_with_lmplz(
        _with_all_words(sentences, unseen, noise=noise_of(vocabulary), name=display_name(path)),
        out,
        program=program,
        order=plan.order,
        prune=plan.prune,
        start=start,
        name=display_name(path),
    )
    return ModelInfo(
        source=display_name(path),
        order=plan.order,
        sizes=result.n_ngrams,
        fallback_orders=result.fallback_orders,
        seconds=time.perf_counter() - began,
        in_signature={**plan.in_signature(text.sha256), "by": "lmplz"},
        left_out=tuple(unseen),
    )


def _with_all_words(
    sentences: Iterable[list[str]],
    unseen: dict[str, None],
    *,
    noise: Collection[str],
    name: str,
) -> Iterator[list[str]]:
    """The sentences, whose words are taken out of the unseen; at their end noise alone may be."""
    for words in sentences:
        if unseen:
            for word in words:
                unseen.pop(word, None)
        yield words
    if missing := [word for word in unseen if word not in noise]:
        raise DataError(
            f"{name}: {len(missing)} words of the vocabulary do not occur in it, "
            f"{missing[0]!r} the first; lmplz expects all in the text; use --engine charlm"
        )
