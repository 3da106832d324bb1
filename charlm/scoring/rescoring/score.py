"""`charlm score`: adds a score to lists and writes them in the format in which they came.

Lists are streamed: only what a report needs is kept, and only if a report is asked for.
"""

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError
from charlm.interface.options import keywords, require_one_stdin, several
from charlm.interface.progress_messages import with_progress
from charlm.nbest.formats import FORMATS
from charlm.nbest.formats.one_best import OneBestFormat
from charlm.nbest.formats.text import TextFormat
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.lattices.lattice_files import KALDI
from charlm.nbest.metrics.calibration import Calibration, calibration
from charlm.nbest.metrics.error_rates import ErrorRate
from charlm.nbest.metrics.metric_names import metric_named
from charlm.nbest.metrics.rates_report import RateReport, report
from charlm.nbest.output.ctm import read_segments, write_ctm
from charlm.nbest.output.error_table import write_errors
from charlm.nbest.output.output_layouts import laid_out
from charlm.nbest.output.writing import write_file, write_folder, write_stream
from charlm.nbest.ranking.confidences import Bools, agreement, is_in, posteriors, summed
from charlm.nbest.ranking.features import Floats
from charlm.nbest.ranking.weights import Weights
from charlm.nbest.reading.format import Format, Piece
from charlm.nbest.reading.recordings import recording_by, with_recording
from charlm.nbest.reading.word_times import FRAME_SHIFT
from charlm.nbest.references.differences import note_differences
from charlm.nbest.references.references import References
from charlm.scoring.rescoring.answers.explain import ExplainRequest
from charlm.scoring.rescoring.answers.result import ScoreResult, what_was_done
from charlm.scoring.rescoring.lattices import LatticeLists
from charlm.scoring.rescoring.one_process import run_with_scorers
from charlm.scoring.rescoring.options.score_options import ScoreOptions
from charlm.scoring.rescoring.options.tuned_rules import with_tuned_rules
from charlm.scoring.rescoring.pipeline import Pipeline, ScoredList
from charlm.scoring.rescoring.run import ListRun
from charlm.scoring.rescoring.scorers.build_scorers import Scorers
from charlm.text.io.files import display_name
from charlm.text.io.overwrite import refuse_overwrite

WORD_TIMES = (  # what is taken for granted of Kaldi's lattices
    f"times: a frame is taken to last {FRAME_SHIFT} s; most chain models have 0.03: give "
    "--frame-shift. An arc begins and ends with its word only after lattice-align-words, or "
    "lattice-align-words-lexicon; in other lattices times are near"
)
NUMBER = re.compile("[0-9]{1,18}")  # an id that tells the place of its line in other files


@keywords(ScoreOptions)
@refuse_overwrite("out")
def score(options: ScoreOptions) -> ScoreResult:
    """Score the hypotheses of lists, weight them, and write the lists with the score `charlm`.

    Each model gives a feature in nats (nn, nn2, …, kn, …); mixed models give one together. The
    score that is written is that of the first. Without a model no score is added, and lists are
    ranked by their own features, or keep their order. They also keep their order if they have
    scores, no weights are given, and no ranking is asked for. Lattices get language scores that
    hold everything but the acoustic scores, for a decoder at the result's `lattices.scales`. Lists
    are written in the encoding in which they were read, and other layouts in UTF-8.

    >>> found = charlm.score("lists.tsv", model="exp/first", write="ranked", out="ranked.tsv")
    >>> found.counts.n_lists, found.scorers
    (2, {'nn': 'exp/first'})

    Raises:
        ConfigError: options that contradict each other, or do not fit the lists or models.
        DataError: FILE:LINE of a list that is not what was expected; a broken run or model.
        ProcessError: another process ended.
    """
    began = time.perf_counter()
    require_one_stdin([options.lists, *options.inputs])
    options = with_tuned_rules(options)
    return run_with_scorers(options, partial(_scored, options, began=began))


def _scored(options: ScoreOptions, scorers: Scorers, *, began: float) -> ScoreResult:
    lists = options.lists
    assert lists is not None  # it has been checked
    run = ListRun(options, scorers, on_stage=options.on_stage)
    seen = _Seen(options, run)
    if seen.refs:  # before anything is scored
        seen.references = run.references_ahead(seen.refs, lists)
    with ExitStack() as stack:
        form, found, scorers = run.open(lists, stack=stack)
        _require_several(options, form)
        _require_times(options, form)
        may_wait = isinstance(form, LatticeLists) or options.line_buffered or not scorers.scorers
        pipeline = run.pipeline(form, scorers)
        if seen.question is not None and (ahead := run.lists_ahead(lists)) is not None:
            seen.question.require_one_of(nbest.id for nbest in ahead)
        elif seen.refs and seen.references is None and not may_wait:
            found = list(found)
            seen.references = run.references(seen.refs, found)
        _write(seen, seen.results(pipeline, found), form=form, options=options)
    rates, found_confidences, n_left_out = None, None, 0
    if seen.references is not None:
        rates, found_confidences = seen.measured(seen.references)
        n_left_out = len(seen.kept) - rates.n_lists
    if options.has_posteriors:
        _note_scale(pipeline)
    if options.layout == "ctm" and form.name == KALDI and options.frame_shift is None:
        pipeline.notices.said_otherwise.append(WORD_TIMES)
    return ScoreResult(
        **what_was_done(pipeline, form, scorers=scorers, source=lists, began=began),
        dedup=options.dedup,
        mbr=options.mbr,
        report=rates,
        confidences=found_confidences,
        n_without_reference=n_left_out,
        explanation=None if seen.question is None else seen.question.found(),
    )


class _Seen:
    """What is kept of lists: all of them for a report, two hypotheses for an explanation."""

    def __init__(self, options: ScoreOptions, run: ListRun) -> None:
        self.kept: list[Rescored] = []  # empty if no report is asked for
        self.refs = several(options.refs)
        self.references: References | None = None  # not read yet
        self.question: ExplainRequest | None = None
        if options.explain is not None:
            self.question = ExplainRequest(options.explain, names=run.scorers.names)
        self._confidences: list[Floats] = []  # of each list's best words
        self._agreed: list[Bools] = []  # whether all hypotheses have that word there
        self._options, self._run = options, run
        self._metric = metric_named(options.metric)
        self._recording_of = recording_by(options.recordings)
        # Else references are translations, of which a word may be right in another place.
        self._keeps_confidences = (
            options.layout == "confidences" and self.refs and isinstance(self._metric, ErrorRate)
        )
        self._loses_ids = options.layout == "text" and options.out is not None
        self._number = -1  # of the list before, if its id is one

    def results(self, pipeline: Pipeline, lists: Iterable[NbestList]) -> Iterator[Rescored]:
        """The lists, rescored, after what is needed of each has been kept."""
        stage = f"scoring {display_name(str(self._options.lists))}"
        for scored, result in pipeline.run(
            with_progress(lists, stage, tell=self._options.on_stage)
        ):
            assert pipeline.weights is not None  # they have been chosen
            self._keep(scored, result, weights=pipeline.weights)
            yield result
        if self.refs and self.references is None:  # before a file with the lists appears
            self.references = self._run.references(self.refs, [each.nbest for each in self.kept])
        if self.question is not None:
            self.question.found()

    def _keep(self, scored: ScoredList, result: Rescored, *, weights: Weights) -> None:
        if self.refs:
            nbest = with_recording(scored.nbest, self._options.recordings)
            nbest = nbest.without_layout(features=self._metric.reads)
            self.kept.append(Rescored(nbest, order=result.order))
        if self._keeps_confidences:
            agreement_HW = agreement(result)
            self._confidences.append(
                summed(posteriors(result), agreement_HW, ceiling=result.sureness.ceiling)
            )
            self._agreed.append(np.logical_and.reduce(agreement_HW))
        if self.question is not None:
            self.question.look(scored, result, weights=weights)
        if self._loses_ids and NUMBER.fullmatch(scored.nbest.id):
            number, before = int(scored.nbest.id), self._number
            self._number = number
            self._run.notices.n_out_of_order += number < before

    def errors(self, results: Iterator[Rescored]) -> Iterator[Piece]:
        """The table of `--write errors`, once all lists have been kept."""
        deque(results, maxlen=0)
        assert isinstance(self._metric, ErrorRate)  # it has been checked, and so are references
        assert self.references is not None
        yield from write_errors(
            [each for each in self.kept if each.nbest.id in self.references],
            self.references,
            tokens=self._metric.tokens,
            recording_of=self._recording_of,
        )

    def measured(self, references: References) -> tuple[RateReport, Calibration | None]:
        """The rates of lists with a reference, and how good the confidences of their words are."""
        which = [i for i, each in enumerate(self.kept) if each.nbest.id in references]
        kept = [self.kept[i] for i in which]
        note_differences([each.nbest for each in kept], references, notices=self._run.notices)
        recordings = [self._recording_of(each.nbest) for each in kept]  # perhaps guessed from ids
        rates = report(
            kept,
            references=references,
            metric=self._metric,
            recordings=recordings if self._options.layout == "errors" else (),
        )
        if not self._keeps_confidences:
            return rates, None
        found = calibration(
            [self._confidences[i] for i in which],
            [is_in(references[each.nbest.id], each.best.words) for each in kept],
            agreed=[self._agreed[i] for i in which],
        )
        return rates, found


def _note_scale(pipeline: Pipeline) -> None:
    """Note posteriors at the scale of the totals, which weights leave open."""
    weights = pipeline.weights
    if weights and weights.values and weights.sureness is None and pipeline.counts.n_choices:
        pipeline.notices.said_otherwise.append(
            "posteriors are of the totals as they are (scale 1), and may be far too sure, or not "
            "sure enough: charlm tune finds a scale on words, right or wrong (by WER or CER), "
            "--posterior-scale sets one"
        )


def _require_several(options: ScoreOptions, form: Format) -> None:
    """Raises ConfigError for what is asked of several hypotheses, before anything is scored."""
    is_lattice = isinstance(form, LatticeLists)
    if is_lattice and options.explain is not None:
        raise ConfigError(
            "--explain: found a lattice; expected a list; write one with --write nbest "
            "--weight am=NUMBER and without models, which read the list then"
        )
    if is_lattice and options.layout == "ranked":
        raise ConfigError(
            "--write ranked (--sort): a lattice has no order of hypotheses; expected scored "
            "or nbest, whose lists have the best first"
        )
    if is_lattice and options.layout == "scored" and options.mbr is not None:
        raise ConfigError(
            f"--mbr {options.mbr}: a lattice is written for decoders, which choose by totals; "
            "expected another --write, such as nbest or trn"
        )
    is_alone = isinstance(form, (OneBestFormat, TextFormat))
    if is_alone and options.layout == "ranked":
        raise ConfigError(
            "--write ranked (--sort): sentences are no list, and would be written as they came, "
            "without scores; expected scored"
        )
    if is_alone and options.layout == "confidences":
        raise ConfigError(
            "--write confidences: sentences are no list, and every word would be certain; expected "
            "lists of hypotheses, or lattices"
        )


def _require_times(options: ScoreOptions, form: Format) -> None:
    """Raises ConfigError for times of a format without any, or frames of one without these."""
    if options.layout == "ctm" and not form.times_in:
        timed = [name for name, kind in FORMATS.items() if kind.times_in]
        raise ConfigError(
            f"--write ctm: lists of the format {form.name} do not say when words were said; "
            f"expected lattices, or one of {', '.join(timed)}; --write trn has words without times"
        )
    if options.frame_shift is not None and form.times_in == "seconds":
        raise ConfigError(
            f"--frame-shift {options.frame_shift:g}: times of the format {form.name} are seconds; "
            "expected a format of frames; drop it"
        )


def _write(
    seen: _Seen, rescored: Iterator[Rescored], *, form: Format, options: ScoreOptions
) -> None:
    out, layout, encoding = options.out, options.layout, options.written_encoding
    if out is None or layout == "none":
        for _ in rescored:
            pass
        return
    if layout == "errors":
        pieces = seen.errors(rescored)
    elif layout == "ctm":
        segments = None
        if options.segments is not None:
            segments = read_segments(options.segments, rules=options.line_rules)
        pieces = write_ctm(rescored, form, frame_shift=options.frame_shift, segments=segments)
    else:
        pieces = laid_out(rescored, form, layout=layout)
    if callable(out):
        write_stream(pieces, out, encoding=encoding)
    elif options.goes_to_folder:
        name = "lists" if str(options.lists) == "-" else Path(str(options.lists)).name
        write_folder(pieces, out, main=name, encoding=encoding)  # if the format gives no name
    else:
        write_file(pieces, out, encoding=encoding)
