"""`charlm tune`: the weights of features and models that suit lists with references best."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from charlm.interface.options import keywords, require_one_stdin, several
from charlm.interface.progress_messages import with_progress
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.metrics.error_rates import ErrorRate
from charlm.nbest.metrics.metric_names import metric_named
from charlm.nbest.ranking.features import FeatureTable, require_known
from charlm.nbest.ranking.weights import ListLayout, Pieces, Weights, rescored
from charlm.nbest.reading.format import Format
from charlm.nbest.reading.recordings import with_recording
from charlm.nbest.references.differences import note_differences
from charlm.nbest.references.fingerprint import fingerprint
from charlm.nbest.references.references import References
from charlm.nbest.tuning.search_options import parse_ranges
from charlm.nbest.tuning.sureness import fitted_sureness
from charlm.nbest.tuning.tuning import Tuned, tune_weights
from charlm.scoring.rescoring.answers.result import TuneResult, history_name, what_was_done
from charlm.scoring.rescoring.lattices import LatticeLists
from charlm.scoring.rescoring.one_process import run_with_scorers
from charlm.scoring.rescoring.options.tune_options import TuneOptions
from charlm.scoring.rescoring.pipeline import Pipeline
from charlm.scoring.rescoring.run import ListRun
from charlm.scoring.rescoring.scorers.build_scorers import Scorers
from charlm.text.io.files import display_name
from charlm.text.io.overwrite import refuse_overwrite


@keywords(TuneOptions)
@refuse_overwrite("out")
def tune(options: TuneOptions) -> TuneResult:
    """Find the weights under which the best hypotheses of lists have the lowest error rate.

    Models give features as in `score`; without models, the lists' own features are weighted. The
    weights record the lists, so that `score` reports no rate on the lists of the tuning, and the
    scale of totals at which confidences of words fit these lists best.

    >>> found = charlm.tune("lists.tsv", model="exp/first", refs="refs.txt", out="weights.json")
    >>> sorted(found.weights.values)
    ['am', 'nn', 'oov', 'words']

    Raises:
        ConfigError: options that contradict each other, or do not fit the lists or models.
        DataError: FILE:LINE of a list that is not what was expected; a list without a reference;
            nothing that varies; a broken run or model.
        ProcessError: another process ended.
    """
    require_one_stdin([options.lists, *options.inputs])
    return run_with_scorers(options, partial(_tuned, options, began=time.perf_counter()))


def _tuned(options: TuneOptions, scorers: Scorers, *, began: float) -> TuneResult:
    run = ListRun(options, scorers, on_stage=options.on_stage)
    refs = several(options.refs)
    references = run.references_ahead(refs, options.lists)  # before anything is scored
    scored: list[tuple[NbestList, FeatureTable]] = []
    reads = metric_named(options.metric).reads
    with ExitStack() as stack:
        form, lists, scorers = run.open(options.lists, stack=stack)
        pipeline = run.pipeline(form, scorers)
        if references is None and scorers.scorers and not isinstance(form, LatticeLists):
            lists = list(lists)
            references = run.references(refs, lists)
        stage = f"scoring {display_name(options.lists)}"
        for each, _ in pipeline.run(with_progress(lists, stage, tell=options.on_stage)):
            if not scored:  # else all lists would be scored for a feature that they lack
                named = [*options.tuned_names, *parse_ranges(options.ranges)]
                require_known(named, each.table.names)
            scored.append((each.nbest.without_layout(features=reads), each.table))
    if references is None:
        references = run.references(refs, [nbest for nbest, _ in scored])
    n_lists, scored = len(scored), [each for each in scored if each[0].id in references]
    note_differences([nbest for nbest, _ in scored], references, notices=run.notices)
    tuned = _found(scored, references, pipeline=pipeline, options=options, scorers=scorers)
    weights = _recorded(tuned.weights, form, pipeline=pipeline, options=options, scorers=scorers)
    if isinstance(form, LatticeLists):
        weights = _of_lattices(weights, [nbest for nbest, _ in scored], references=references)
    done = what_was_done(
        pipeline, form, scorers=scorers, source=options.lists, began=began, weights=weights
    )
    if options.out is not None:
        weights.save(options.out)
    return TuneResult(
        **done, tuned=replace(tuned, weights=weights), n_without_reference=n_lists - len(scored)
    )


def _found(
    scored: Sequence[tuple[NbestList, FeatureTable]],
    references: References,
    *,
    pipeline: Pipeline,
    options: TuneOptions,
    scorers: Scorers,
) -> Tuned:
    """The weights that are found, with how sure their totals are."""
    start = {} if pipeline.weights is None else pipeline.weights.values
    metric = metric_named(options.metric)
    tuned = tune_weights(
        [with_recording(nbest, options.recordings) for nbest, _ in scored],
        [table for _, table in scored],
        references=references,
        metric=metric,
        start={name: start[name] for name in start if name in (options.tuned_names or start)},
        options=options,
        spelled_by=scorers.spelled,
        history=history_name(pipeline.counts, scorers.adaptation),
    )
    if not isinstance(metric, ErrorRate):  # references may be no words
        return tuned
    ranked = (rescored(*each, weights=tuned.weights) for each in scored)
    sureness = fitted_sureness(ranked, references)
    return replace(tuned, weights=replace(tuned.weights, sureness=sureness))


def _recorded(
    weights: Weights, form: Format, *, pipeline: Pipeline, options: TuneOptions, scorers: Scorers
) -> Weights:
    """The weights with how lists of this format were read, and by what."""
    assert weights.origin is not None  # they are tuned
    penalty = options.length_penalty
    is_said = options.column_names or options.format != "auto" or penalty
    is_said = is_said or pipeline.notices.may_be_means  # a length penalty of 0 says something, too
    layout = ListLayout(form.name, options.column_names, penalty) if is_said else None
    return replace(
        weights,
        origin=replace(weights.origin, unknown=pipeline.rescorer.text.counts.share_unknown),
        text=scorers.text_rules,
        raw=options.raw,
        unnormalised=options.unnormalised,
        mixture=scorers.mixture,
        lists=layout,
        pieces=Pieces(options.join, options.read_as or "words") if options.join else None,
    )


def _of_lattices(
    weights: Weights, lists: Sequence[NbestList], *, references: References
) -> Weights:
    """The weights with a fingerprint that does not depend on which paths were found."""
    assert weights.origin is not None  # they are tuned
    bare = [replace(nbest, hypotheses=()) for nbest in lists]
    return replace(weights, origin=replace(weights.origin, lists=fingerprint(bare, references)))
