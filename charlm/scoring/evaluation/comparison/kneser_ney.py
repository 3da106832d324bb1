"""The Kneser–Ney model of a corpus in the vocabulary of a neural model, and its scores.

The training text is mapped to that vocabulary *before* anything is counted, so that `<unk>` is a
word with counts like any other. An n-gram model that drops `<unk>`, or gives it the left-over
probability, predicts another text, and its perplexity is not comparable.
"""

from dataclasses import dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.model_sources import EstimationPlan, ModelInfo, model_of_text, parse_pruning
from charlm.ngram.ngram_counts import CountArray
from charlm.ngram.text_perplexity import STATE, evaluate_ngram
from charlm.ngram.word_ids import START, text_in
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.scores import Collector, Scores
from charlm.text.corpus.sentences import split_path
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class KneserNey:
    """A Kneser–Ney model and what it was estimated from."""

    name: str
    model: BackoffModel
    info: ModelInfo  # its source is the training text
    inventory: Inventory  # the vocabulary
    train_counts: CountArray  # of each word in the mapped training text

    @property
    def n_train_tokens(self) -> int:
        """Number of tokens of the training text, each `</s>` counted."""
        return int(self.train_counts.sum() - self.train_counts[START])

    def scores_of(self, data: str | Path, split: str) -> Scores:
        """The model's scores of a split of a corpus directory.

        Raises:
            DataError: a missing or malformed text; a token to which the model gives no
                probability, so that nothing can be compared.
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
    """The name of the model in tables."""
    return f"KN-{order}"


def kneser_ney(inventory: Inventory, options: CompareKnOptions) -> KneserNey:
    """The Kneser–Ney model of train.txt over the words of `inventory`."""
    name, train = baseline_name(options.order), split_path(options.data, "train")
    options.tell(f"{name}: estimating from {train}")
    plan = EstimationPlan(options.order, parse_pruning(options.prune), vocabulary=inventory)
    model, info, train_counts = model_of_text(train, plan)
    return KneserNey(name, model, info, inventory, train_counts)
