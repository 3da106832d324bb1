"""The runs and n-gram models of one call: opened, named, and reading by the same rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os.path import abspath, realpath
from pathlib import Path
from typing import TYPE_CHECKING

from charlm.errors import ConfigError
from charlm.interface.options import require_cpu, several
from charlm.ngram.files.load import load_ngram
from charlm.run.exported_folder import is_exported
from charlm.run.onnx_model import OnnxModel, require_no_torch
from charlm.run.which import which_run
from charlm.scoring.evaluation.surprisal.surprisal_options import ItemOptions
from charlm.scoring.evaluation.surprisal.token_bits import ExportedBits, NgramBits, TokenModel
from charlm.text.corpus.normalisation.normalisation import NO_RULES, Normalisation, with_further
from charlm.text.corpus.tokens import START_WORD
from charlm.text.io.files import unpacked_name
from charlm.text.io.short_names import short_names
from charlm.text.vocabulary.vocabulary import Inventory

if TYPE_CHECKING:
    from charlm.run.stored_weights import LoadedRun
    from charlm.scoring.adaptation.adaptive_reader import Adaptation


@dataclass(frozen=True)
class OpenedModels:
    """All models, runs first, and what they have in common."""

    models: tuple[TokenModel, ...]
    is_raw: bool
    further: Normalisation = NO_RULES  # in addition to the runs' own rules

    @property
    def runs(self) -> list[TokenModel]:
        """All models with text rules: runs and exported models."""
        return [model for model in self.models if model.inventory is not None]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(model.name for model in self.models)

    def rules(self, model: TokenModel) -> Normalisation | None:
        """The text rules that a model reads by; an n-gram model uses those of the first run."""
        inventory = model.inventory or next((run.inventory for run in self.runs), None)
        own = None if self.is_raw or inventory is None else inventory.normalisation
        return with_further(own, self.further)

    def counts(self, model: TokenModel) -> Inventory | None:
        """The inventory with a model's word counts: its own, or that of a run with its words."""
        if model.inventory is not None:
            return model.inventory
        return next((r.inventory for r in self.runs if r.vocabulary == model.vocabulary), None)

    @property
    def read_alike(self) -> bool:
        """Whether all models tokenise alike, and have the same words with the same counts.

        A KenLM binary does not list its words, so they may be others.
        """
        read = set()
        for model in self.models:
            found = self.counts(model)
            counts = None if found is None else (found.words, found.counts)
            read.add((self.rules(model), model.vocabulary, counts))
        return len(read) == 1 and bool(self.models[0].vocabulary)


SUFFIXES = (".arpa", ".bin", ".lm")
Adapting = Callable[["LoadedRun"], "Adaptation | None"]  # how a run adapts to what it reads


def opened_models(
    options: ItemOptions, *, entropy: bool = False, adapting: Adapting | None = None
) -> OpenedModels:
    """The models that the options name.

    Raises:
        ConfigError: no model, one given twice, no speller for an open vocabulary, or no
            such device; entropies from a KenLM binary.
        DataError: a run or a file that is not what was expected.
    """
    paths = [Path(path) for path in several(options.model)]
    lm_paths = [Path(path) for path in several(options.lm)]
    if not paths and not lm_paths:
        paths = [which_run(None)]
    if not paths:
        require_cpu(options)
        if options.raw:
            raise ConfigError("--raw: found no --model, whose text rules it turns off; drop it")
    names = _names(paths, lm_paths)
    runs = [
        _opened(path, name=name, options=options, adapting=adapting)
        for path, name in zip(paths, names, strict=False)
    ]
    lms = [
        _opened_lm(path, name=name, options=options, runs=runs, entropy=entropy)
        for path, name in zip(lm_paths, names[len(runs) :], strict=True)
    ]
    return OpenedModels((*runs, *lms), options.raw, options.text_rules)


def _opened(
    path: Path, *, name: str, options: ItemOptions, adapting: Adapting | None
) -> TokenModel:
    if is_exported(path):
        require_no_torch(path, options)
        return ExportedBits(OnnxModel(path, threads=options.threads), name=name)
    from charlm.run.stored_weights import load_run
    from charlm.runtime import keep_freed_memory, pick_device, pick_precision, set_threads
    from charlm.scoring.evaluation.surprisal.run_bits import RunBits

    set_threads(options.threads)
    keep_freed_memory()
    device = pick_device(options.device)
    precision = pick_precision(options.precision, device)
    run = load_run(path, device=device)
    return RunBits(
        run,
        name=name,
        precision=precision,
        spells=options.open_vocabulary,
        adaptation=None if adapting is None else adapting(run),
    )


def _opened_lm(
    path: str | Path, *, name: str, options: ItemOptions, runs: Sequence[TokenModel], entropy: bool
) -> NgramBits:
    # Only charlm's own n-gram engine gives whole distributions.
    model = load_ngram(path, engine="charlm" if entropy else "auto", encoding=options.encoding)
    vocabulary = frozenset(model.words or ()) - {START_WORD}  # a binary does not list its words
    speller = None
    if options.open_vocabulary:
        speller = next((run.speller for run in runs if run.vocabulary == vocabulary), None)
        if speller is None:
            raise ConfigError(
                f"--open-vocabulary: {path} has no speller, nor the words of a run that has; "
                "expected a run of the same words by --model; estimate it with --vocab RUN"
            )
    return NgramBits(model, name=name, vocabulary=vocabulary, speller=speller)


def _names(runs: Sequence[Path], lms: Sequence[Path]) -> list[str]:
    """Short names, those of n-gram models without a suffix that is not needed."""
    folders = [Path(realpath(path)) for path in runs]
    files = [Path(abspath(path)) for path in lms]
    unpacked = [unpacked_name(path) for path in files]
    bare = [path.with_suffix("") if path.suffix in SUFFIXES else path for path in unpacked]
    names = short_names([*folders, *bare])
    if len(set(names)) < len(names):
        names = short_names([*folders, *files])
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice}: stands twice; expected each model once")
    return names
