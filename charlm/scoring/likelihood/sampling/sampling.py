"""Sentences drawn from a model, each from its start.

The random numbers of a sentence depend only on the seed and the sentence's index, so that neither
the batch nor the number of sentences changes it. A sentence's log10 probability is the model's own,
as `charlm eval` gives it by sentence, whatever temperature and cuts it was drawn with.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.interface.options import keywords, require_cpu
from charlm.interface.short_repr import ShortRepr
from charlm.ngram.files.load import listed_ngram
from charlm.notebook import ColouredWords, coloured_html
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import autocast, pick_device, pick_precision, set_threads
from charlm.scoring.likelihood.nll import FormVectors
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.scoring.likelihood.sampling.draw import Warper
from charlm.scoring.likelihood.sampling.sample_ngrams import ngram_sentences
from charlm.scoring.likelihood.sampling.sample_options import SampleOptions
from charlm.scoring.likelihood.sampling.sample_rows import Drawing, SentenceDrawer, SentencePlan
from charlm.text.corpus.tokens import without_marks
from charlm.text.io.lines import split_words

SHOWN = 40  # characters of a prefix in a message


@dataclass(frozen=True)
class SampledSentence(ShortRepr, ColouredWords):
    """A sentence, including the prefix that it began with."""

    words: tuple[str, ...]
    log10_probs: tuple[float, ...]  # of each word, then of `</s>` if it was drawn
    is_finished: bool  # whether `</s>` was drawn; else it was cut at the maximum length

    def to_dict(self) -> dict[str, object]:
        return {
            "words": list(self.words),
            "log10_prob": self.log10_prob,
            "log10_probs": list(self.log10_probs),
            "is_finished": self.is_finished,
        }


@dataclass(frozen=True)
class Sample(ShortRepr):
    """The drawn sentences, and the run or file they come from."""

    model: Path
    seed: int
    sentences: tuple[SampledSentence, ...]

    @property
    def n_cut(self) -> int:
        """Number of sentences that were cut before their end."""
        return sum(not each.is_finished for each in self.sentences)

    def _repr_html_(self) -> str:
        return coloured_html((each.words, each.bits) for each in self.sentences)

    def to_dict(self) -> dict[str, object]:
        return {
            "model": str(self.model),
            "seed": self.seed,
            "n_cut": self.n_cut,
            "sentences": [each.to_dict() for each in self.sentences],
        }


@keywords(SampleOptions)
def sample(options: SampleOptions) -> Sample:
    """Sentences drawn from the model word by word, each from the initial state.

    Log-probabilities are divided by `temperature`. Then the `top_k` most probable words are kept,
    and of these the smallest set of most probable words with a share of `top_p`. With
    `open_vocabulary`, the log10 probability of a spelled word is still that of `<unk>`.

    >>> drawn = charlm.sample(model="exp/first", n=2, max_length=5)
    >>> len(drawn.sentences)
    2

    Raises:
        ConfigError: a number out of its range; a prefix that the model cannot read; an open
            vocabulary without a speller.
        DataError: a run that is not what was expected; a model that gives no finite numbers.
    """
    warper = Warper(options.temperature, options.top_k, options.top_p, options.no_unk)
    if options.no_unk and options.open_vocabulary:
        raise ConfigError("--no-unk: leaves --open-vocabulary nothing to spell; drop one of them")
    set_threads(options.threads)
    if options.lm is not None:
        return _sample_of_ngrams(options, Path(options.lm), warper=warper)
    device = pick_device(options.device)
    precision = pick_precision(options.precision, device)
    run = load_run(which_run(options.model), device=device)
    plan = SentencePlan(
        seed=options.seed,
        warper=warper,
        prefix=prefix_words(options.prefix, run=run, max_length=options.max_length),
        max_length=options.max_length,
        spell=OpenVocabulary.of_run(run).spell if options.open_vocabulary else None,
    )
    with autocast(device, precision):
        vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
        drawn = sampled_sentences(
            vectors, plan, n=options.n, batch_size=options.batch_size, source=run.path
        )
        return _collected(drawn, options, source=run.path)


def _sample_of_ngrams(options: SampleOptions, path: Path, *, warper: Warper) -> Sample:
    if options.model is not None or options.open_vocabulary:
        other = "--open-vocabulary" if options.model is None else "--model"
        raise ConfigError(f"{other}: says nothing of the n-gram model of --lm; drop one of them")
    require_cpu(options)
    model = listed_ngram(path)
    plan = SentencePlan(
        seed=options.seed,
        warper=warper,
        prefix=_read_prefix(
            options.prefix, known=set(model.words), source=path, max_length=options.max_length
        ),
        max_length=options.max_length,
    )
    drawings = ngram_sentences(model, plan, n=options.n, batch_size=options.batch_size)
    return _collected(_sentences(drawings), options, source=path)


def _collected(drawn: Iterable[SampledSentence], options: SampleOptions, *, source: Path) -> Sample:
    sentences = []
    for each in drawn:
        sentences.append(each)
        if options.on_sentence is not None:
            options.on_sentence(each)
    return Sample(source, options.seed, tuple(sentences))


def sampled_sentences(
    vectors: FormVectors, plan: SentencePlan, *, n: int, batch_size: int, source: object
) -> Iterator[SampledSentence]:
    """`n` sentences of a loaded model in order; `source` is what messages call the model."""
    drawer = SentenceDrawer(vectors, plan, source=source)
    return _sentences(drawer.sentences(n, batch_size=batch_size))


def _sentences(drawings: Iterable[Drawing]) -> Iterator[SampledSentence]:
    for drawn in drawings:
        log10s = tuple(0.0 + nats / math.log(10) for nats in drawn.log_probs)
        yield SampledSentence(tuple(drawn.words), log10s, drawn.is_finished)


def prefix_words(prefix: str, *, run: LoadedRun, max_length: int) -> tuple[str, ...]:
    """The words of a prefix as the run reads them.

    Raises:
        ConfigError: a prefix that the model cannot read, or that leaves no room for a word.
    """
    words = run.inventory.word_ids if run.oov_input == "unk" else None
    return _read_prefix(
        prefix,
        rules=run.inventory.normalisation,
        known=words,
        source=run.path,
        max_length=max_length,
    )


def _read_prefix(
    prefix: str,
    *,
    rules: Callable[[str], str] = str,
    known: Container[str] | None,
    source: Path,
    max_length: int,
) -> tuple[str, ...]:
    """The words of a prefix by text rules; `known` are a model's, or None if it reads spellings."""
    shown = f"--prefix {prefix[:SHOWN]!r}"
    if "\n" in prefix:
        raise ConfigError(f"{shown}: found a line end; expected words between blanks")
    try:
        words = without_marks(split_words(rules(prefix)), where=shown)
    except DataError as error:
        raise ConfigError(str(error)) from None
    unknown = [word for word in words if known is not None and word not in known]
    if unknown:
        raise ConfigError(
            f"{shown}: {unknown[0]!r} is no word of {source}; expected its words; write <unk> there"
        )
    if len(words) >= max_length:
        raise ConfigError(
            f"{shown}: {len(words)} words; expected fewer than --max-length {max_length}"
        )
    return tuple(words)
