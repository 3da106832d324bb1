"""How n-best lists and lattices are opened, scored and weighed; shared by scoring and tuning."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from charlm.errors import ConfigError, DataError
from charlm.interface.options import OnStage
from charlm.interface.progress_messages import with_progress
from charlm.nbest.formats import FORMATS as LISTS
from charlm.nbest.formats import detect, format_of
from charlm.nbest.formats.text import TextFormat
from charlm.nbest.hypotheses import NbestList, joining
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import FORMATS as LATTICES
from charlm.nbest.lattices.lattice_files import KALDI, lattice_format, read_lattices
from charlm.nbest.lattices.lattice_options import KALDI_AM, REST, LatticeOptions
from charlm.nbest.lattices.lattice_options import OLD as OLD_LM
from charlm.nbest.lattices.rescore import LATTICES_AT_ONCE
from charlm.nbest.metrics.metric_names import metric_named
from charlm.nbest.ranking.features import OOV, WORDS
from charlm.nbest.ranking.weights import Weights, load_weights, parse_weights
from charlm.nbest.reading.format import Format, Source
from charlm.nbest.reading.list_lines import OpenSource, open_lines, opened
from charlm.nbest.reading.recordings import recording_by
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.references.fingerprint import check_not_reported
from charlm.nbest.references.references import (
    WITHOUT_REFERENCE,
    References,
    SeveralReferences,
    own_references,
    read_references,
    require_references,
)
from charlm.nbest.scorer import Scorer
from charlm.scoring.rescoring.hypothesis_text import HypothesisText, Known
from charlm.scoring.rescoring.lattices import LatticeLists, lattice_of
from charlm.scoring.rescoring.options.rescoring_options import ListOptions, RescoringOptions
from charlm.scoring.rescoring.pipeline import Pipeline, RecordingMemory, Rescorer, ScoredList
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, spells
from charlm.text.corpus.normalisation.pieces import joined
from charlm.text.corpus.tokens import UNK_WORD, share
from charlm.text.io.files import display_name
from charlm.text.io.paths import is_pipe

Options = TypeVar("Options", bound=RescoringOptions)

# If the model lacks more than one in eight words of the lists, they are of another domain. There
# the right words are unknown as well, and spelling unknown words does harm: recipes/rescoring.
FOREIGN = 1 / 8
LOOKED_AT = 200  # lists that are looked at to find the share

OF_LATTICES = ("beam", "recombine", "n_best")
OWN = "own"  # references that the lists hold themselves


class ListRun:
    """The lists of one command: opened, with their references, and scored by its models."""

    def __init__(self, options: ListOptions, scorers: Scorers, *, on_stage: OnStage = None) -> None:
        self.options, self.scorers, self._tell = options, scorers, on_stage
        recording_by(options.recordings)  # a wrong pattern is refused before anything is scored
        self.notices = Notices()  # on the lists that are opened
        tuned = None if options.weights is None else load_weights(options.weights)
        self._tuned_on, self._origin = (tuned.lists, tuned.origin) if tuned else (None, None)

    def open(
        self, path: str | Path, *, stack: ExitStack
    ) -> tuple[Format, Iterable[NbestList], Scorers]:
        """The lists at a path, open as long as the stack is, and the scorers that suit them.

        Lattices are searched. If unknown words are not to be spelled, the returned scorers do not.

        Raises:
            ConfigError: options that do not fit the format.
            DataError: no such file, or a file of an unknown format.
        """
        options, scorers = self.options, self.scorers
        source, form = self._looked_at(self._source(path), stack=stack)
        _require_numbers(options.words_txt, path=path, form=form)
        _require_lattices(options, path=path, form=form)
        is_open = spells(options)
        if is_open is None and (form in LATTICES or form == TextFormat.name):
            scorers = scorers.closed  # sentences are scored as `charlm eval` scores them
        if form not in LATTICES:
            found = format_of(form)
            if isinstance(found, TextFormat) and not scorers.scorers:
                raise ConfigError(
                    f"{display_name(path)}: sentences have no features of their own; expected "
                    "--model or --lm"
                )
            lists = joining(found.read(source), options.join)
            if is_open is None and scorers.spelled and not options.line_buffered:
                first = list(islice(lists, LOOKED_AT))
                lists = chain(first, lists)
                reads_pieces = options.read_as == "pieces"
                if _share_unknown(first, scorers, reads_pieces=reads_pieces) > FOREIGN:
                    scorers = scorers.closed
            return found, lists, scorers
        searched = LatticeLists(
            form,
            scorers,
            options=LatticeOptions(
                weights=parse_weights(options.weights).values,
                weights_path=options.weights,
                overrides=parse_weights(None, options.weight).values,
                beam=options.beam,
                recombine=options.recombine,
                n_best=options.n_best,
            ),
            words_txt=options.words_txt,
            at_once=1 if options.line_buffered else LATTICES_AT_ONCE,
            memory=memory_of(options, scorers.parts),
        )
        return searched, searched.read(source), scorers

    def pipeline(self, form: Format, scorers: Scorers) -> Pipeline:
        """The pipeline for the format and the scorers that `open` found."""
        pipeline = pipeline_of(self.options, scorers, form=form, notices=self.notices)
        at_once = 0 if self.options.line_buffered else self.options.at_once
        return replace(pipeline, at_once=at_once)

    def _source(self, path: str | Path) -> Source:
        options = self.options
        return Source(
            path,
            features=options.feature_files,
            columns=options.column_names,
            on_nan=options.on_nan,
            allow_missing=options.allow_missing,
            length_penalty=options.length_penalty,
            rules=options.line_rules,
            notices=self.notices,
        )

    def _looked_at(self, source: Source, *, stack: ExitStack) -> tuple[Source, str]:
        """The source and its format, as given by the options, or else by the file of weights.

        If the format of a pipe is given, no line of it is waited for.
        """
        wanted, kept = self.options.format, self._tuned_on
        if wanted not in ("auto", *LATTICES, *LISTS):
            raise ConfigError(
                f"--format {wanted!r:.40}: no such format; expected auto, {' or '.join(LATTICES)} "
                f"of lattices, or of lists one of {', '.join(LISTS)}"
            )
        if wanted in LATTICES and is_pipe(source.path):
            lines = stack.enter_context(open_lines(source.path, rules=source.rules))
            source = OpenSource(**vars(source), lines=lines)
        elif wanted == "auto":
            source = stack.enter_context(opened(source))
            likely = kept.format if kept else ""
            wanted = lattice_format(source.sample) or detect(source.sample, likely=likely).name
        if kept is None:
            return source, wanted
        tuned_with = source.length_penalty if kept.length_penalty is None else kept.length_penalty
        is_same = wanted == kept.format
        if is_same and source.length_penalty != tuned_with:
            source.notices.said_otherwise.append(
                f"--length-penalty {source.length_penalty:g}: the weights were tuned on scores "
                f"that were read with {tuned_with:g}, and fit no others; give that, or tune again"
            )
        if self.options.format not in ("auto", kept.format):
            source.notices.said_otherwise.append(
                f"--format {wanted}: the weights were tuned on lists of the format {kept.format}"
            )
        elif is_same and not source.columns:
            source = replace(source, columns=kept.columns)
        elif source.columns and source.columns != kept.columns and (is_same or kept.columns):
            source.notices.said_otherwise.append(
                f"--columns {','.join(source.columns)}: the weights were tuned on lists with "
                f"{','.join(kept.columns) or 'none said'}"
            )
        return source, wanted

    def references(self, paths: Sequence[str | Path], lists: Sequence[NbestList]) -> References:
        """The references of lists, of one file or several: what was really said.

        Raises:
            DataError: no word in any of a file.
        """
        files = [self._references_in(path, lists) for path in paths]
        found = files[0] if len(files) == 1 else SeveralReferences(files)
        self.notices.pass_over(WITHOUT_REFERENCE, len({nbest.id for nbest in lists} - set(found)))
        n_empty = sum(len({bool(each[id]) for each in files}) > 1 for id in found)
        if n_empty:
            self.notices.said_otherwise.append(
                f"{n_empty} lists have an empty reference in one file and words in another: as in "
                "sacrebleu it counts as a translation of length 0; write those words there, too"
            )
        return found

    def _references_in(self, path: str | Path, lists: Sequence[NbestList]) -> References:
        options, may_lack = self.options, self.options.allow_missing
        if str(path) == OWN:
            found = own_references(lists, allow_missing=may_lack)
        else:
            found = read_references(
                path,
                [nbest.id for nbest in lists],
                allow_missing=may_lack,
                notices=self.notices,
                rules=options.line_rules,
            )
            found = {id: tuple(joined(words, options.join)) for id, words in found.items()}
        if not any(found.values()):
            raise DataError(f"{path}: no word in any of {len(found)} references; expected some")
        if self._origin is not None and not options.allow_test_tuning:
            check_not_reported(
                self._origin.lists,
                [nbest for nbest in lists if nbest.id in found],
                references=found,
                where=str(options.weights),
            )
        return found

    def references_ahead(self, paths: Sequence[str | Path], lists: str | Path) -> References | None:
        """The references of lists, which are read for this before anything is scored.

        None: the lists, or what is read beside them, come through a pipe, which can be read only
        once. Then the caller reads all lists before it scores any. This is not possible for
        lattices, since reading their lists means searching them. None, too, without a model, where
        nothing takes longer than reading: the references can be read last.
        """
        found = self.lists_ahead(lists)
        if found is not None:
            return self.references(paths, found)
        for path in paths:
            if str(path) != OWN:
                require_references(path, rules=self.options.line_rules)
        return None

    def lists_ahead(self, path: str | Path) -> list[NbestList] | None:
        """The lists or lattices, as far as needed to know them again, before anything is scored.

        None: they, or what is read beside them, come through a pipe, or there is no model.
        """
        read = [path, *self.options.feature_files.values(), self.options.words_txt or path]
        if not self.scorers.scorers or any(map(is_pipe, read)):
            return None
        with ExitStack() as stack:
            unnoticed = replace(self._source(path), notices=Notices())
            source, form = self._looked_at(unnoticed, stack=stack)
            found: Iterator[Lattice] | Iterator[NbestList]
            if form in LATTICES:
                found = read_lattices(source, form=form, words_txt=self.options.words_txt)
            else:
                found = joining(format_of(form).read(source), self.options.join)
            keeps_texts = self._origin is not None
            reported = (_reported(each, keeps_texts) for each in found)
            return list(with_progress(reported, f"reading {display_name(path)}", tell=self._tell))


def _require_numbers(words_txt: str | Path | None, *, path: str | Path, form: str) -> None:
    """Raises ConfigError for --words-txt where the format has words and no numbers."""
    if words_txt is not None and form != KALDI:
        raise ConfigError(
            f"--words-txt {words_txt}: {display_name(path)} is of the format {form}, whose words "
            "are read as they stand; expected Kaldi's lattices; drop it, or put words in the place "
            "of numbers with utils/int2sym.pl"
        )


def _require_lattices(options: ListOptions, *, path: str | Path, form: str) -> None:
    """Raises ConfigError for an option of the lattice search where there is no lattice.

    Nor does that search join pieces.
    """
    if form in LATTICES and options.join:
        raise ConfigError(
            f"--join {options.join}: joins the pieces of hypotheses, and {display_name(path)} has "
            "lattices; expected n-best lists; `charlm score … --write nbest` makes some"
        )
    for name in OF_LATTICES:
        value = getattr(options, name)
        if form not in LATTICES and value != getattr(ListOptions, name):
            raise ConfigError(
                f"--{name.replace('_', '-')} {value:g}: is of lattices, and "
                f"{display_name(path)} is of the format {form}, whose hypotheses are all taken; "
                "drop it"
            )


def pipeline_of(
    options: RescoringOptions, scorers: Scorers, *, form: Format, notices: Notices
) -> Pipeline:
    """The pipeline for lists of a format, weighted by a file of weights or by default weights.

    If there is no file, the order is to be kept, and a list has scores without a weight, the
    models' scores alone do not rank it.
    """
    weights = options.weights
    _note_flags(options, scorers=scorers, notices=notices)
    lattices = form if isinstance(form, LatticeLists) else None
    for each in scorers.neural:
        each.n_tokens = each.n_prefixes = 0  # count the lists alone, not the text of --mix

    def choose(scored: ScoredList) -> Weights:
        base = _own_weights(form, scored, scorers=scorers)
        is_weighed = lattices is not None or weights is not None or options.weight
        if (
            options.keeps_order
            and not is_weighed
            and unweighed(scored.table.names, base, models=scorers.names)
        ):
            base = {}
        chosen = parse_weights(weights, options.weight, known=scored.table.names, base=base)
        _require_counted(chosen, scored, is_known=scorers.is_known)
        return chosen.with_scale(options.posterior_scale)

    rescorer = Rescorer(
        () if lattices else scorers.opened,
        text=_text_of(options, scorers, form=form),
        old_lm=None if lattices else scorers.old_lm,
        is_known=scorers.is_known,
        memory=lattices.memory if lattices else memory_of(options, scorers.opened),
    )
    return Pipeline(
        rescorer,
        choose,
        scorers.names[:1] if lattices else scorers.names,
        own_weights=lattices is not None and weights is None,
        dedup=options.dedup,
        mbr=None if options.mbr is None else metric_named(options.mbr),
        allow_missing=options.allow_missing,
        notices=notices,
    )


def _text_of(options: RescoringOptions, scorers: Scorers, *, form: Format) -> HypothesisText:
    """What models read; plain sentences, without labels of noise, as `charlm eval` reads them."""
    reads_all = isinstance(form, TextFormat) or (options.raw and not isinstance(form, LatticeLists))
    return HypothesisText(
        scorers.normalisation,
        is_known=None if reads_all else scorers.is_known,
        reads_pieces=options.read_as == "pieces",
    )


def _note_flags(options: RescoringOptions, *, scorers: Scorers, notices: Notices) -> None:
    """Note --raw and --unnormalised where models or tuned weights are not made for them."""
    weights = None if options.weights is None else load_weights(options.weights)
    is_tuned = weights is not None and weights.unnormalised  # then the weights are made for it
    for each in scorers.neural:
        if options.unnormalised and not (each.learned_unnormalised or is_tuned):
            notices.said_otherwise.append(
                f"{each.name}: --unnormalised: it was not trained with recipe.criterion.type="
                "self-normalised or nce, so its scores may be far from log-probabilities"
            )
    if weights is None:
        return
    if options.raw and weights.raw is False:  # None: an older file, which does not say
        notices.said_otherwise.append(
            "--raw: the weights were tuned on words read under the models' own text rules; drop "
            "it, or tune again"
        )
    if options.unnormalised and weights.unnormalised is False:
        notices.said_otherwise.append(
            "--unnormalised: the weights were tuned on normalised scores; drop it, or tune again"
        )


def _require_counted(weights: Weights, scored: ScoredList, *, is_known: Known | None) -> None:
    """Raises ConfigError for a weight of unknown words if neither list nor model counts them."""
    own = scored.nbest.hypotheses[0].features
    if weights.values.get(OOV) and is_known is None and OOV not in own:
        raise ConfigError(
            f"weight {OOV!r}: without a model no word is unknown, and it counts nothing; "
            f"expected --model or --lm, or a column {OOV} of the list"
        )


def unweighed(
    names: Sequence[str], weights: Mapping[str, float], *, models: Sequence[str]
) -> list[str]:
    """The features of lists without a weight, except the models' and the word counts."""
    return [name for name in names if not weights.get(name) and name not in (*models, WORDS, OOV)]


def memory_of(options: RescoringOptions, scorers: Sequence[Scorer]) -> RecordingMemory | None:
    """The scorers' memory of a recording; None: each list is on its own."""
    if options.context == "none" and options.adapt == "none":
        return None
    return RecordingMemory(scorers, recording_of=recording_by(options.recordings))


def _own_weights(form: Format, scored: ScoredList, *, scorers: Scorers) -> Mapping[str, float]:
    """The weights of lists of a format if none are given."""
    if isinstance(form, LatticeLists):
        return lattice_of(scored.nbest).expanded.weighing.weights
    names, new = scored.table.names, scorers.names
    base = {name: value for name, value in form.weights.items() if name in names}
    if scorers.old_lm is not None:
        base |= {"am": KALDI_AM} if "am" in names and "am" not in base else {}
        base |= {REST: 1.0, OLD_LM: 1.0}
    share = 1.0
    if new and OLD_LM in base:  # as in lattices, the new models get half of the old one's weight
        base[OLD_LM] /= 2
        share = base[OLD_LM] / len(new)
    return base | dict.fromkeys(new, share)


def _share_unknown(lists: Sequence[NbestList], scorers: Scorers, *, reads_pieces: bool) -> float:
    """The share of the lists' words that the first model does not know.

    `<unk>` is none of them: it has no spelling.
    """
    is_known = scorers.is_known
    assert is_known is not None  # there is a scorer with a speller
    text = HypothesisText(scorers.normalisation, is_known=is_known, reads_pieces=reads_pieces)
    words = [word for each in lists for h in each.hypotheses for word in text.read(h.words)]
    n_unknown = sum(word != UNK_WORD and not is_known(word) for word in words)
    return share(n_unknown, len(words))


def _reported(found: Lattice | NbestList, keeps_texts: bool) -> NbestList:
    """What is left of a list to find its reference, and to see if weights were tuned on it."""
    if isinstance(found, Lattice):
        return NbestList(found.id, ())
    if not keeps_texts:
        return replace(found, hypotheses=(), original=None)
    return found.without_layout(features=())
