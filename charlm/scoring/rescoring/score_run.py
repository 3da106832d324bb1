"""Running what `charlm score` was asked for: first the tuning, then the lists that are written."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from charlm.errors import ConfigError
from charlm.nbest.best_layouts import write_best
from charlm.nbest.fingerprint import check_not_reported
from charlm.nbest.format import Format, Piece
from charlm.nbest.formats import format_of
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.jsonl_output import write_nbest
from charlm.nbest.metrics.metric_names import metric_named
from charlm.nbest.metrics.rates_report import RateReport, report
from charlm.nbest.references import References
from charlm.nbest.repairs import Notices
from charlm.nbest.tuning.tuning import Tuned, parse_ranges, tune
from charlm.nbest.weights import parse_weights
from charlm.nbest.writing import write_file, write_folder, write_stream
from charlm.scoring.rescoring.explain import Explanation
from charlm.scoring.rescoring.explain_request import Why
from charlm.scoring.rescoring.lattices import LatticeCounts, LatticeLists
from charlm.scoring.rescoring.list_job import Job
from charlm.scoring.rescoring.list_pass import Pass
from charlm.scoring.rescoring.pipeline import ScoredList
from charlm.scoring.rescoring.score_job import (
    SAME_FORMAT,
    Asked,
    Given,
    Out,
    Tuning,
    Write,
    is_folder,
    written_encoding,
)
from charlm.scoring.rescoring.serve import JSONL, Server


def tuned_on(job: Job, wanted: Tuning, *, references: References | None) -> Tuned:
    """Weights for the lists of a tuning; its references, if they have been read.

    Raises:
        ConfigError, DataError: as `tune`, and as the reader of the lists.
    """
    _require_tuned(job, wanted)
    scored: list[ScoredList] = []
    with ExitStack() as stack:
        form, lists = job.open(wanted.lists, given=None, stack=stack)
        way = job.list_pass(form, given=None, on_list=lambda each, _: scored.append(each))
        if references is None and not isinstance(form, LatticeLists):
            lists, references = _with_references(job, lists, refs=wanted.refs)
        for _ in way.run(lists):
            pass
    if references is None:
        references = job.references(wanted.refs, [each.nbest for each in scored])
    scored = [each for each in scored if each.nbest.id in references]
    start = {} if way.weights is None else way.weights.values
    return tune(
        [each.nbest for each in scored],
        [each.table for each in scored],
        references=references,
        metric=metric_named(job.metric),
        features=wanted.features or None,
        start={k: v for k, v in start.items() if k in (wanted.features or start)},
        ranges=parse_ranges(wanted.ranges),
        restarts=wanted.restarts,
        folds=wanted.folds,
        seed=wanted.seed,
    )


def _require_tuned(job: Job, wanted: Tuning) -> None:
    """Raises ConfigError for a weight that a tuning begins with and ends without."""
    for name in parse_weights(None, job.overrides).values:
        if wanted.features and name not in wanted.features:
            raise ConfigError(
                f"--weight {name}: --tuned {','.join(wanted.features)} leaves it out, and it would "
                "count nothing; expected a feature that is tuned; add it there, or drop it"
            )


def _with_references(
    job: Job, lists: Iterable[NbestList], *, refs: str | Path
) -> tuple[Iterator[NbestList], References]:
    """Lists that can be read but once, all of them, so that their references are known first.

    Not for lattices: to read their lists is to search them, one after what was chosen of another.
    """
    found = list(lists)
    return iter(found), job.references(refs, found)


@dataclass(frozen=True)
class Done:
    """What was done to the lists that were written."""

    form: str
    way: Pass
    kept: list[tuple[NbestList, Rescored]]  # for a report; none where none was asked for
    explanation: Explanation | None = None
    lattices: LatticeCounts | None = None
    n_errors: int = 0  # lines that could not be served
    references: References | None = None  # None: nobody has read them yet


def written(
    job: Job,
    lists: str | Path,
    *,
    given: Given,
    out: Out,
    layout: Write,
    refs: str | Path | None = None,
    references: References | None = None,
    why: Why | None = None,
) -> Done:
    """Score the lists and write them; keep them where there are references.

    Raises:
        ConfigError: weights that do not fit; a file for a format of several; lattices to be ranked.
        DataError: as the reader of the lists.
    """
    kept: list[tuple[NbestList, Rescored]] = []

    def on_list(scored: ScoredList, result: Rescored) -> None:
        if refs is not None:
            kept.append((scored.nbest, result))
        if why is not None:
            assert way.weights is not None  # chosen for this list
            why.look(scored, result, weights=way.weights)

    with ExitStack() as stack:
        form, found = job.open(lists, given=given, stack=stack)
        if layout == "ranked" and isinstance(form, LatticeLists):
            raise ConfigError(
                "--write ranked (--sort): a lattice has no order of hypotheses; expected scored "
                "or nbest, whose lists have the best first"
            )
        way = job.list_pass(form, given=given, on_list=on_list)
        may_wait = job.at_once and not isinstance(form, LatticeLists)
        if refs is not None and references is None and may_wait:
            found, references = _with_references(job, found, refs=refs)
        encoding = job.reading.rules.encoding
        _write(way.run(found), form, out=out, layout=layout, lists=lists, encoding=encoding)
    explanation = None if why is None else why.found()
    counts = form.counts if isinstance(form, LatticeLists) else None
    return Done(form.name, way, kept, explanation, counts, references=references)


def _write(
    rescored: Iterator[Rescored],
    form: Format,
    *,
    out: Out,
    layout: Write,
    lists: str | Path,
    encoding: str,
) -> None:
    if out is None or layout == "none":
        for _ in rescored:
            pass
        return
    pieces: Iterable[Piece]
    if layout in SAME_FORMAT:
        pieces = form.write(rescored, reranked=layout == "ranked")
    else:
        pieces = write_nbest(rescored) if layout == "nbest" else write_best(rescored, layout)
    encoding = written_encoding(layout, encoding)
    if callable(out):
        write_stream(pieces, out, encoding=encoding)
    elif is_folder(out, lists=lists, layout=layout):
        name = "lists" if str(lists) == "-" else Path(lists).name
        write_folder(pieces, out, main=name, encoding=encoding)  # where the format does not say
    else:
        write_file(pieces, out, encoding=encoding)


def served(job: Job, *, given: Given, out: Callable[[str], object], layout: Write) -> Done:
    """Answer the JSON lines of standard input until it ends.

    Raises:
        DataError: standard input is packed, and broken.
    """
    way = job.list_pass(format_of(JSONL), given=given, on_list=lambda scored, result: None)
    server = Server(way, replace(job.reading.source("-"), notices=job.notices), layout)
    server.answer(out)
    return Done(JSONL, way, [], n_errors=server.n_errors)


@dataclass(frozen=True)
class Measured:
    """Rates, and how many lists they leave out since these have no reference."""

    report: RateReport
    n_left_out: int


def measured(job: Job, done: Done, *, refs: str | Path, where: str, allow: bool) -> Measured:
    """The rates of what was written; `where` names the weights.

    Raises:
        ConfigError: the weights were tuned on these lists, unless that is allowed.
        DataError: a list without reference.
    """
    lists = [nbest for nbest, _ in done.kept]
    references = job.references(refs, lists) if done.references is None else done.references
    kept = [pair for pair in done.kept if pair[0].id in references]
    lists = [nbest for nbest, _ in kept]
    weights = done.way.weights
    if weights is not None and weights.origin is not None:
        check_not_reported(
            weights.origin.lists, lists, references=references, where=where, allow=allow
        )
    rates = report(
        lists,
        [result for _, result in kept],
        references=references,
        metric=metric_named(job.metric),
    )
    return Measured(rates, len(done.kept) - len(kept))


@dataclass(frozen=True)
class Outcome:
    """What came of a task."""

    tuned: Tuned | None
    done: Done | None
    measured: Measured | None = None
    notices: Notices = field(default_factory=Notices)  # of the lists that were written
    dev_notices: Notices = field(default_factory=Notices)  # of the lists of the tuning


@dataclass(frozen=True)
class Task:
    """What to do by a job: tune, then write or serve, then measure."""

    asked: Asked
    tuning: Tuning | None
    allow_test_tuning: bool

    def run(self, job: Job) -> Outcome:
        """Do it; references are looked at before anything is scored.

        Raises:
            ConfigError: options that do not fit the lists or models.
            DataError: lists or references that are not what was expected.
        """
        asked = self.asked
        dev = replace(job, notices=Notices())
        dev_references, references = self._references(job, dev)
        tuned: Tuned | None = None
        given: Given = asked.weights
        if self.tuning is not None:
            tuned = tuned_on(dev, self.tuning, references=dev_references)
            given = tuned.weights
            job = replace(job, overrides=())  # they were where the search began
            if asked.weights is not None:
                tuned.weights.save(asked.weights)
        done = self._done(job, given=given, references=references)
        found = Outcome(tuned, done, notices=job.notices, dev_notices=dev.notices)
        refs = asked.own_refs
        if done is None or refs is None:
            return found
        where = "--tune" if tuned is not None else str(asked.weights)
        allow = self.allow_test_tuning
        return replace(found, measured=measured(job, done, refs=refs, where=where, allow=allow))

    def _references(self, job: Job, dev: Job) -> tuple[References | None, References | None]:
        """Those of the tuning's lists and of the others; None where the lists have to come first.

        Raises:
            DataError: files that are not what was expected, or not of these lists.
        """
        asked, tuning = self.asked, self.tuning
        first = None if tuning is None else dev.references_ahead(tuning.refs, tuning.lists)
        if asked.own_refs is None or asked.lists is None:
            return first, None
        return first, job.references_ahead(asked.own_refs, asked.lists)

    def _done(self, job: Job, *, given: Given, references: References | None) -> Done | None:
        asked = self.asked
        if asked.serve:
            if not callable(asked.out):
                raise ConfigError("--serve: answers go to standard output; drop --out")
            return served(job, given=given, out=asked.out, layout=asked.layout)
        if asked.lists is None:
            return None
        names = tuple(each.name for each in job.scorers.scorers)
        return written(
            job,
            asked.lists,
            given=given,
            out=asked.out,
            layout=asked.layout,
            refs=asked.own_refs,
            references=references,
            why=None if asked.explain is None else Why(asked.explain, names=names),
        )
