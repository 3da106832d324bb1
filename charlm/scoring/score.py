"""`charlm score`: lists in, lists with a score more out, in the format they came in.

Lists stream: what is kept of them is what a report needs, and only where one is asked for.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from charlm.nbest.contract import OnNan
from charlm.nbest.lattices.options import OLD as OLD_LM
from charlm.nbest.metrics import MetricName
from charlm.nbest.ngram_scorer import NgramScorer
from charlm.nbest.scorer import Scorer
from charlm.ngram.load import load_ngram
from charlm.runtime import set_threads
from charlm.scoring.lattice_lists import LatticeWishes
from charlm.scoring.list_job import Job
from charlm.scoring.list_pass import RECORDING
from charlm.scoring.score_job import (
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
from charlm.scoring.score_result import ScoreResult, result_of
from charlm.scoring.score_run import Task
from charlm.scoring.scorers import Wanted, make_scorers

MIB = 1 << 20


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
    out: Out = None,
    write: Write = "scored",
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
    written is that of the first. `out` is a file, a folder (for formats of several files), or a
    function that is given text; without it nothing is written. `tune` are lists that
    weights are looked for on, with references `refs`; they are written to `weights`, and
    `test_refs` are those of `lists`. Without `tune`, `refs` are those of `lists`. References `own`
    are those that the lists hold. `memory` is in MiB.

    Raises:
        ConfigError: options that contradict each other, or do not fit the lists or models.
        DataError: FILE:LINE of a list that is not what was expected; a broken run or model.
    """
    began = time.perf_counter()
    asked = Asked(lists, tune, refs, test_refs, weights, out, write, explain, serve)
    asked.check()
    set_threads(threads)
    scorers = make_scorers(
        Wanted(
            as_paths(model),
            as_paths(lm),
            own=scorer,
            mix=mix,
            mix_weights=mix_weights,
            open_vocabulary=open_vocabulary,
            unnormalised=unnormalised,
            lower=lower,
            raw=raw,
            device=device,
            precision=precision,
            form_bytes=memory * MIB,
        )
    )
    names, files = as_names(columns), as_files(features)
    job = Job(
        scorers,
        Reading(format, names, files, on_nan, allow_missing, length_penalty),
        None if old_lm is None else NgramScorer(load_ngram(old_lm), name=OLD_LM),
        metric,
        context,
        recordings,
        at_once=0 if line_buffered else at_once,
        overrides=weight,
        raw=raw,
        lattices=LatticeWishes(beam, recombine, n_best, words_txt),
    )
    tuning = asked.tuning(as_names(tuned), ranges, restarts=restarts, folds=folds, seed=seed)
    found, done, rates = Task(asked, tuning, allow_test_tuning).run(job)
    source = "-" if serve else lists
    return result_of(scorers, source=source, done=done, tuned=found, measured=rates, began=began)
