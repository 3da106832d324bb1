"""Neural models against Kneser–Ney on one corpus, alone and interpolated word by word.

Models with the same words share one Kneser–Ney model over these words. Models with other words are
compared with another Kneser–Ney model, and perplexities of the two groups are not comparable.
"""

from collections.abc import Sequence
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.interface.options import keywords, require_cpu, several
from charlm.ngram.estimation import require_all_words, thresholds_of
from charlm.ngram.model_sources import parse_pruning
from charlm.scoring.evaluation.comparison.compare_kn_options import TUNING, CompareKnOptions
from charlm.scoring.evaluation.comparison.comparison_table import compared_group
from charlm.scoring.evaluation.comparison.kneser_ney import baseline_name
from charlm.scoring.evaluation.comparison.notes import remarks_on_groups
from charlm.scoring.evaluation.comparison.results import Comparison, Group
from charlm.text.corpus.sentences import corpus_normalisation, read_sentences, split_path
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of, vocabulary_at


@keywords(CompareKnOptions)
def compare_kn(options: CompareKnOptions) -> Comparison:
    """Compare runs with an interpolated modified Kneser–Ney model, estimated on `data` on the spot.

    Without a run, Kneser–Ney is measured alone. Its words are those of the file or run `vocab`, or
    else those that `charlm vocab` would list: unless the text holds `<unk>` itself, types seen once
    become `<unk>`. `ngram_baseline` keeps all types, so its perplexities are not comparable with
    these. The weights of mixtures are fitted on valid.txt. `seeds` of a group of runs has the means
    over trainings that differ in their seed alone.

    >>> found = charlm.compare_kn(data="corpus", model="exp/first", order=3)
    >>> [system.name for system in found.groups[0].systems]
    ['KN-3', 'first', 'first+KN-3']

    Raises:
        ConfigError: an option that does not exist or a number out of range; one run given twice;
            both runs and a vocabulary; a GPU or bf16 without a run.
        DataError: a text or run that is not as expected; a model that gives no finite numbers.
    """
    prune = parse_pruning(options.prune)
    require_all_words(prune)
    thresholds_of(prune, order=options.order)
    models = several(options.model)
    if models and options.vocab is not None:
        raise ConfigError(
            f"--vocab {options.vocab}: a model brings its own; give it without --model"
        )
    if not models:
        require_cpu(options)
    for each in ("train", *([TUNING] if models else []), options.split):
        _require_text(options.data, each)
    if models:
        groups = _groups(models, options)
    else:
        groups = (compared_group(_own_inventory(options), (), options=options),)
    return Comparison(options, groups, tuple(remarks_on_groups(groups, options)))


def _require_text(data: str | Path, split: str) -> None:
    """Check a text first, since a missing or empty one would waste the work before it."""
    path = split_path(data, split)
    lines = read_sentences(path)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: no sentence; expected one a line")
    if split == "train" and not (first or any(lines)):
        raise DataError(f"{path}: no word; expected one sentence a line, words between blanks")


def _groups(models: Sequence[str | Path], options: CompareKnOptions) -> tuple[Group, ...]:
    """Runs that predict the same words of the same text, in the order of the first of each."""
    # Kneser–Ney alone does not need torch, which takes seconds to load.
    from charlm.runtime import pick_device, pick_precision
    from charlm.scoring.evaluation.comparison.runs import Contender, contenders

    pick_precision(options.precision, pick_device(options.device))  # each run picks them again
    by_words: dict[object, list[Contender]] = {}
    for run in contenders(models, taken=baseline_name(options.order)):
        by_words.setdefault((run.inventory.words, run.inventory.normalisation), []).append(run)
    return tuple(
        compared_group(members[0].inventory, members, options=options)
        for members in by_words.values()
    )


def _own_inventory(options: CompareKnOptions) -> Inventory:
    if options.vocab is not None:
        return vocabulary_at(options.vocab)
    path, rules = split_path(options.data, "train"), corpus_normalisation(options.data)
    return inventory_of(read_sentences(path, normalisation=rules), normalisation=rules)
