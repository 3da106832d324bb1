"""The scorers that options ask for: runs, n-gram models, and mixtures of them; or none at all.

The first run determines how text is normalised. A mixture works word by word, so all of its models
must read the same words. Scorers are named for their weights: nn, nn2, … and kn, kn2, …
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.interface.options import require_cpu
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.lattices.lattice_options import OLD as OLD_LM
from charlm.nbest.ranking.shares import parsed_shares
from charlm.nbest.ranking.weights import Origin, load_weights
from charlm.nbest.scorer import Scorer
from charlm.nbest.scorers import MixedScorer, NgramScorer, SameWords
from charlm.ngram.files.load import load_ngram
from charlm.run.exported_folder import is_exported
from charlm.run.folder import learned_unnormalised, load_info
from charlm.run.onnx_model import OnnxModel, require_no_torch
from charlm.runtime import pick_device, pick_precision
from charlm.scoring.evaluation.em_weights import em_weights
from charlm.scoring.rescoring.hypothesis_text import Known
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.exported import ExportedScorer
from charlm.scoring.rescoring.scorers.open_scorer import OpenScorer
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.normalisation import Normalisation, with_further
from charlm.text.corpus.tokens import UNK, UNK_WORD
from charlm.text.io.files import display_name
from charlm.text.io.lines import MIB, TEXT
from charlm.text.vocabulary.vocabulary import Inventory

if TYPE_CHECKING:
    from charlm.run.stored_weights import LoadedRun
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
    from charlm.scoring.rescoring.scorers.neural import NeuralScorer

NEURAL, NGRAM = "nn", "kn"
MOST_REMEMBERED = 1 << 20  # words; a server sees new ones without end


@dataclass(frozen=True)
class Scorers:
    """The loaded scorers, and what goes with them."""

    scorers: tuple[Scorer, ...]  # of a list's features; the first gives the score `charlm`
    parts: tuple[Scorer, ...]  # before they were mixed
    neural: tuple["NeuralScorer", ...]  # the scorers of runs
    normalisation: Normalisation | None
    text_rules: Normalisation  # from the options, in addition to the run's own
    mixture: dict[str, float]  # weights by name; empty: each scorer is a feature
    named: dict[str, str]  # the source of each name
    vocabulary: "OpenVocabulary | None"  # spells unknown words; None: they stay `<unk>`
    spelled: tuple[str, ...] = ()  # names of the scorers whose unknown words it spells
    by_sentence: tuple[str, ...] = ()  # runs that were trained on single sentences
    old_lm: Scorer | None = None  # with which the lists were made
    # Of a LatticeLists and its lattices, by several processes; None: by this one.
    search: Callable[..., Iterator[NbestList]] | None = None

    @property
    def adaptation(self) -> str:
        """How models adapt to what was chosen; empty: not at all."""
        found = [(each.name, each.adaptation) for each in self.neural]
        return "; ".join(f"{name} {adaptation}" for name, adaptation in found if adaptation)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features that the scorers give."""
        return tuple(each.name for each in self.scorers)

    @property
    def opened(self) -> tuple[Scorer, ...]:
        """The scorers, with unknown words spelled where a vocabulary does so."""
        vocabulary = self.vocabulary
        if vocabulary is None:
            return self.scorers
        return tuple(
            OpenScorer(each, vocabulary) if each.name in self.spelled else each
            for each in self.scorers
        )

    @property
    def closed(self) -> "Scorers":
        """The same scorers without spelling of unknown words."""
        return replace(self, vocabulary=None, spelled=())

    @cached_property
    def is_known(self) -> Known | None:
        """Tells whether the first scorer's vocabulary has a word; None if there are no scorers."""
        return known_by(self.parts[0]) if self.parts else None


def build_scorers(options: RescoringOptions) -> Scorers:
    """Load the scorers.

    Raises:
        ConfigError: options or models that do not go together.
        DataError: a run or a model that is not what was expected.
    """
    # The map is read once: it may come through a pipe.
    options = _mixed_as_tuned(replace(options, map=dict(options.text_rules.map) or None))
    _check(options)
    models = [
        _opened(path, options, name=name)
        for path, name in zip(options.models, _names(NEURAL, len(options.models)), strict=True)
    ]
    runs = [each for each in models if not isinstance(each, ExportedScorer)]
    normalisation = _normalisation(models, options)
    ngrams: list[Scorer] = [
        NgramScorer(load_ngram(path, encoding=options.encoding), name=name)
        for path, name in zip(options.lms, _names(NGRAM, len(options.lms)), strict=True)
    ]
    if _is_mixture(options):
        ngrams = _guarded(models, ngrams, options=options)
    own = [] if options.scorer is None else [options.scorer]
    parts: list[Scorer] = [*models, *ngrams, *own]
    _require_names([each.name for each in parts])
    weights = _mixture(parts, options, normalisation=normalisation)
    mixture = dict(zip([each.name for each in parts], weights, strict=True)) if weights else {}
    scorers: list[Scorer] = parts
    if weights:
        scorers = [MixedScorer(parts, weights, name=parts[0].name)]
    vocabulary, old_lm = _vocabulary(options), None
    if options.old_lm is not None:
        old_lm = NgramScorer(load_ngram(options.old_lm, encoding=options.encoding), name=OLD_LM)
    return Scorers(
        scorers=tuple(scorers),
        parts=tuple(parts),
        neural=tuple(runs),
        normalisation=normalisation,
        text_rules=options.text_rules,
        mixture=mixture,
        named=_named(parts, options),
        vocabulary=vocabulary,
        spelled=_spelled(scorers, vocabulary, options=options),
        by_sentence=tuple(each.name for each in models if each.learned_single_sentences),
        old_lm=old_lm,
    )


def spells(options: RescoringOptions) -> bool | None:
    """Whether unknown words are spelled: as the options say, or else as in the tuning.

    None: in lists, if a run has a speller. Weights of charlm 0.1, where nothing was spelled
    without the option, do not say.
    """
    origin = _origin(options) if options.open_vocabulary is None else None
    return options.open_vocabulary if origin is None else bool(origin.spelled)


def _origin(options: RescoringOptions) -> Origin | None:
    """How the weights were tuned; None: they were not, or there are none."""
    return None if options.weights is None else load_weights(options.weights).origin


def _who_spells(options: RescoringOptions) -> str:
    """The option or file that asks for spelling; `open_vocabulary` may come from the weights."""
    origin = _origin(options)
    is_tuned = origin is not None and origin.spelled
    return (
        f"{options.weights}: tuned with unknown words spelled" if is_tuned else "--open-vocabulary"
    )


def _mixed_as_tuned(options: RescoringOptions) -> RescoringOptions:
    """The options with the mixture on which the weights were tuned, if they give none.

    Otherwise the weight of the mixture would apply to its first model alone.
    """
    if _is_mixture(options) or options.weights is None:
        return options
    mixture = load_weights(options.weights).mixture
    if not mixture:
        return options
    names = [*_names(NEURAL, len(options.models)), *_names(NGRAM, len(options.lms))]
    names += [] if options.scorer is None else [options.scorer.name]
    if names != list(mixture):
        raise ConfigError(
            f"{options.weights}: tuned on a mixture of {', '.join(mixture)}; found "
            f"{', '.join(names) or 'no model'}; expected the same models; give them, or tune again"
        )
    shares = [*mixture.values()]
    said = f"{options.weights}: mixture"
    return replace(options, mix_weights=parsed_shares(shares, n_streams=len(shares), option=said))


def _is_mixture(options: RescoringOptions) -> bool:
    """Whether all models are to be mixed word by word."""
    return options.mix is not None or options.mix_weights is not None


def _check(options: RescoringOptions) -> None:
    n_scorers = len(options.models) + len(options.lms) + (options.scorer is not None)
    if options.mix is not None and options.mix_weights is not None:
        raise ConfigError("found --mix and --mix-weights; expected one of them; drop either")
    if _is_mixture(options) and n_scorers < 2:
        option = "--mix-weights" if options.mix is None else "--mix"
        found = "one model" if n_scorers else "no model"
        raise ConfigError(
            f"{option}: found {found}; expected several; give --lm or another --model"
        )
    if not options.models:
        require_cpu(options)
    if options.open_vocabulary and not options.models:
        raise ConfigError(
            f"{_who_spells(options)}: found no --model; expected a run with a speller"
        )
    if options.context == "previous" and options.scorer is None and not options.models:
        raise ConfigError(
            "--context previous: found no --model; expected one, since n-gram models begin every "
            "sentence anew; drop it"
        )
    is_adapted = options.adapt != "none"
    if (is_adapted or options.adapt_rates) and (not options.models or options.unnormalised):
        option = "--adapt" if is_adapted else "--adapt-rates"
        found = "--unnormalised, or weights tuned with it" if options.models else "no --model"
        raise ConfigError(f"{option}: found {found}; expected a run's probabilities; drop either")
    if options.unnormalised and (_is_mixture(options) or not options.models):
        raise ConfigError(
            "--unnormalised: scores without their sum are no probabilities to mix, and n-gram "
            "models have none; expected a --model alone; drop --unnormalised"
        )


def _vocabulary(options: RescoringOptions) -> "OpenVocabulary | None":
    """The vocabulary of the first run's speller: if asked for, or by default if it has one."""
    if options.open_vocabulary is False or not options.models or is_exported(options.models[0]):
        return None
    folder = Path(options.models[0])
    if options.open_vocabulary is None and load_info(folder).speller is None:
        return None
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

    return OpenVocabulary.at(folder)


def _spelled(
    scorers: Sequence[Scorer], vocabulary: "OpenVocabulary | None", *, options: RescoringOptions
) -> tuple[str, ...]:
    """Names of the scorers whose unknown words are spelled.

    If some were in the tuning of the weights, those; or else all of them if the options say so.
    """
    if vocabulary is None:
        return ()
    origin = _origin(options)
    if origin is not None and origin.spelled_by:
        return tuple(each.name for each in scorers if each.name in origin.spelled_by)
    # A file of an older charlm does not say which: most likely those that were not asked for.
    is_said = options.open_vocabulary and not (origin and origin.spelled)
    return tuple(each.name for each in scorers if is_said or _has_words(each, vocabulary))


def _has_words(scorer: Scorer, vocabulary: "OpenVocabulary") -> bool:
    """Whether a scorer has all words of a vocabulary, so that none of them is `<unk>` to it.

    A scorer of the caller's may spell unknown words itself, and is not asked.
    """
    if isinstance(scorer, MixedScorer):
        return all(_has_words(part, vocabulary) for part in scorer.scorers)
    words = vocabulary.inventory.words[UNK + 1 :]
    inventory = _inventory(scorer)
    if inventory is not None:
        return inventory.word_ids.keys() >= set(words)
    if isinstance(scorer, SameWords):
        return True
    return isinstance(scorer, NgramScorer) and bool(scorer.score([words])[0].known.all())


def _names(stem: str, n: int) -> list[str]:
    return [stem, *(f"{stem}{number}" for number in range(2, n + 1))][:n]


def _inventory(scorer: Scorer) -> Inventory | None:
    """The words of a run or of an exported model; None for other scorers."""
    inventory = getattr(scorer, "inventory", None)
    return inventory if isinstance(inventory, Inventory) else None


def known_by(scorer: Scorer) -> Known:
    """Tells whether a scorer knows a word; the caller's own scorer is taken to know all words.

    As in the scores themselves, `<unk>` counts as unknown.
    """
    inventory = _inventory(scorer)
    if inventory is not None:
        words = inventory.word_ids
        return lambda word: word in words and word != UNK_WORD
    if isinstance(scorer, NgramScorer):
        remember = lru_cache(MOST_REMEMBERED)
        return remember(lambda word: bool(scorer.score([[word]])[0].known[0]))
    return lambda word: True


def _guarded(
    models: "Sequence[NeuralScorer | ExportedScorer]",
    ngrams: Sequence[Scorer],
    *,
    options: RescoringOptions,
) -> list[Scorer]:
    """The n-gram models of a mixture, restricted to the words of the first model."""
    for path, model in zip(options.models, models, strict=True):
        if model.inventory.words != models[0].inventory.words:
            raise ConfigError(
                f"mixture: {path} has another vocabulary than {options.models[0]}; expected the "
                "same words of both; train one with --vocab, or weigh them as features, unmixed"
            )
    first: Scorer = models[0] if models else ngrams[0]
    is_known = known_by(first)
    return [
        each if each is first else SameWords(each, is_known, other=first.name) for each in ngrams
    ]


def _require_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"scorer {name!r}: another goes by that name; expected a name of its own"
            )


def _named(parts: Sequence[Scorer], options: RescoringOptions) -> dict[str, str]:
    """The source of each name: a run, a file, or a scorer of the caller's."""
    sources = [str(path) for path in (*options.models, *options.lms)]
    sources += ["a scorer of the caller's"] * (options.scorer is not None)
    return {each.name: source for each, source in zip(parts, sources, strict=True)}


def _normalisation(
    models: "Sequence[NeuralScorer | ExportedScorer]", options: RescoringOptions
) -> Normalisation | None:
    """The models' rules and those of the options; None: words stay as they are."""
    own = None if options.raw or not models else models[0].inventory.normalisation
    for path, model in zip(options.models, models, strict=True):
        if own is not None and model.inventory.normalisation != own:
            raise ConfigError(
                f"{path}: other text rules than {options.models[0]}; expected models that read "
                "the same words; score with one at a time, or --raw"
            )
    if options.punctuation == "keep" and own is not None and own.punctuation == "drop":
        raise ConfigError(
            f"--punctuation keep: {options.models[0]} was trained on text without, and drops it; "
            "expected no other rule; leave it out"
        )
    return with_further(own, options.text_rules)


def _opened(
    path: str | Path, options: RescoringOptions, *, name: str
) -> "NeuralScorer | ExportedScorer":
    if is_exported(path):
        # A run that comes first spells unknown words, and asks the others for p(<unk>) alone.
        is_led = not is_exported(options.models[0])
        require_no_torch(path, replace(options, open_vocabulary=None) if is_led else options)
        return ExportedScorer(OnnxModel(path, threads=options.threads), name=name)
    from charlm.run.stored_weights import load_run

    run = load_run(path, device=pick_device(options.device))
    scorer = _neural(run, options, name=name)
    # --adapt alone changes weights; each sentence still begins anew.
    may_carry = options.context == "previous" or options.adapt == "none"
    scorer.learned_single_sentences = run.learned_single_sentences and may_carry
    scorer.learned_unnormalised = learned_unnormalised(run.settings)
    return scorer


def _neural(run: "LoadedRun", options: RescoringOptions, *, name: str) -> "NeuralScorer":
    from charlm.scoring.adaptation.opened_adaptation import opened_adaptation
    from charlm.scoring.likelihood.form_cache import FormCache
    from charlm.scoring.likelihood.walker import Walker
    from charlm.scoring.rescoring.scorers.adaptive_scorer import AdaptiveScorer
    from charlm.scoring.rescoring.scorers.neural import HYPOTHESES_AT_ONCE, NeuralScorer

    if options.unnormalised and not run.model.output.has_scores:
        raise ConfigError(
            f"{run.path}: --unnormalised, or weights tuned with it: its output has no scores of "
            "its own; expected a softmax; drop what asks for them"
        )
    adaptation = opened_adaptation(run, mode=options.adapt, rates=options.adapt_rates)
    forms = FormCache(
        run.model,
        run.inventory,
        oov_input=run.oov_input,
        max_bytes=options.memory * MIB,
        keeps_products=adaptation is None,
    )
    precision = pick_precision(options.precision, forms.device)
    walker = Walker(forms, unnormalised=options.unnormalised)
    if adaptation is None:
        # Twice what is collected, so that no list, the last one collected, is cut in two.
        collected = getattr(options, "at_once", HYPOTHESES_AT_ONCE)
        at_once = max(2 * collected, HYPOTHESES_AT_ONCE)
        return NeuralScorer(walker, name=name, precision=precision, at_once=at_once)
    return AdaptiveScorer(
        walker,
        adaptation=adaptation,
        is_carried=options.context == "previous",
        name=name,
        precision=precision,
    )


def _mixture(
    parts: Sequence[Scorer], options: RescoringOptions, *, normalisation: Normalisation | None
) -> list[float]:
    """Weights of a mixture of all models; empty if each model is a feature."""
    if options.mix_weights is not None:
        return parsed_shares(options.mix_weights, n_streams=len(parts), option="--mix-weights")
    if options.mix is None:
        return []
    rules = replace(TEXT, encoding=options.encoding)
    text = ReadText(options.mix, normalisation=normalisation, rules=rules)
    sentences = list(text.sentences())
    if not sentences:
        raise DataError(f"{display_name(options.mix)}: no sentence; expected one a line")
    streams = []
    for part in parts:
        log_probs = [each.log_probs for each in part.score(sentences)]
        streams.append(np.concatenate(log_probs) / np.log(10))
    found: list[float] = em_weights(np.stack(streams)).weights.tolist()
    return found
