"""The description of a run, for people and programs: `charlm info RUN`.

The perplexity shown is that of the validation text as training read it, in its own streams or
sentences: the signature says so. Figures to publish come from `charlm eval`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charlm.errors import ConfigError, DataError
from charlm.insight.info_choice import Choice, choice, state_of
from charlm.insight.info_options import InfoOptions
from charlm.insight.vectors.taps import Vectors
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.interface.short_repr import ShortRepr
from charlm.run.folder import MODEL, RUN, RunInfo, is_by_sentence, load_info
from charlm.run.history import PRETRAINING, best_record, history_of, total_seconds
from charlm.run.stored_weights import LoadedRun, empty_model, kept_ppl, load_run, load_words
from charlm.run.verification import Verification, verified
from charlm.settings import Settings
from charlm.text.corpus.tokens import END_WORD
from charlm.text.perplexity.signature import HASH_DIGITS, joined_signature, normalisation_name
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class TextFacts:
    """A text that a run was trained or validated on."""

    split: str
    sha256: str  # of all of it, whatever was read
    n_sentences: int  # that were read
    n_tokens: int  # that were read, each `</s>` counted
    max_tokens: int  # the most that were to be read, from the first on; 0: all


@dataclass(frozen=True)
class StoredPerplexity:
    """A perplexity that is stored in the run, and how it was measured."""

    split: str
    ppl: float
    signature: str


@dataclass(frozen=True)
class TrainingFacts:
    """How a run was trained: how far, with what, and how fast."""

    n_epochs: int
    n_epochs_wanted: int | None
    seconds: float
    tokens_per_second: float | None  # of the steps; None before the first epoch
    seed: int
    threads: int
    device: str
    precision: str
    versions: dict[str, str]
    command: tuple[str, ...]


@dataclass(frozen=True)
class RunFacts(JsonResult, ShortRepr):
    """Everything that a run tells of itself."""

    path: str
    arch: str
    state: str  # as `state_of` says
    epoch: int | None  # whose weights these are
    parameters: dict[str, int]  # by part
    n_words: int  # V
    n_characters: int  # C, as Kim et al. count: with five markers
    n_morphs: int | None  # M
    taps: dict[str, int]  # widths, of the points that `charlm nn --at` takes; none without weights
    corpus: str
    texts: tuple[TextFacts, ...]
    text_rules: dict[str, object]
    perplexities: tuple[StoredPerplexity, ...]
    weights_sha256: str | None
    vocabulary_sha256: str
    counts_sha256: str  # of the vocabulary's counts, which are in no other hash
    settings: Settings
    init: dict[str, Any] | None  # the run whose model it began with, where there is one
    speller: dict[str, Any] | None  # what spells words outside the vocabulary, where there is one
    training: TrainingFacts
    derived = ("n_parameters",)

    @property
    def n_parameters(self) -> int:
        """The number of all trained parameters."""
        return sum(self.parameters.values())


@keywords(InfoOptions)
def info(options: InfoOptions) -> RunFacts | Choice | Verification:
    """A run's description; without a run, which one a command would take, why, and the others.

    `verify` only checks the run's files against what it recorded.

    >>> charlm.info("exp/first").n_words
    16

    Raises:
        ConfigError: no run is named and there is none, or one is to be verified.
        DataError: a run that is not what was expected; with `verify` only its run.json.
    """
    run = options.run
    if options.verify:
        if run is None:
            raise ConfigError("--verify: no run was given; expected the one whose files to check")
        return verified(run)
    return choice() if run is None else facts_of(run)


def facts_of(path: str | Path) -> RunFacts:
    """Everything that a run tells of itself."""
    folder = Path(path)
    info = load_info(folder)
    inventory = load_words(folder, info)
    loaded = load_run(folder) if (folder / MODEL).is_file() else None
    model = (
        loaded.model if loaded else empty_model(folder, settings=info.settings, inventory=inventory)
    )
    history = history_of(folder)
    return RunFacts(
        path=str(path),
        arch=info.arch,
        state=state_of(folder),
        epoch=loaded.epoch if loaded else None,
        parameters=model.n_parameters_by_part(),
        n_words=inventory.n_words,
        n_characters=inventory.n_characters_as_published,
        n_morphs=inventory.n_morphs,
        taps=Vectors(loaded).widths if loaded else {},
        corpus=str(info.corpus.get("name", "")),
        texts=_texts(info.corpus, folder),
        text_rules=inventory.normalisation.in_short(),
        perplexities=_perplexities(history, info, loaded=loaded, inventory=inventory),
        weights_sha256=loaded.weights_sha256 if loaded else None,
        vocabulary_sha256=inventory.sha256,
        counts_sha256=inventory.counts_sha256,
        settings=info.settings,
        init=info.init,
        speller=info.speller,
        training=_training(info, history),
    )


def _training(info: RunInfo, history: list[dict[str, Any]]) -> TrainingFacts:
    step_seconds = sum(record["seconds"] for record in history)
    n_tokens = sum(record["n_tokens"] for record in history)
    wanted = info.settings["recipe"].get("epochs")
    return TrainingFacts(
        n_epochs=len(history),
        n_epochs_wanted=wanted if type(wanted) is int else None,
        seconds=total_seconds(history),
        # Seconds are told to the thousandth.
        tokens_per_second=n_tokens / step_seconds if step_seconds >= 0.001 else None,
        seed=info.seed,
        threads=info.threads,
        device=info.device,
        precision=info.precision,
        versions={"charlm": info.charlm, **{k: str(v) for k, v in info.versions.items()}},
        command=tuple(map(str, info.command)),
    )


def _texts(corpus: Mapping[str, Any], folder: Path) -> tuple[TextFacts, ...]:
    texts, max_tokens = [], corpus.get("max_tokens", 0)
    if type(max_tokens) is not int:
        raise DataError(
            f"{folder / RUN}: corpus: max_tokens {max_tokens!r:.60}; expected a whole number; the "
            "run is damaged"
        )
    for split, entry in corpus.items():
        if not isinstance(entry, dict):  # the corpus' name and the like
            continue
        sha256, n_sentences, n_tokens = map(entry.get, ("sha256", "n_sentences", "n_tokens"))
        if not (isinstance(sha256, str) and type(n_sentences) is type(n_tokens) is int):
            raise DataError(
                f"{folder / RUN}: corpus {split!r} lacks sha256, n_sentences or n_tokens; "
                "the run is damaged"
            )
        most = max_tokens if split == "train" else 0
        texts.append(TextFacts(split, sha256, n_sentences, n_tokens, most))
    return tuple(texts)


def _perplexities(
    history: list[dict[str, Any]], info: RunInfo, *, loaded: LoadedRun | None, inventory: Inventory
) -> tuple[StoredPerplexity, ...]:
    valid = info.corpus.get("valid")
    if not history or loaded is None or not isinstance(valid, dict):
        return ()
    if PRETRAINING in best_record(history):  # of one side alone, as no command reads the model
        return ()
    recipe = info.settings["recipe"]
    by_sentence = is_by_sentence(info.settings)
    told = {
        "charlm": info.charlm,
        "model": loaded.weights_sha256[:HASH_DIGITS],
        "vocab": inventory.sha256[:HASH_DIGITS],
        "data": str(valid.get("sha256", ""))[:HASH_DIGITS],
        "split": "valid",
        "streams": "" if by_sentence else str(recipe.get("batch_size", "")),
        "state": "sentence" if by_sentence else "carried",
        "start": END_WORD,
        "oov_input": loaded.oov_input,
        "norm": normalisation_name(inventory.normalisation),
        "precision": "fp32",  # validation is, whatever the training
    }
    # A softmax that was given a temperature is another model than that of the epoch.
    ppl, _ = kept_ppl(loaded.path, ppl=float(best_record(history)["valid_ppl"]))
    return (StoredPerplexity("valid", ppl, joined_signature(told)),)
