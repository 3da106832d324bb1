"""A way for lists: what is read, by which scorers, weighed how; the same for dev and for test."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from charlm.nbest.duplicates import Dedup
from charlm.nbest.format import Format, Sample, Source
from charlm.nbest.formats import detect, format_of
from charlm.nbest.formats.text import TextFormat
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import KALDI_AM, REST
from charlm.nbest.lattices.lattice_options import OLD as OLD_LM
from charlm.nbest.lattices.lattice_reading import FORMATS as LATTICES
from charlm.nbest.lattices.lattice_reading import lattice_format, read_lattices
from charlm.nbest.list_lines import OpenSource, open_lines, opened
from charlm.nbest.metrics.metric_names import MetricName
from charlm.nbest.references import (
    References,
    own_references,
    read_references,
    require_references,
)
from charlm.nbest.repairs import Notices
from charlm.nbest.scorer import Scorer
from charlm.nbest.weights import Weights, parse_weights
from charlm.scoring.rescoring.hypothesis_text import HypothesisText
from charlm.scoring.rescoring.lattices import LatticeLists, LatticeWishes, lattice_lists, lattice_of
from charlm.scoring.rescoring.list_pass import Pass
from charlm.scoring.rescoring.memory import Memory, recording_by
from charlm.scoring.rescoring.pipeline import Rescorer, ScoredList
from charlm.scoring.rescoring.score_job import ContextName, Given, Reading
from charlm.scoring.rescoring.scorers.build_scorers import Scorers

OWN = "own"  # references: those that the lists hold themselves

ListDone = Callable[[ScoredList, Rescored], None]


@dataclass(frozen=True)
class Job:
    """What is the same for the lists of the tuning and for those that are written."""

    scorers: Scorers
    reading: Reading
    old_lm: Scorer | None
    metric: MetricName
    context: ContextName
    recordings: str
    at_once: int
    overrides: Sequence[str]
    raw: bool
    lattices: LatticeWishes
    dedup: Dedup = "none"
    notices: Notices = field(default_factory=Notices)  # of the lists that are opened

    def open(
        self, path: str | Path, *, given: Given, stack: ExitStack
    ) -> tuple[Format, Iterator[NbestList]]:
        """The lists at a path, as long as the stack is open; lattices are searched by `given`."""
        asked_for = replace(self.reading.source(path), notices=self.notices)
        source, form = self._looked_at(asked_for, stack=stack)
        if form not in LATTICES:
            found = format_of(form)
            return found, found.read(source)
        searched = lattice_lists(
            form,
            self.scorers,
            wishes=self.lattices,
            weights=self._weights(given, overrides=()).values,
            overrides=parse_weights(None, self.overrides).values,
            old_lm=self.old_lm,
            one_by_one=not self.at_once,
            memory=self._memory(self.scorers.parts),
        )
        return searched, searched.read(source)

    def _memory(self, scorers: Sequence[Scorer]) -> Memory | None:
        if self.context == "none":
            return None
        return Memory(scorers, recording_of=recording_by(self.recordings))

    def _looked_at(self, source: Source, *, stack: ExitStack) -> tuple[Source, str]:
        """The source and its format; a pipe whose format is said is not waited for."""
        wanted = self.reading.format
        if wanted in LATTICES and str(source.path) == "-":
            lines = stack.enter_context(open_lines("-", rules=source.rules))
            return OpenSource("-", lines=lines, sample=Sample("-", (), ())), wanted
        if wanted != "auto":
            return source, wanted
        ready = stack.enter_context(opened(source))
        assert ready.sample is not None  # it has just been taken
        return ready, lattice_format(ready.sample) or detect(ready.sample).name

    def list_pass(self, form: Format, *, given: Given, on_list: ListDone) -> Pass:
        """The way of lists of a format; `given` weights, a file of them, or the list's own."""
        is_lattice = isinstance(form, LatticeLists)
        memory = (
            form.memory if isinstance(form, LatticeLists) else self._memory(self.scorers.scorers)
        )
        for each in self.scorers.neural:
            each.n_tokens = each.n_prefixes = 0  # a pass counts its own

        def choose(scored: ScoredList) -> Weights:
            base = self._own_weights(form, scored)
            return self._weights(given, base=base, known=scored.table.names)

        return Pass(
            Rescorer(
                () if is_lattice else self.scorers.scorers,
                text=self._text(form),
                old_lm=self.old_lm,
                is_known=self.scorers.is_known,
                memory=memory,
            ),
            choose,
            on_list,
            self.scorers.scorers[0].name,
            own_weights=is_lattice and given is None,
            dedup=self.dedup,
            allow_missing=self.reading.allow_missing,
            notices=self.notices,
            at_once=self.at_once,
        )

    def _text(self, form: Format) -> HypothesisText:
        """Plain sentences have no noise: they are scored as `charlm eval` scores them."""
        reads_all = isinstance(form, TextFormat) or (
            self.raw and not isinstance(form, LatticeLists)
        )
        is_known = None if reads_all else self.scorers.is_known
        return HypothesisText(self.scorers.normalisation, is_known=is_known)

    def _own_weights(self, form: Format, scored: ScoredList) -> dict[str, float]:
        """Those that lists of a format have where nobody says any."""
        if isinstance(form, LatticeLists):
            return dict(lattice_of(scored.nbest).expanded.weighing.weights)
        names = scored.table.names
        base = {name: value for name, value in form.weights.items() if name in names}
        new = [scorer.name for scorer in self.scorers.scorers]
        if self.old_lm is None:
            return base | dict.fromkeys(new, 1.0)
        # As for Kaldi's lattices: of the old model's weight the new ones have half.
        base |= {"am": KALDI_AM} if "am" in names and "am" not in base else {}
        return base | {REST: 1.0, OLD_LM: 1 / 2} | dict.fromkeys(new, 1 / 2 / len(new))

    def _weights(
        self,
        given: Given,
        *,
        base: Mapping[str, float] | None = None,
        known: Sequence[str] | None = None,
        overrides: Sequence[str] | None = None,
    ) -> Weights:
        over = self.overrides if overrides is None else overrides
        if isinstance(given, Weights):
            own = parse_weights(None, over, known=known, base=given.values)
            return replace(own, origin=given.origin)
        return parse_weights(given, over, known=known, base=base)

    def references(self, path: str | Path, lists: Sequence[NbestList]) -> References:
        """What was really said in lists.

        Raises:
            DataError: a list without a reference; as the reader of references.
        """
        if str(path) == OWN:
            return own_references(lists)
        return read_references(
            path,
            [nbest.id for nbest in lists],
            allow_missing=self.reading.allow_missing,
            notices=self.notices,
            rules=self.reading.rules,
        )

    def references_ahead(self, path: str | Path, lists: str | Path) -> References | None:
        """The references of lists that are read for their ids alone, before anything is scored.

        None: the lists come through a pipe, and can be read but once.

        Raises:
            DataError: a list without a reference; as the readers of lists and of references.
        """
        if str(lists) == "-" or not (Path(lists).is_file() or Path(lists).is_dir()):
            if str(path) != OWN:
                require_references(path, rules=self.reading.rules)
            return None
        with ExitStack() as stack:
            source, form = self._looked_at(self.reading.source(lists), stack=stack)
            found: Iterator[Lattice] | Iterator[NbestList]
            if form in LATTICES:
                found = read_lattices(source, form=form, words_txt=self.lattices.words_txt)
            else:
                found = format_of(form).read(source)
            return self.references(path, [_without_hypotheses(each) for each in found])


def _without_hypotheses(found: Lattice | NbestList) -> NbestList:
    reference = found.reference if isinstance(found, NbestList) else None
    return NbestList(found.id, (), reference=reference)
