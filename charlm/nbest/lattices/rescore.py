"""From lattices to rescored lattices: the search, the best hypotheses, and their own scores.

The requests of several lattices are combined, since one lattice alone makes small batches. Where
histories were merged, the best hypotheses are scored again with their own histories before they are
returned.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.lattices.best_paths import BestPath, best_paths
from charlm.nbest.lattices.expanded import ExpandedLattice, RescoredLattice, dot
from charlm.nbest.lattices.histories import Histories, History, ReadHistories, log_probs_of
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import OLD, LatticeOptions
from charlm.nbest.lattices.lattice_search import RequestBatch, answers_to, expand
from charlm.nbest.scorers import LogProbs
from charlm.text.corpus.tokens import END_WORD

LATTICES_AT_ONCE = 64
ARCS_AT_ONCE = 50_000  # of lattices that are searched together
LIVE_AT_ONCE = 10_000  # histories that they may go on from; beyond it only the first ones go on

Job = Generator[RequestBatch, LogProbs, RescoredLattice]


def rescore_with(
    lattices: Iterable[Lattice],
    models: Mapping[str, Histories],
    *,
    options: LatticeOptions,
    at_once: int = LATTICES_AT_ONCE,
) -> Iterator[RescoredLattice]:
    """Each lattice rescored, in order; the names in `models` are those of the new features.

    Up to `at_once` lattices are read before the first is returned; with 1, each comes at once.

    A model called `old_lm` is the one that made Kaldi's graph scores: it is taken out of them, and
    reads labels as they stand, including noise. Without models, the lattice's own features rank its
    paths.

    Raises:
        ConfigError: weights that do not fit.
        DataError: a model gives a word no finite log-probability; whatever the reader of the
            lattices raises.
    """
    if OLD in models:
        models = {
            name: model if name == OLD else ReadHistories(model, options.read)
            for name, model in models.items()
        }
        options = replace(options, by_label=True)
    for group in _groups(lattices, at_once):
        root = History()
        jobs = [_job(lattice, tuple(models), options=options, root=root) for lattice in group]
        yield from _together(jobs, models)


def _groups(lattices: Iterable[Lattice], at_once: int) -> Iterator[list[Lattice]]:
    group: list[Lattice] = []
    n_arcs = 0
    for lattice in lattices:
        if group and n_arcs + len(lattice.arcs) > ARCS_AT_ONCE:
            yield group
            group, n_arcs = [], 0
        group.append(lattice)
        n_arcs += len(lattice.arcs)
        if len(group) == at_once:  # without reading on, for who waits for the answer
            yield group
            group, n_arcs = [], 0
    if group:
        yield group


def _together(jobs: Sequence[Job], models: Mapping[str, Histories]) -> list[RescoredLattice]:
    """The results of all jobs, whose batches are combined in each round."""
    results: dict[int, RescoredLattice] = {}
    batches: dict[int, RequestBatch] = {}

    def go_on(number: int, answer: LogProbs | None) -> None:
        try:
            job = jobs[number]
            batches[number] = next(job) if answer is None else job.send(answer)
        except StopIteration as stopped:
            results[number] = stopped.value
            batches.pop(number, None)

    for number in range(len(jobs)):
        go_on(number, None)
    while batches:
        asking = _first_ones(batches)
        requests = [request for batch in asking.values() for request in batch.requests]
        answers = log_probs_of(models, requests)
        start = 0
        for number, batch in asking.items():
            go_on(number, answers[start : start + len(batch.requests)])
            start += len(batch.requests)
        live = {history for batch in batches.values() for history in batch.live}
        for model in models.values():
            model.keep(live)
    return [results[number] for number in range(len(jobs))]


def _first_ones(batches: Mapping[int, RequestBatch]) -> dict[int, RequestBatch]:
    """The batches that are asked next: at least one; the rest wait if there are too many states."""
    n_live = 0
    asking: dict[int, RequestBatch] = {}
    for number, batch in batches.items():
        n_live += len(batch.live)
        if asking and n_live > LIVE_AT_ONCE:
            break
        asking[number] = batch
    return asking


def _job(
    lattice: Lattice, models: tuple[str, ...], *, options: LatticeOptions, root: History
) -> Job:
    expanded = yield from expand(lattice, models, options=options, root=root)
    paths = best_paths(expanded, options.n_best)
    if expanded.n_merged:
        paths = yield from _asked_again(expanded, paths, options=options, root=root)
    hypotheses = [
        Hypothesis(
            path.words,
            expanded.features(path.own, path.answers),
            lattice.place,
            original=path.arcs,
        )
        for path in paths
    ]
    return RescoredLattice(
        expanded=expanded,
        nbest=NbestList(lattice.id, tuple(hypotheses)),
        totals=tuple(path.total for path in paths),
    )


def _asked_again(
    expanded: ExpandedLattice, paths: list[BestPath], *, options: LatticeOptions, root: History
) -> Generator[RequestBatch, LogProbs, list[BestPath]]:
    """The paths with the models' answers along their own histories, best first again."""
    arcs = expanded.lattice.arcs
    labels = [[arcs[number].word for number in path.arcs] for path in paths]
    sentences = [[*chain(*map(options.steps, each)), END_WORD] for each in labels]
    sums = np.zeros((len(paths), len(expanded.models)))
    histories = [root] * len(paths)
    for position in range(max(map(len, sentences))):
        going = [i for i, sentence in enumerate(sentences) if position < len(sentence)]
        wanted = [(histories[i], sentences[i][position]) for i in going]
        sums[going] += yield from answers_to(wanted, [histories[i] for i in going])
        for i in going:
            histories[i] = histories[i].then(sentences[i][position])
    weights = expanded.weighing.models
    fresh = []
    for path, own in zip(paths, sums.tolist(), strict=True):
        total = path.total + dot(weights, tuple(own)) - dot(weights, path.answers)
        fresh.append(path._replace(answers=tuple(own), total=total))
    return sorted(fresh, key=lambda path: -path.total)
