"""The neural side of a comparison: runs, their names in tables, and their scores of a text.

Every run is opened once before anything is scored, so that a damaged run wastes no time.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

from charlm.errors import ConfigError
from charlm.run.folder import MODEL, is_by_sentence
from charlm.run.stored_weights import load_run
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions, Split
from charlm.scoring.evaluation.comparison.scores import Collector, Scores
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.scoring.evaluation.evaluate_options import State
from charlm.text.corpus.sentences import split_path
from charlm.text.io.short_names import short_names
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class Contender:
    """A run without its weights."""

    path: Path
    name: str  # in tables
    inventory: Inventory
    n_parameters: int
    n_bytes: int  # of its weights
    train_sha256: str | None  # of its training text, if recorded
    n_train_tokens: int | None  # tokens of that text that it read, with </s>, if recorded
    learned_single_sentences: bool  # else the state was carried across sentences
    is_validated_by_sentence: bool  # in training
    seed: int
    recipe: str  # equal for runs whose trainings differ in their seed alone


def contenders(models: Sequence[str | Path], *, taken: str) -> tuple[Contender, ...]:
    """The runs, with names that differ from each other and from `taken`.

    Raises:
        ConfigError: one run given twice.
        DataError: a run that is not what was expected.
    """
    paths = [Path(realpath(model)) for model in models]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise ConfigError(f"{models[number]}: stands twice; expected each run once")
    names = short_names(paths, taken=[taken])
    return tuple(_contender(Path(path), name) for path, name in zip(models, names, strict=True))


def _contender(path: Path, name: str) -> Contender:
    run = load_run(path)
    trained_on = run.info.corpus.get("train")
    found = trained_on if isinstance(trained_on, dict) else {}
    texts = {name: value for name, value in run.info.corpus.items() if name != "name"}
    sha256, n_tokens = found.get("sha256"), found.get("n_tokens")
    return Contender(
        path=path,
        name=name,
        inventory=run.inventory,
        n_parameters=sum(run.model.n_parameters_by_part().values()),
        n_bytes=(path / MODEL).stat().st_size,
        train_sha256=sha256 if isinstance(sha256, str) else None,
        n_train_tokens=n_tokens if isinstance(n_tokens, int) else None,
        learned_single_sentences=run.learned_single_sentences,
        is_validated_by_sentence=is_by_sentence(run.settings),
        seed=run.info.seed,
        recipe=json.dumps([run.settings, texts, run.info.init], sort_keys=True),
    )


def scores_of(
    contender: Contender, options: CompareKnOptions, *, split: Split, state: State
) -> Scores:
    """A run's scores of a split of the corpus directory in `options`; the stage is told."""
    path, collector = split_path(options.data, split), Collector()
    options.tell(f"{contender.name}: scoring {path}, state {state}")
    (evaluation,) = evaluate(
        contender.path,
        data=options.data,
        split=split,
        state=state,
        device=options.device,
        precision=options.precision,
        threads=options.threads,
        on_sentence=collector,
    )
    return collector.scores(evaluation, state=state)
