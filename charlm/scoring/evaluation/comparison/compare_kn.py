"""Neural models against Kneser–Ney on one corpus, alone and interpolated word by word.

Models with the same words share a Kneser–Ney model in these words; models with other words have
another, and perplexities of the two groups do not compare.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from charlm.errors import ConfigError, DataError
from charlm.ngram.estimation import require_all_words
from charlm.ngram.source import parse_pruning
from charlm.scoring.evaluation.comparison.bootstrap import require_draws
from charlm.scoring.evaluation.comparison.comparison_table import OnStage, contest
from charlm.scoring.evaluation.comparison.kneser_ney import baseline_name
from charlm.scoring.evaluation.comparison.notes import remarks_on_groups
from charlm.scoring.evaluation.comparison.results import TUNING, Comparison, Group, Question, State
from charlm.text.corpus.sentences import corpus_normalisation, read_sentences, split_path
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of, vocabulary_at

if TYPE_CHECKING:
    from charlm.scoring.evaluation.comparison.runs import Contender

STATES: dict[str, tuple[State, ...]] = {
    "both": ("carried", "sentence"),
    "carried": ("carried",),
    "sentence": ("sentence",),
}


def compare_kn(
    data: str | Path,
    *,
    model: str | Path | Sequence[str | Path] = (),
    order: int = 5,
    prune: str = "0",
    vocab: str | Path | None = None,
    split: Literal["test", "valid"] = "test",
    state: Literal["both", "carried", "sentence"] = "both",
    samples: int = 1000,
    seed: int = 1,
    device: str = "auto",
    precision: str = "fp32",
    threads: int | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Comparison:
    """Runs against the interpolated modified Kneser–Ney model of `data`, estimated on the spot.

    Without a run it is Kneser–Ney alone, in the words of the file or run `vocab`, or else in those
    that `charlm vocab` would list: unless the text holds `<unk>` itself, types seen once become
    `<unk>`, while `ngram_baseline` keeps them all, so that the two do not compare. `prune` holds
    the largest counts of n-grams that are left out, from unigrams on, between commas. Weights of
    mixtures are fitted on valid.txt; differences come with 95 % intervals from `samples` draws of
    sentences.

    Raises:
        ConfigError: an option that does not exist or a number out of range; one run twice; runs
            and a vocabulary.
        DataError: a text or run that is not what was expected; a model that gives no numbers.
    """
    _check(split, state=state)
    require_draws(samples=samples, seed=seed)
    thresholds = parse_pruning(prune)
    require_all_words(thresholds)
    question = Question(
        data=str(data),
        split=split,
        states=STATES[state],
        order=order,
        prune=thresholds,
        samples=samples,
        seed=seed,
        device=device,
        precision=precision,
        threads=threads,
    )
    models = [model] if isinstance(model, str | Path) else model
    if models and vocab is not None:
        raise ConfigError(f"--vocab {vocab}: a model brings its own; give it without --model")
    for each in ("train", *([TUNING] if models else []), split):
        _require_text(data, each)
    hear = on_stage or (lambda stage: None)
    if models:
        groups = _groups(models, question=question, on_stage=hear)
    else:
        inventory = _own_inventory(question.data, vocab=vocab)
        groups = (contest(inventory, (), question=question, on_stage=hear),)
    return Comparison(question, groups, remarks_on_groups(groups, question=question))


def _check(split: str, *, state: str) -> None:
    if split not in ("test", TUNING):
        raise ConfigError(f"--split {split!r}: expected test or {TUNING}")
    if state not in STATES:
        raise ConfigError(f"--state {state!r}: expected one of {', '.join(STATES)}")


def _require_text(data: str | Path, split: str) -> None:
    """A missing or empty text would cost the time of those before it."""
    path = split_path(data, split)
    lines = read_sentences(path)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: no sentence; expected one a line")
    if split == "train" and not (first or any(lines)):
        raise DataError(f"{path}: no word; expected one sentence a line, words between blanks")


def _groups(
    models: Sequence[str | Path], *, question: Question, on_stage: OnStage
) -> tuple[Group, ...]:
    # Kneser–Ney alone does without torch, which takes seconds to load.
    from charlm.scoring.evaluation.comparison.runs import contenders

    runs = contenders(models, taken=baseline_name(question.order))
    groups = _by_words(runs)
    return tuple(
        contest(members[0].inventory, members, question=question, on_stage=on_stage)
        for members in groups
    )


def _own_inventory(data: str, *, vocab: str | Path | None) -> Inventory:
    if vocab is not None:
        return vocabulary_at(vocab)
    path, rules = split_path(data, "train"), corpus_normalisation(data)
    return inventory_of(read_sentences(path, normalisation=rules), normalisation=rules)


def _by_words(runs: "Sequence[Contender]") -> "list[tuple[Contender, ...]]":
    """Runs that predict the same words of the same text together, in the order of the first."""
    groups: dict[object, list[Contender]] = {}
    for run in runs:
        groups.setdefault((run.inventory.words, run.inventory.normalisation), []).append(run)
    return [tuple(group) for group in groups.values()]
