"""Scoring in one process or several, each of which loads the models and does part of the work.

The first process reads lists, weights and writes as if it were alone. What it asks of its scorers
is cut into pieces of equal cost, one for each process. A sentence's score does not depend on other
sentences, so any cut is valid; sentences are sorted, so that those with a common prefix stay
together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from os.path import commonprefix
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.processes.command import First, Machine, run_command
from charlm.processes.group import SCORING, Group
from charlm.processes.worker_pool import WorkerPool, shared_out
from charlm.scoring.rescoring.lattices import LatticeCounts, LatticeLists
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, build_scorers, spells
from charlm.text.corpus.tokens import UNK_WORD

Result = TypeVar("Result")


def run_with_scorers(options: RescoringOptions, run: Callable[[Scorers], Result]) -> Result:
    """The result of `run` with the loaded scorers, whose work is divided among the processes.

    Under torchrun, the first process follows its options, and the others do what it tells them,
    whatever their own options are.

    Raises:
        ConfigError: several processes with a scorer of the caller's, or with adaptation.
    """

    def lead(first: First[Group]) -> Result:
        options.check()
        if options.scorer is not None and first.size > 1:
            raise ConfigError(
                "found a scorer of the caller's and several processes, which do not have it; "
                "expected runs and n-gram models alone; score in one process"
            )
        if options.adapt != "none" and first.size > 1:
            raise ConfigError(
                "--adapt: a list waits for what was chosen of the one before it; expected one "
                "process; drop --gpus and --processes"
            )
        scorers = build_scorers(
            replace(options, device=first.device, open_vocabulary=spells(options))
        )
        if first.size == 1:
            return run(scorers)
        group = first.start_others()
        group.from_first(lambda: _for_others(options, scorers))
        pool = WorkerPool(group, Worker(scorers))
        result = run(divided_scorers(scorers, pool))
        pool.dismiss()
        return result

    machine = Machine(options.device, options.gpus, options.processes, options.threads)
    return run_command(Group(work=SCORING), machine=machine, lead=lead, follow=_follow)


def _for_others(options: RescoringOptions, scorers: Scorers) -> RescoringOptions:
    """The options of the other processes: with choices made, without the caller's functions."""
    changes: dict[str, Any] = {"out": None, "open_vocabulary": spells(options)}
    changes["map"] = dict(scorers.text_rules.map) or None  # the first process has read it
    if scorers.mixture:
        changes |= {"mix": None, "mix_weights": tuple(scorers.mixture.values())}
    if scorers.neural:
        changes["precision"] = scorers.neural[0].precision
    return replace(options, **changes)


def _follow(group: Group, options: RescoringOptions, *, device: torch.device) -> None:
    """Score for the first process until it ends."""
    scorers = build_scorers(replace(options, device=str(device)))
    WorkerPool(group, Worker(scorers)).follow()


class Sentences(NamedTuple):
    """Sentences to be scored by the scorer with this number."""

    scorer: int
    sentences: Sequence[Words]
    goes_on: bool  # whether they follow the remembered sentences


class Remembered(NamedTuple):
    """A sentence that was said; every process remembers it."""

    scorer: int
    sentence: Words
    goes_on: bool


class LatticeTask(NamedTuple):
    """Lattices to be searched."""

    form: str
    options: LatticeOptions  # without rules and vocabulary, which each process has
    lattices: Sequence[Lattice]
    spells: bool  # whether unknown words are spelled


class Scored(NamedTuple):
    """The answer to `Sentences`."""

    scores: list[WordLogProbs]
    work: list[tuple[int, int]]  # tokens and distinct prefixes, by neural scorer


class Searched(NamedTuple):
    """The answer to `LatticeTask`."""

    lists: list[NbestList]
    counts: LatticeCounts


Task = Sentences | Remembered | LatticeTask


class Worker:
    """Does these tasks with the scorers of this process."""

    def __init__(self, scorers: Scorers) -> None:
        self.scorers = scorers
        self._memories: list[object] = [None] * len(scorers.scorers)

    def __call__(self, task: Task) -> Any:
        """The answer: `Scored` to sentences, `Searched` to lattices, None to one remembered."""
        if isinstance(task, LatticeTask):
            return self._searched(task)
        scorer = self.scorers.scorers[task.scorer]
        memory = self._memories[task.scorer] if task.goes_on else None
        if isinstance(task, Remembered):
            self._memories[task.scorer] = scorer.remember(task.sentence, memory=memory)
            return None
        before = self._work()
        scores = scorer.score(task.sentences, memory=memory) if task.sentences else []
        work = [(n - m, p - q) for (n, p), (m, q) in zip(self._work(), before, strict=True)]
        return Scored(scores, work)

    def _work(self) -> list[tuple[int, int]]:
        return [(each.n_tokens, each.n_prefixes) for each in self.scorers.neural]

    def _searched(self, task: LatticeTask) -> Searched:
        scorers = self.scorers if task.spells else self.scorers.closed
        searched = LatticeLists(task.form, scorers, options=task.options)
        return Searched(list(searched.search(task.lattices)), searched.counts)


class DividedScorer:
    """A scorer as the first process sees it; all processes do its work."""

    def __init__(self, number: int, scorers: Scorers, pool: WorkerPool[Task, Any]) -> None:
        self.name = scorers.scorers[number].name
        self._number, self._scorers, self._pool = number, scorers, pool

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """As the scorer's own; `memory` is the last one that was made here, or None."""
        is_known = self._scorers.is_known
        assert is_known is not None  # there is a scorer
        read = [[word if is_known(word) else UNK_WORD for word in words] for words in sentences]
        parts = divided(read, self._pool.size)
        answers: list[Scored] = self._pool.do(
            [
                Sentences(self._number, [sentences[i] for i in part], memory is not None)
                for part in parts
            ]
        )
        for answer in answers[1:]:  # the first process has counted its own
            for each, (n_tokens, n_prefixes) in zip(self._scorers.neural, answer.work, strict=True):
                each.n_tokens += n_tokens
                each.n_prefixes += n_prefixes
        order = [i for part in parts for i in part]
        scores = [score for answer in answers for score in answer.scores]
        return [scores[k] for k in np.argsort(order)]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """Let every process remember the sentence after `memory`, and forget everything else."""
        task = Remembered(self._number, sentence, memory is not None)
        self._pool.do([task] * self._pool.size)
        return self


def divided(sentences: Sequence[Words], n_parts: int) -> list[list[int]]:
    """Which sentences each process scores, by number, with equal numbers of distinct prefixes.

    Equal sentences go to one process: batch composition can change the last bit, and they must tie.
    Callers write `<unk>` for unknown words, in which alone such sentences may differ.
    """
    texts = list(map(tuple, sentences))
    order = sorted(range(len(texts)), key=texts.__getitem__)
    ordered = [texts[i] for i in order]
    costs = [
        len(words) + 1 - len(commonprefix([before, words]))
        for before, words in zip([(), *ordered], ordered, strict=False)
    ]
    middles = np.cumsum(costs) - np.array(costs) / 2
    owners = (middles * n_parts / max(1, sum(costs))).astype(int).tolist()
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    owner_of = dict(zip(ordered, owners, strict=True))
    for i in order:
        parts[owner_of[texts[i]]].append(i)
    return parts


def divided_scorers(scorers: Scorers, pool: WorkerPool[Task, Any]) -> Scorers:
    """The scorers as the first process uses them."""
    numbers = range(len(scorers.scorers))
    wrapped = tuple(DividedScorer(number, scorers, pool) for number in numbers)
    return replace(scorers, scorers=wrapped, search=partial(_searched_by, pool))


def _searched_by(
    pool: WorkerPool[Task, Any], form: LatticeLists, lattices: Iterable[Lattice]
) -> Iterator[NbestList]:
    """The lists of lattices in order, searched in batches large enough for all processes."""
    sent = replace(form.options, rules=None, is_known=None)
    rest = iter(lattices)
    n_at_once = form.at_once * pool.size if form.at_once > 1 else 1  # 1: each at once
    while some := list(islice(rest, n_at_once)):
        owned = shared_out([len(each.arcs) for each in some], loads=[0] * pool.size)
        answers: list[Searched] = pool.do(
            [
                LatticeTask(form.name, sent, [some[i] for i in part], bool(form.scorers.spelled))
                for part in owned
            ]
        )
        for answer in answers:
            form.counts.add(answer.counts)
        order = [i for part in owned for i in part]
        lists = [each for answer in answers for each in answer.lists]
        for k in np.argsort(order):
            yield lists[k]
