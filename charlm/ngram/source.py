"""Where an n-gram model comes from: our estimator, lmplz, or a file.

lmplz works on the disk and leaves an ARPA file, the others leave a model in memory.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import NO_PRUNING, estimate, thresholds_of
from charlm.ngram.lmplz import estimate_with_lmplz
from charlm.ngram.load import Engine, NgramModel, load_ngram
from charlm.ngram.words import WordIds, encode, mapped, words_of
from charlm.text.files import display_name, sha256_of
from charlm.text.inventory import Inventory
from charlm.text.perplexity import HASH_DIGITS
from charlm.text.reading import ReadText


@dataclass(frozen=True)
class ModelInfo:
    """What a model is, for people and for signatures."""

    source: str  # the text it was estimated from, or the file it was loaded from
    order: int
    sizes: tuple[int, ...]  # n-grams of each order; empty where the engine does not tell
    fallback_orders: tuple[int, ...]  # for which the text gave no discounts
    seconds: float
    told: dict[str, str]  # what a signature says of it

    @property
    def n_ngrams(self) -> int:
        """Of all orders; 0 where the engine does not tell."""
        return sum(self.sizes)

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "source": self.source,
            "order": self.order,
            "n_ngrams": list(self.sizes),
            "fallback_orders": list(self.fallback_orders),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Plan:
    """How a model is to be estimated."""

    order: int
    prune: Sequence[int] = NO_PRUNING
    vocabulary: Inventory | None = None

    def told(self, train_sha256: str) -> dict[str, str]:
        """For signatures."""
        pruned = ",".join(map(str, self.prune)) if any(self.prune) else ""
        return {
            "lm": f"kn{self.order}",
            "prune": pruned,
            "train": train_sha256[:HASH_DIGITS],
        }


def parse_pruning(text: str) -> tuple[int, ...]:
    """`0,0,1` or `0 0 1` as numbers.

    Raises:
        ConfigError: anything else.
    """
    parts = text.replace(",", " ").split()
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        raise ConfigError(f"--prune {text!r}: expected counts from unigrams on, as 0,0,1")
    return tuple(map(int, parts))


def estimated(path: str | Path, plan: Plan) -> tuple[BackoffModel, ModelInfo]:
    """The Kneser–Ney model of a text.

    Raises:
        ConfigError: an order or pruning that makes no model.
        DataError: a text without a sentence, or that is not what was expected.
    """
    began = time.perf_counter()
    vocabulary = plan.vocabulary
    text = ReadText(path, normalisation=vocabulary.normalisation if vocabulary else None)
    word_ids = WordIds(words_of(vocabulary), closed=True) if vocabulary else WordIds()
    ids = encode(text.sentences(), word_ids)
    if not len(ids):
        raise DataError(f"{display_name(path)}: no sentence; expected one a line")
    result = estimate(ids, words=word_ids.words, order=plan.order, prune=plan.prune)
    info = ModelInfo(
        source=str(path),
        order=plan.order,
        sizes=tuple(map(len, result.model.orders)),
        fallback_orders=result.fallback_orders,
        seconds=time.perf_counter() - began,
        told=plan.told(text.sha256),
    )
    return result.model, info


def loaded(path: str | Path, *, engine: Engine) -> tuple[NgramModel, ModelInfo]:
    """The model in a file.

    Raises:
        ConfigError, DataError: as `load_ngram`.
    """
    began = time.perf_counter()
    model = load_ngram(path, engine=engine)
    return model, ModelInfo(
        source=str(path),
        order=model.order,
        sizes=tuple(map(len, model.orders)) if isinstance(model, BackoffModel) else (),
        fallback_orders=(),
        seconds=time.perf_counter() - began,
        told={"lm": f"{model.order}gram", "model": sha256_of(path)[:HASH_DIGITS]},
    )


def lmplz_estimated(path: str | Path, plan: Plan, *, out: Path, program: Path) -> ModelInfo:
    """What lmplz estimates of a text, as an ARPA file at `out`; the text is never in memory.

    Raises:
        ConfigError, DataError: as `estimate_with_lmplz`.
    """
    thresholds_of(plan.prune, order=plan.order)  # lmplz says less of what it does not take
    began = time.perf_counter()
    vocabulary = plan.vocabulary
    text = ReadText(path, normalisation=vocabulary.normalisation if vocabulary else None)
    sentences = (mapped(words, vocabulary) for words in text.sentences())
    result = estimate_with_lmplz(
        sentences,
        out,
        program=program,
        order=plan.order,
        prune=plan.prune,
        name=display_name(path),
    )
    return ModelInfo(
        source=str(path),
        order=plan.order,
        sizes=result.n_ngrams,
        fallback_orders=result.fallback_orders,
        seconds=time.perf_counter() - began,
        told={**plan.told(text.sha256), "by": "lmplz"},
    )
