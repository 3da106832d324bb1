"""`charlm score`: lists in, lists with a score more out, in the format they came in.

Lists stream: what is kept of them is what a report needs, and only where one is asked for.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from charlm.errors import ConfigError
from charlm.nbest.duplicates import Dedup
from charlm.nbest.format import OnNan
from charlm.nbest.metrics.metric_names import MetricName
from charlm.nbest.scorer import Scorer
from charlm.processes.command import First, Machine, run_command
from charlm.processes.group import SCORING, Group
from charlm.scoring.rescoring.lattices import LatticeWishes
from charlm.scoring.rescoring.list_job import Job
from charlm.scoring.rescoring.memory import RECORDING
from charlm.scoring.rescoring.result import ScoreResult, result_of
from charlm.scoring.rescoring.score_job import (
    Asked,
    ContextName,
    Out,
    Paths,
    Reading,
    Write,
    as_files,
    as_names,
    as_paths,
)
from charlm.scoring.rescoring.score_processes import Models, follow, with_models
from charlm.scoring.rescoring.score_run import Task
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, Wanted
from charlm.text.io.lines import LIST, LONGEST, MIB, UTF8, LineRules
from charlm.text.io.overwrite import keeps_inputs


@keeps_inputs("weights")
@keeps_inputs("out", in_place="lists")
def score(
    lists: str | Path | None = None,
    *,
    model: Paths = (),
    lm: Paths = (),
    scorer: Scorer | None = None,
    mix: str | Path | None = None,
    mix_weights: str | Sequence[float] | None = None,
    old_lm: str | Path | None = None,
    format: str = "auto",
    columns: str | Sequence[str] = "",
    features: Sequence[str] | Mapping[str, str | Path] = (),
    on_nan: OnNan = "error",
    allow_missing: bool = False,
    length_penalty: float = 0.0,
    encoding: str = UTF8,
    max_line: int = LONGEST // MIB,
    out: Out = None,
    write: Write = "scored",
    sort: bool = False,
    dedup: Dedup = "none",
    weights: str | Path | None = None,
    weight: Sequence[str] = (),
    refs: str | Path | None = None,
    test_refs: str | Path | None = None,
    tune: str | Path | None = None,
    metric: MetricName = "wer",
    tuned: str | Sequence[str] = "",
    ranges: Sequence[str] = (),
    restarts: int = 20,
    folds: int = 5,
    seed: int = 0,
    allow_test_tuning: bool = False,
    context: ContextName = "none",
    recordings: str = RECORDING,
    explain: str | None = None,
    serve: bool = False,
    open_vocabulary: bool = False,
    unnormalised: bool = False,
    lower: bool = False,
    raw: bool = False,
    device: str = "auto",
    precision: str = "fp32",
    threads: int | None = None,
    gpus: str | None = None,
    processes: int | None = None,
    memory: int = 1024,
    at_once: int = 4096,
    line_buffered: bool = False,
    beam: float = 16.0,
    recombine: int = 4,
    n_best: int = 100,
    words_txt: str | Path | None = None,
) -> ScoreResult:
    """Score the hypotheses of lists by models, weigh, and write the lists with the score `charlm`.

    `model` are run directories, `lm` n-gram models, `scorer` one of the caller's own: each gives a
    feature (nn, nn2, …, kn, …) in nats; with `mix` or `mix_weights` all give one. The score that is
    written is that of the first; lattices get language scores that hold all but the acoustic ones,
    for a decoder at the result's `lattices.scales`. `out` is a file, a folder (for formats of
    several files), or a function that is given text; without it nothing is written. `tune` are
    lists that weights are looked for on, with references `refs`; they are written to `weights`, and
    `test_refs` are those of `lists`. Without `tune`, `refs` are those of `lists`. References `own`
    are those that the lists hold. `sort` writes the best hypotheses first; `dedup` gives those of
    the same words a common total: their log Σ exp, or the largest. `memory` is in MiB, for each
    process, and `max_line` of the longest line of a list. `encoding` is that of lists, texts and
    ARPA files; lists are written as they were read, and other layouts in UTF-8. `gpus` (as "0,1")
    starts a process for each GPU, `processes` as many on the CPU, and the models' work is divided
    among them. Under torchrun the first process scores as asked, and the others beside it, whatever
    their options are.

    Raises:
        ConfigError: options that contradict each other, or do not fit the lists or models.
        DataError: FILE:LINE of a list that is not what was expected; a broken run or model.
        ProcessError: another process ended.
    """

    def lead(first: First[Group]) -> ScoreResult:
        began = time.perf_counter()
        paths = (lists, tune, refs, test_refs, weights)
        asked = Asked(*paths, out, write, explain, serve, sort, dedup)
        asked.check()
        wanted = Wanted(
            as_paths(model),
            as_paths(lm),
            own=scorer,
            mix=mix,
            mix_weights=mix_weights,
            open_vocabulary=open_vocabulary,
            unnormalised=unnormalised,
            lower=lower,
            raw=raw,
            precision=precision,
            form_bytes=memory * MIB,
            encoding=encoding,
        )
        said = (format, as_names(columns), as_files(features), on_nan, allow_missing)
        job = partial(
            Job,
            reading=Reading(*said, length_penalty, _rules(encoding, max_line=max_line)),
            metric=metric,
            context=context,
            recordings=recordings,
            at_once=0 if line_buffered else at_once,
            overrides=weight,
            raw=raw,
            lattices=LatticeWishes(beam, recombine, n_best, words_txt),
            dedup=dedup,
        )
        tuning = asked.tuning(as_names(tuned), ranges, restarts=restarts, folds=folds, seed=seed)
        task = Task(asked, tuning, allow_test_tuning)
        run = partial(_run, job=job, task=task, began=began)
        return with_models(Models(wanted, old_lm), run, first=first)

    machine = Machine(device, gpus, processes, threads)
    return run_command(Group(work=SCORING), machine=machine, lead=lead, follow=follow)


def _rules(encoding: str, *, max_line: int) -> LineRules:
    """How the lines of lists and references are read.

    Raises:
        ConfigError: an encoding that is none; no line could be read.
    """
    if max_line < 1:
        raise ConfigError(f"--max-line {max_line}: expected 1 or more, in MiB")
    return replace(
        LIST,
        encoding=encoding,
        longest=max_line * MIB,
        shorten="if they are right, --max-line MIB lets longer ones pass",
    )


def _run(
    scorers: Scorers, old_lm: Scorer | None, *, job: Callable[..., Job], task: Task, began: float
) -> ScoreResult:
    done = job(scorers, old_lm=old_lm)
    source = "-" if task.asked.serve else task.asked.lists
    found = task.run(done)
    return result_of(scorers, found, source=source, dedup=done.dedup, began=began)
