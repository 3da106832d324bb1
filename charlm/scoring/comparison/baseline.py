"""The Kneser–Ney model of a corpus in the vocabulary of a neural model, and what it scores.

The training text is mapped to that vocabulary *before* anything is counted, so that `<unk>` is a
word with counts like any other: an n-gram model that drops it, or gives it what is left over,
predicts another text and its perplexity does not compare.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.ngram.arpa_writing import arpa_bytes
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import estimate
from charlm.ngram.evaluation import STATE, evaluate_ngram
from charlm.ngram.source import Plan
from charlm.ngram.words import WordIds, encode, words_of
from charlm.scoring.comparison.scores import Collector, Scores
from charlm.text.corpus import split_path
from charlm.text.inventory import Inventory
from charlm.text.reading import ReadText


@dataclass(frozen=True)
class Baseline:
    """A Kneser–Ney model and what it was made of."""

    name: str
    model: BackoffModel
    plan: Plan
    inventory: Inventory  # whose words these are
    train: ReadText
    train_counts: npt.NDArray[np.int64]  # of each word in the mapped training text
    fallback_orders: tuple[int, ...]  # that took fixed discounts, the text giving none
    seconds: float  # of reading the training text and estimating

    @property
    def n_bytes(self) -> int:
        """Of its ARPA file, which is made once for this and forgotten."""
        return arpa_bytes(self.model)

    def scores_of(self, data: str | Path, split: str) -> Scores:
        """What the model makes of a split of a corpus directory.

        Raises:
            DataError: no such text, or not what was expected; a token to which the model gives
                nothing, so that nothing can be compared.
        """
        path, collector = split_path(data, split), Collector()
        start = time.perf_counter()
        evaluation = evaluate_ngram(
            self.model,
            path,
            told=self.plan.told(self.train.sha256),
            split=split,
            vocabulary=self.inventory,
            on_sentence=collector,
        )
        seconds = time.perf_counter() - start
        n_wrong = evaluation.by_state[STATE].sums.n_zeroprobs
        if n_wrong:
            raise DataError(
                f"{path}: {self.name} gives {n_wrong} of {evaluation.counts.n_tokens} tokens no "
                f"probability; expected some for each; {self.train.path} is too small or odd for "
                f"order {self.plan.order}, try another --order"
            )
        return collector.scores(evaluation, state=STATE, seconds=seconds)


def baseline_name(order: int) -> str:
    """What tables call the model."""
    return f"KN-{order}"


def estimated(data: str | Path, inventory: Inventory, *, plan: Plan) -> Baseline:
    """The Kneser–Ney model of train.txt in the words of `inventory`, order and pruning as planned.

    Raises:
        ConfigError: an order or pruning that makes no model.
        DataError: no text, or not what was expected.
    """
    path, words = split_path(data, "train"), words_of(inventory)
    start = time.perf_counter()
    text = ReadText(path, normalisation=inventory.normalisation)
    ids = encode(text.sentences(), WordIds(words, closed=True))
    if not len(ids):
        raise DataError(f"{path}: no sentence; expected one a line")
    result = estimate(ids, words=words, order=plan.order, prune=plan.prune)
    return Baseline(
        name=baseline_name(plan.order),
        model=result.model,
        plan=plan,
        inventory=inventory,
        train=text,
        train_counts=np.bincount(ids, minlength=len(words)).astype(np.int64),
        fallback_orders=result.fallback_orders,
        seconds=time.perf_counter() - start,
    )
