"""The Kneser–Ney model of a corpus in the vocabulary of a neural model, and what it scores.

The training text is mapped to that vocabulary *before* anything is counted, so that `<unk>` is a
word with counts like any other: an n-gram model that drops it, or gives it the probability left
over, predicts another text, and its perplexity is not comparable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.ngram.arpa_writing import arpa_bytes
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import NO_PRUNING
from charlm.ngram.ngram_counts import CountArray
from charlm.ngram.source import EstimationPlan, ModelInfo, estimated
from charlm.ngram.text_perplexity import STATE, evaluate_ngram
from charlm.ngram.word_ids import START, text_in
from charlm.scoring.evaluation.comparison.scores import Collector, Scores
from charlm.text.corpus.sentences import split_path
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class KneserNey:
    """A Kneser–Ney model and what it was made of."""

    name: str
    model: BackoffModel
    info: ModelInfo  # its source is the training text
    inventory: Inventory  # whose words these are
    train_counts: CountArray  # of each word in the mapped training text

    @property
    def n_bytes(self) -> int:
        """The length of its ARPA file, which is generated for this and not kept."""
        return arpa_bytes(self.model)

    @property
    def n_train_tokens(self) -> int:
        """Of the training text, each `</s>` one of them."""
        return int(self.train_counts.sum() - self.train_counts[START])

    def scores_of(self, data: str | Path, split: str) -> Scores:
        """What the model makes of a split of a corpus directory.

        Raises:
            DataError: no such text, or not what was expected; a token to which the model gives
                nothing, so that nothing can be compared.
        """
        path, collector = split_path(data, split), Collector()
        evaluation = evaluate_ngram(
            self.model,
            text_in(path, self.inventory),
            in_signature=self.info.in_signature,
            split=split,
            vocabulary=self.inventory,
            on_sentence=collector,
        )
        n_wrong = evaluation.by_state[STATE].sums.n_zeroprobs
        if n_wrong:
            raise DataError(
                f"{path}: {self.name} gives {n_wrong} of {evaluation.counts.n_tokens} tokens no "
                f"probability; expected some for each; {self.info.source} is too small or odd for "
                f"order {self.info.order}, try another --order"
            )
        return collector.scores(evaluation, state=STATE)


def baseline_name(order: int) -> str:
    """What tables call the model."""
    return f"KN-{order}"


def kneser_ney(
    data: str | Path, inventory: Inventory, *, order: int, prune: Sequence[int] = NO_PRUNING
) -> KneserNey:
    """The Kneser–Ney model of train.txt in the words of `inventory`.

    Raises:
        ConfigError: an order or pruning that makes no model.
        DataError: no text, or not what was expected.
    """
    plan = EstimationPlan(order, prune, vocabulary=inventory)
    model, info, train_counts = estimated(split_path(data, "train"), plan)
    return KneserNey(baseline_name(order), model, info, inventory, train_counts)
