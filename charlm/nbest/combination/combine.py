"""Lists of several systems put together: `charlm combine`.

A hypothesis has the sum of its posteriors under the systems, each times the system's share; a
system whose list lacks it gives nothing. The logarithm is a feature by which `charlm score` chooses
the likeliest hypothesis or, by minimum Bayes risk, the one that the systems agree with most
(SRILM's nbest-rover and ROVER look for that word by word).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import realpath
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords, require_one_stdin, several
from charlm.interface.progress_messages import with_progress
from charlm.interface.short_repr import ShortRepr
from charlm.nbest.combination.combine_options import CombineOptions
from charlm.nbest.formats import detect
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.lattices.lattice_files import lattice_format
from charlm.nbest.output.output_layouts import DIGITS, POSTERIOR, write_nbest
from charlm.nbest.output.writing import write_file, write_stream
from charlm.nbest.ranking.shares import parsed_shares
from charlm.nbest.reading.format import Piece, Source
from charlm.nbest.reading.list_lines import opened
from charlm.text.io.files import display_name
from charlm.text.io.lines import LIST
from charlm.text.io.overwrite import refuse_overwrite

COMBINED = "combined"  # the feature: ln of the probability under all systems
LEAST = 1e-300  # of a probability that rounding made 0

Words = tuple[str, ...]


@dataclass(frozen=True)
class CombinedSystem:
    """What one file gave."""

    source: str
    share: float
    n_lists: int
    n_hypotheses: int
    has_posteriors: bool  # else all hypotheses of a list were equally likely


@dataclass(frozen=True)
class Combined(JsonResult, ShortRepr):
    """What was combined."""

    systems: tuple[CombinedSystem, ...]
    n_lists: int
    n_hypotheses: int
    n_agreed: int  # lists with the same best hypothesis in all files that have it
    n_missing: int  # lists that a file lacks


@dataclass(frozen=True)
class _System:
    """A file, and the posteriors of its hypotheses by list."""

    source: str
    share: float
    lists: Mapping[str, NbestList]
    posteriors: Mapping[str, Mapping[Words, float]]
    has_posteriors: bool

    def facts(self) -> CombinedSystem:
        n_hypotheses = sum(len(nbest.hypotheses) for nbest in self.lists.values())
        n_lists, is_told = len(self.lists), self.has_posteriors
        return CombinedSystem(self.source, self.share, n_lists, n_hypotheses, is_told)


@keywords(CombineOptions)
@refuse_overwrite("out")
def combine(options: CombineOptions) -> Combined:
    """Put the lists of several systems together, each hypothesis with its probability under all.

    The lists are written as JSON lines, likeliest hypothesis first, with the feature `combined`: ln
    of Σ share·posterior. `score` with its weight at 1 takes them from there.

    >>> found = charlm.combine(["a.jsonl", "b.jsonl"], out="both.jsonl")
    >>> found.n_lists, found.n_hypotheses
    (2, 4)

    Raises:
        ConfigError: fewer than two files; one file twice; shares that are not one above 0 for each.
        DataError: a list that a file lacks; a posterior that is no probability; whatever the
            readers of lists raise.
    """
    files = several(options.lists)
    if len(files) < 2:
        raise ConfigError(
            f"combine: {len(files)} file; expected one of each system, two or more; `charlm score "
            "--mbr` chooses within the lists of one"
        )
    require_one_stdin(files)
    places = [realpath(file) for file in files]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ConfigError(f"{files[number]}: stands twice; expected each system once")
    shares = [1 / len(files)] * len(files)
    if options.shares is not None:
        shares = parsed_shares(options.shares, n_streams=len(files), option="--shares")
        if min(shares) == 0:
            raise ConfigError("--shares: 0 for a system; expected more; leave its file out")
    pairs = zip(files, shares, strict=True)
    systems = [_read(file, share, options=options) for file, share in pairs]
    combination = _Combination(systems, may_lack=options.allow_missing)
    lists = combination.lists()
    if options.out is None:
        for _ in lists:
            pass
    elif callable(options.out):
        write_stream(_pieces(lists), options.out)
    else:
        write_file(_pieces(lists), options.out)
    return Combined(
        systems=tuple(system.facts() for system in systems),
        n_lists=combination.n_lists,
        n_hypotheses=combination.n_hypotheses,
        n_agreed=combination.n_agreed,
        n_missing=combination.n_missing,
    )


def _pieces(lists: Iterable[NbestList]) -> Iterator[Piece]:
    return write_nbest(Rescored(nbest) for nbest in lists)


def _read(path: str | Path, share: float, *, options: CombineOptions) -> _System:
    source = display_name(path)
    lists: dict[str, NbestList] = {}
    posteriors: dict[str, dict[Words, float]] = {}
    rules = replace(LIST, encoding=options.encoding)
    with opened(Source(path, rules=rules)) as file:
        if form := lattice_format(file.sample):
            raise DataError(
                f"{source}: {form}, lattices; expected lists; `charlm score {source} --write "
                "nbest` makes some, with posteriors"
            )
        found = detect(file.sample).read(file)
        for nbest in with_progress(found, f"reading {source}", tell=options.on_stage):
            lists[nbest.id] = nbest.without_layout(features=[POSTERIOR])
            posteriors[nbest.id] = _posteriors(lists[nbest.id])
    has_posteriors = all(POSTERIOR in each.hypotheses[0].features for each in lists.values())
    return _System(source, share, lists, posteriors, has_posteriors)


def _posteriors(nbest: NbestList) -> dict[Words, float]:
    """The posterior of each text, of sum 1; equal ones where the list has none."""
    told = [POSTERIOR in each.features for each in nbest.hypotheses]
    found: dict[Words, float] = {}
    for each in nbest.hypotheses:
        value = each.features.get(POSTERIOR, math.nan) if any(told) else 1.0
        if not 0 <= value <= 1:  # NaN compares false
            raise DataError(
                f"{each.place}: {POSTERIOR} is {value:g}; expected 0 to 1 for each hypothesis of "
                "the list, as `charlm score --write nbest` writes them"
            )
        found[each.words] = found.get(each.words, 0.0) + value
    total = math.fsum(found.values())
    if not total:
        raise DataError(
            f"{nbest.hypotheses[0].place}: all posteriors of list {nbest.id!r} are 0; expected "
            "some above"
        )
    return {words: value / total for words, value in found.items()}


class _Combination:
    """Combines lists one after the other, and counts."""

    def __init__(self, systems: Sequence[_System], *, may_lack: bool) -> None:
        self.n_lists = self.n_hypotheses = self.n_agreed = self.n_missing = 0
        self._systems, self._may_lack = systems, may_lack

    def lists(self) -> Iterator[NbestList]:
        """The lists in the order of the first file, then those that only others have."""
        for id in dict.fromkeys(id for system in self._systems for id in system.lists):
            having = [system for system in self._systems if id in system.lists]
            if len(having) < len(self._systems):
                self._note_missing(id, having)
            nbest = _together(id, having)
            best = {max(own := each.posteriors[id], key=own.__getitem__) for each in having}
            self.n_lists += 1
            self.n_hypotheses += len(nbest.hypotheses)
            self.n_agreed += len(best) == 1
            yield nbest

    def _note_missing(self, id: str, having: Sequence[_System]) -> None:
        lacking = next(each.source for each in self._systems if id not in each.lists)
        if not self._may_lack:
            raise DataError(
                f"{lacking}: no list {id[:80]!r}, which {having[0].source} has; expected the same "
                "lists in all files; --allow-missing combines those that there are"
            )
        self.n_missing += 1


def _together(id: str, systems: Sequence[_System]) -> NbestList:
    """The list of this id of all systems, whose shares are those among these."""
    total = math.fsum(system.share for system in systems)
    lists = [system.lists[id] for system in systems]
    places = {each.words: each.place for nbest in reversed(lists) for each in nbest.hypotheses}
    sums: dict[Words, float] = {}
    for system in systems:
        for words, posterior in system.posteriors[id].items():
            sums[words] = sums.get(words, 0.0) + system.share / total * posterior
    ranked = sorted(sums, key=lambda words: -sums[words])
    logs = {words: float(f"{math.log(max(p, LEAST)):.{DIGITS}g}") for words, p in sums.items()}
    return NbestList(
        id,
        tuple(Hypothesis(words, {COMBINED: logs[words]}, places[words]) for words in ranked),
        recording=next((nbest.recording for nbest in lists if nbest.recording), ""),
        reference=next((n.reference for n in lists if n.reference is not None), None),
    )
