"""The scorers that a command line asks for: runs, n-gram models, and mixtures of them.

The first run says how text is normalised; a mixture works word by word, so that all of its models
must read the same words. Names are those that weights go by: nn, nn2, … and kn, kn2, …
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.scorer import MixedScorer, NgramScorer, Scorer
from charlm.ngram.load import load_ngram
from charlm.run.store import LoadedRun, load_run
from charlm.runtime import pick_device, pick_precision
from charlm.scoring.evaluation.em_weights import em_weights
from charlm.scoring.evaluation.mix_options import parsed_weights
from charlm.scoring.likelihood.form_cache import MAX_BYTES, FormCache
from charlm.scoring.likelihood.open_vocabulary import MOST_REMEMBERED, OpenVocabulary
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.hypothesis_text import Known
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.scoring.rescoring.scorers.open_scorer import OpenScorer
from charlm.scoring.rescoring.scorers.same_words import SameWords
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.io.files import display_name
from charlm.text.io.lines import TEXT, UTF8

NEURAL, NGRAM = "nn", "kn"

Precision = Literal["auto", "fp32", "bf16"]
DividedSearch = Callable[..., Iterator[NbestList]]  # of a LatticeLists and its lattices


@dataclass(frozen=True)
class Wanted:
    """What scorers are to be made, as the options say it."""

    models: Sequence[str | Path]  # run directories
    lms: Sequence[str | Path] = ()  # ARPA files, KenLM's binaries
    own: Scorer | None = None  # a scorer of the caller's
    mix: str | Path | None = None  # a text that the weights of one mixture of them all suit
    mix_weights: str | Sequence[float] | None = None
    open_vocabulary: bool = False
    unnormalised: bool = False
    lower: bool = False  # lower case whatever the runs' rules say
    raw: bool = False
    device: str = "auto"
    precision: str = "fp32"
    form_bytes: int = MAX_BYTES
    encoding: str = UTF8  # of ARPA files, and of the text that weights suit

    @property
    def is_mixture(self) -> bool:
        """Whether all models are to be one, word by word."""
        return self.mix is not None or self.mix_weights is not None


@dataclass(frozen=True)
class Scorers:
    """What was made."""

    scorers: tuple[Scorer, ...]  # of a list's features; the first is what `charlm` stands for
    parts: tuple[Scorer, ...]  # before they were mixed and given spellers
    neural: tuple[NeuralScorer, ...]
    normalisation: Normalisation | None
    mixture: dict[str, float]  # weights by name; empty: each scorer is a feature
    named: dict[str, str]  # what each name stands for
    vocabulary: OpenVocabulary | None  # of unknown words; None: they stay `<unk>`
    search: DividedSearch | None = None  # of lattices, by several processes; None: by this one

    @cached_property
    def is_known(self) -> Known:
        """Whether the first scorer's vocabulary has a word; the caller's own is not asked."""
        return known_by(self.parts[0])


def make_scorers(wanted: Wanted) -> Scorers:
    """The scorers, loaded.

    Raises:
        ConfigError: none at all, options that do not go together, models that do not.
        DataError: a run or a model that is not what was expected.
    """
    _check(wanted)
    runs = [load_run(path, device=pick_device(wanted.device)) for path in wanted.models]
    normalisation = None if wanted.raw or not runs else _one_normalisation(runs)
    if wanted.lower:
        normalisation = replace(normalisation or Normalisation(unicode="none"), lower=True)
    neural = tuple(
        _neural(run, wanted, name=name)
        for run, name in zip(runs, _names(NEURAL, len(runs)), strict=True)
    )
    ngrams: list[Scorer] = [
        NgramScorer(load_ngram(path, encoding=wanted.encoding), name=name)
        for path, name in zip(wanted.lms, _names(NGRAM, len(wanted.lms)), strict=True)
    ]
    if wanted.is_mixture:
        ngrams = _guarded(runs, neural, ngrams)
    own = [] if wanted.own is None else [wanted.own]
    parts: list[Scorer] = [*neural, *ngrams, *own]
    _require_names([each.name for each in parts])
    sources = [str(path) for path in (*wanted.models, *wanted.lms)]
    sources += ["a scorer of the caller's"] * len(own)
    named = {each.name: source for each, source in zip(parts, sources, strict=True)}
    weights = _mixture(parts, wanted, normalisation=normalisation)
    mixture = dict(zip([each.name for each in parts], weights, strict=True)) if weights else {}
    scorers: list[Scorer] = parts
    if weights:
        scorers = [MixedScorer(parts, weights, name=parts[0].name)]
    vocabulary = OpenVocabulary.of_run(runs[0]) if wanted.open_vocabulary else None
    if vocabulary is not None:
        scorers = [OpenScorer(each, vocabulary) for each in scorers]
    return Scorers(tuple(scorers), tuple(parts), neural, normalisation, mixture, named, vocabulary)


def _check(wanted: Wanted) -> None:
    n_scorers = len(wanted.models) + len(wanted.lms) + (wanted.own is not None)
    if not n_scorers:
        raise ConfigError("found neither --model nor --lm; expected a model that scores the list")
    if wanted.mix is not None and wanted.mix_weights is not None:
        raise ConfigError("found --mix and --mix-weights; expected one of them; drop either")
    if wanted.is_mixture and n_scorers < 2:
        raise ConfigError("--mix: found one model; expected several; give --lm or another --model")
    if wanted.open_vocabulary and not wanted.models:
        raise ConfigError("--open-vocabulary: found no --model; expected a run with a speller")
    if wanted.unnormalised and (wanted.is_mixture or not wanted.models):
        raise ConfigError(
            "--unnormalised: scores without their sum are no probabilities to mix, and n-gram "
            "models have none; expected a --model alone; drop --unnormalised or --mix"
        )


def _names(stem: str, n: int) -> list[str]:
    return [stem, *(f"{stem}{number}" for number in range(2, n + 1))][:n]


def known_by(scorer: Scorer) -> Known:
    """Whether a scorer's vocabulary has a word; the caller's own is not asked, and has all."""
    if isinstance(scorer, NeuralScorer):
        return scorer.forms.inventory.word_ids.__contains__
    if isinstance(scorer, NgramScorer):
        remember = lru_cache(MOST_REMEMBERED)
        return remember(lambda word: bool(scorer.score([[word]])[0].known[0]))
    return lambda word: True


def _guarded(
    runs: Sequence[LoadedRun], neural: Sequence[Scorer], ngrams: Sequence[Scorer]
) -> list[Scorer]:
    """The n-gram models of a mixture, held to the words of the first model."""
    for run in runs[1:]:
        if run.inventory.words != runs[0].inventory.words:
            raise ConfigError(
                f"--mix: {run.path} has another vocabulary than {runs[0].path}; expected the same "
                "words of both; train one with --vocab, or weigh them as features, without --mix"
            )
    first, *others = [*neural, *ngrams]
    is_known = known_by(first)
    guarded: list[Scorer] = [
        SameWords(each, is_known, other=first.name) for each in others if each in ngrams
    ]
    return guarded if neural else [first, *guarded]


def _require_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"scorer {name!r}: another goes by that name; expected a name of its own"
            )


def _one_normalisation(runs: Sequence[LoadedRun]) -> Normalisation:
    first = runs[0].inventory.normalisation
    for run in runs[1:]:
        if run.inventory.normalisation != first:
            raise ConfigError(
                f"{run.path}: other text rules than {runs[0].path}; expected models that read "
                "the same words; score with one at a time, or --raw"
            )
    return first


def _neural(run: LoadedRun, wanted: Wanted, *, name: str) -> NeuralScorer:
    if wanted.unnormalised and not run.model.output.has_scores:
        raise ConfigError(
            f"{run.path}: --unnormalised: its output has no scores of its own; expected a softmax; "
            "drop --unnormalised"
        )
    forms = FormCache(
        run.model, run.inventory, oov_input=run.oov_input, max_bytes=wanted.form_bytes
    )
    precision = pick_precision(wanted.precision, forms.device)
    walker = Walker(forms, unnormalised=wanted.unnormalised)
    return NeuralScorer(walker, name=name, precision=precision)


def _mixture(
    parts: Sequence[Scorer], wanted: Wanted, *, normalisation: Normalisation | None
) -> list[float]:
    """Weights of one mixture of all; none where each is to be a feature."""
    if wanted.mix_weights is not None:
        return parsed_weights(wanted.mix_weights, n_streams=len(parts), option="--mix-weights")
    if wanted.mix is None:
        return []
    rules = replace(TEXT, encoding=wanted.encoding)
    text = ReadText(wanted.mix, normalisation=normalisation, rules=rules)
    sentences = list(text.sentences())
    if not sentences:
        raise DataError(f"{display_name(wanted.mix)}: no sentence; expected one a line")
    streams = []
    for part in parts:
        log_probs = [each.log_probs for each in part.score(sentences)]
        streams.append(np.concatenate(log_probs) / np.log(10))
    found: list[float] = em_weights(np.stack(streams)).weights.tolist()
    return found
