"""Sentences drawn from a run's model, each from the initial state.

The numbers that a sentence is drawn with depend on the seed and its place alone, so that neither
the batch nor how many are drawn changes it. A sentence's log10 probability is the model's own, as
`charlm eval` gives it by sentence, whatever temperature and cuts it was drawn under.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.run.store import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import MAX_SEED, Precision, autocast, pick_device, pick_precision, set_threads
from charlm.scoring.drawing import Shape
from charlm.scoring.nll import FormVectors
from charlm.scoring.open_vocabulary import OpenVocabulary
from charlm.scoring.positions import SentenceDrawer, SentencePlan
from charlm.text.lines import split_words
from charlm.text.marks import without_marks

SHOWN = 40  # characters of a prefix in a message


@dataclass(frozen=True)
class SampledSentence:
    """A sentence, the prefix that it was begun with included."""

    words: tuple[str, ...]
    log10_probs: tuple[float, ...]  # of each word, then of `</s>` if it was drawn
    is_finished: bool  # whether `</s>` was drawn; else it was cut at the greatest length

    @property
    def log10_prob(self) -> float:
        """Of all words, and of the end if it was drawn."""
        return math.fsum(self.log10_probs)

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "words": list(self.words),
            "log10_prob": self.log10_prob,
            "log10_probs": list(self.log10_probs),
            "is_finished": self.is_finished,
        }


@dataclass(frozen=True)
class Sample:
    """What was drawn, and from which run."""

    model: Path
    seed: int
    sentences: tuple[SampledSentence, ...]

    @property
    def n_cut(self) -> int:
        """Sentences without an end."""
        return sum(not each.is_finished for each in self.sentences)

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "model": str(self.model),
            "seed": self.seed,
            "n_cut": self.n_cut,
            "sentences": [each.to_dict() for each in self.sentences],
        }


def sample(
    model: str | Path | None = None,
    *,
    n: int = 10,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    no_unk: bool = False,
    open_vocabulary: bool = False,
    prefix: str = "",
    max_length: int = 200,
    seed: int = 1,
    batch_size: int = 128,
    device: str = "auto",
    precision: Precision = "fp32",
    threads: int | None = None,
    on_sentence: Callable[[SampledSentence], None] | None = None,
) -> Sample:
    """`n` sentences, each from the initial state, drawn word by word from the model.

    `model` is a run directory, else $CHARLM_MODEL, else the newest finished run under exp/.
    Log-probabilities are divided by `temperature`; then the `top_k` likeliest words are kept, and
    of those as few of the likeliest as hold a share of `top_p`. `no_unk` never draws `<unk>`;
    `open_vocabulary` lets the run's speller spell it, and its log10 probability is that of `<unk>`
    all the same. Every sentence begins with the words of `prefix` and has at most
    `max_length` words. `on_sentence` hears of each in order, when those before it are finished.

    Raises:
        ConfigError: a number out of its range; a prefix that the model cannot read; an open
            vocabulary and no speller.
        DataError: a run that is not what was expected; a model that gives no numbers.
    """
    shape = Shape(temperature=temperature, top_k=top_k, top_p=top_p, no_unk=no_unk)
    for option, number in (("-n", n), ("--max-length", max_length), ("--batch-size", batch_size)):
        if number < 1:
            raise ConfigError(f"{option} {number}: expected 1 or more")
    if no_unk and open_vocabulary:
        raise ConfigError("--no-unk: leaves --open-vocabulary nothing to spell; drop one of them")
    require_seed(seed)
    set_threads(threads)
    where = pick_device(device)
    number_format = pick_precision(precision, where)
    run = load_run(which_run(model), device=where)
    words = prefix_words(prefix, run=run, max_length=max_length)
    spell = OpenVocabulary.of_run(run).spell if open_vocabulary else None
    plan = SentencePlan(seed=seed, shape=shape, prefix=words, max_length=max_length, spell=spell)
    sentences = []
    with autocast(where, number_format):
        vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
        for each in sampled_sentences(vectors, plan, n=n, batch_size=batch_size, source=run.path):
            sentences.append(each)
            if on_sentence is not None:
                on_sentence(each)
    return Sample(run.path, seed, tuple(sentences))


def sampled_sentences(
    vectors: FormVectors, plan: SentencePlan, *, n: int, batch_size: int, source: object
) -> Iterator[SampledSentence]:
    """`n` sentences of a loaded model in order; `source` is what messages call it.

    Raises:
        DataError: a model that gives no numbers.
    """
    drawer = SentenceDrawer(vectors, plan, source=source)
    for drawn in drawer.sentences(n, batch_size=batch_size):
        log10s = tuple(0.0 + nats / math.log(10) for nats in drawn.log_probs)
        yield SampledSentence(tuple(drawn.words), log10s, drawn.is_finished)


def require_seed(seed: int) -> None:
    """Refuse what is no seed.

    Raises:
        ConfigError: less than 0, or more than a generator takes.
    """
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"--seed {seed}: expected 0 to {MAX_SEED}")


def prefix_words(prefix: str, *, run: LoadedRun, max_length: int) -> tuple[str, ...]:
    """The words of a prefix as the run reads them.

    Raises:
        ConfigError: a prefix that the model cannot read, or that fills the sentence.
    """
    shown = f"--prefix {prefix[:SHOWN]!r}"
    if "\n" in prefix:
        raise ConfigError(f"{shown}: found a line end; expected words between blanks")
    try:
        words = without_marks(split_words(run.inventory.normalisation(prefix)), where=shown)
    except DataError as error:
        raise ConfigError(str(error)) from None
    unknown = [word for word in words if word not in run.inventory.word_ids]
    if unknown and run.oov_input == "unk":
        raise ConfigError(
            f"{shown}: {unknown[0]!r} is no word of {run.path}; expected its words; write <unk> "
            "there"
        )
    if len(words) >= max_length:
        raise ConfigError(
            f"{shown}: {len(words)} words; expected fewer than --max-length {max_length}"
        )
    return tuple(words)
