"""Mixing what models make of a text, word by word, with given weights or with the best ones.

Streams are files of scores, runs and n-gram models in any mixture, as long as all scored the same
words: a model that says `<unk>` where another predicts a word has an easier task, not a better
probability. Weights are tuned on one text and reported on another, unless there is but one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import Log10s
from charlm.options import keywords
from charlm.scoring.evaluation.em_weights import em_weights, mixed_log10
from charlm.scoring.evaluation.mix_options import MixOptions, parsed_weights
from charlm.scoring.evaluation.token_scores import Kind, answers, kind_of
from charlm.text.corpus.sentences import split_path
from charlm.text.corpus.tokens import END_WORD, UNK_WORD
from charlm.text.io.overwrite import keeps_inputs
from charlm.text.io.packing import packed_write
from charlm.text.io.paths import require_place
from charlm.text.perplexity.layouts import jsonl_sentence, srilm_sentence, srilm_total
from charlm.text.perplexity.perplexity import Counts, Log10Sums, Perplexity, ScoredSentence
from charlm.text.perplexity.score_streams import WordScores

SAME_TEXT = "the same text"
MIXTURE = "mixture"
JSON_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz")


@dataclass(frozen=True)
class MixedStream:
    """One of the models, or the mixture, on the text that is reported."""

    source: str
    weight: float
    log10_prob: float  # of the tokens to which it gives anything, as SRILM counts
    n_zeroprobs: int  # the others
    ppl: float | None  # None where no token is left to divide by
    signature: str | None = None  # of a model's evaluation; a file of scores has none
    n_wasted: int = 0  # tokens that are `<unk>` to the runs, and words to the n-gram model


@dataclass(frozen=True)
class Mixture:
    """Models with their weights, what each makes of a text alone, and what all make of it."""

    streams: tuple[MixedStream, ...]
    mixture: MixedStream
    text: str | None  # that is reported on; None: the one that the files of scores are of
    tuned_on: str | None  # None: the weights were given
    n_iterations: int  # of EM
    words: tuple[str, ...]  # as all have scored them, `</s>` included
    log10_probs: Log10s  # of the mixture

    def to_dict(self) -> dict[str, object]:
        """As JSON, without the tokens."""
        return {
            "text": self.text,
            "tuned_on": self.tuned_on,
            "n_iterations": self.n_iterations,
            "n_tokens": len(self.words),
            "n_left_out": self.mixture.n_zeroprobs,
            "streams": [asdict(each) for each in self.streams],
            "mixture": asdict(self.mixture),
        }


@keeps_inputs("out")
@keywords(MixOptions)
def mix(options: MixOptions) -> Mixture:
    """The mixture of streams: files of scores, run directories, ARPA files or KenLM binaries.

    Runs and n-gram models score `tune` (valid) and `split` (test) of a corpus directory, or one
    text, on which the weights are then tuned as well; so they are where all streams are files.
    N-gram models read the text by the rules of the runs beside them, in their vocabulary: what one
    of them gives to words outside it is lost, and such tokens are counted.

    Raises:
        ConfigError: fewer than two streams, weights that are none, a text too few or too many, or
            an option without effect.
        DataError: a broken file or run; streams that differ in a word.
    """
    streams = options.streams
    if isinstance(streams, str | Path) or len(streams) < 2:
        raise ConfigError("mix: found fewer than two streams; expected two or more; name another")
    weights = options.weights
    given = None if weights is None else parsed_weights(weights, n_streams=len(streams))
    require_place(options.out, option="--out")
    kinds = [kind_of(stream) for stream in streams]
    texts = _texts_to_score(options, kinds)
    _refuse_idle(options, kinds)
    by_text = answers(options, kinds=kinds, texts=texts)
    for scores in by_text:
        _require_same_words(scores)
    tuned_on = None if given else SAME_TEXT if len(by_text) == 1 else str(texts[0])
    best, n_iterations = (given, 0) if given else _tuned(by_text[0])
    reported = str(texts[-1]) if texts else None
    result = _mixture(by_text[-1], best, texts=(reported, tuned_on), n_iterations=n_iterations)
    if options.out is not None:
        _write(result, options.out)
    return result


def _texts_to_score(options: MixOptions, kinds: Sequence[Kind]) -> list[str | Path]:
    """The texts that models are to score, the one to report last; none where all are files.

    Files of scores are of one text that is not named; models need to be told one.
    """
    streams, data, text = options.streams, options.data, options.text
    files = [stream for stream, kind in zip(streams, kinds, strict=True) if kind == "scores"]
    models = [stream for stream, kind in zip(streams, kinds, strict=True) if kind != "scores"]
    if data is not None and text is not None:
        raise ConfigError("found both --data and --text; expected one of them; drop either")
    if not models:
        if data is not None or text is not None:
            raise ConfigError(
                f"{'--text' if data is None else '--data'}: found no model to score it, all "
                "streams are files of scores; expected neither --text nor --data; drop it"
            )
        return []
    if data is not None and files:
        raise ConfigError(
            f"{files[0]}: holds the scores of one text; expected --text FILE, not --data, beside it"
        )
    if data is not None:
        report, tune = options.split or "test", options.tune or "valid"
        splits = (report,) if options.weights else (tune, report)
        return [split_path(data, split) for split in dict.fromkeys(splits)]
    if text is None:
        raise ConfigError(
            f"{models[0]}: a model, and no text to score; expected --data DIR or --text FILE"
        )
    if len(models) > 1 and not Path(text).is_file() and (str(text) == "-" or Path(text).exists()):
        raise ConfigError(
            f"--text {text}: {len(models)} models cannot read one pipe; expected a file"
        )
    return [text]


def _refuse_idle(options: MixOptions, kinds: Sequence[Kind]) -> None:
    """Refuse an option that changes nothing: its user believes that it did."""
    no_data = "" if options.data is not None else "chooses a part of --data DIR, and none is given"
    is_given = options.weights is not None
    reasons = {
        "split": no_data,
        "tune": "there is nothing to tune with --weights" if is_given else no_data,
        "state": "" if "run" in kinds else "is of runs, and no stream is one",
    }
    for name, reason in reasons.items():
        value = getattr(options, name)
        if value is not None and reason:
            raise ConfigError(f"--{name} {value}: {reason}; drop it")


def _require_same_words(scores: Sequence[WordScores]) -> None:
    first = scores[0]
    for other in scores[1:]:
        pairs = enumerate(zip(first.words, other.words, strict=False), 1)
        differing = next(((n, pair) for n, pair in pairs if pair[0] != pair[1]), None)
        if differing is not None:
            raise DataError(_difference(first, other, token=differing[0], pair=differing[1]))
        if len(first.words) != len(other.words):
            raise DataError(
                f"{first.source} and {other.source}: {len(first.words)} and {len(other.words)} "
                "tokens; expected the same text; is one of them cut?"
            )


def _difference(first: WordScores, other: WordScores, *, token: int, pair: tuple[str, str]) -> str:
    if UNK_WORD in pair:
        hint = "different vocabularies do not mix; estimate an n-gram model with --vocab RUN"
    else:
        hint = "one text, normalised in one way, is what they must have scored"
    return (
        f"{first.source} and {other.source}: token {token} is {pair[0]!r} in the one and "
        f"{pair[1]!r} in the other; expected the same words; {hint}"
    )


def _tuned(scores: Sequence[WordScores]) -> tuple[list[float], int]:
    found = em_weights(np.stack([each.log10_probs for each in scores]))
    if found.n_left_out == len(scores[0].words):
        raise DataError(
            f"{scores[0].source}: no stream gives any token of the text a probability above 0; "
            "expected something to tune weights on"
        )
    return found.weights.tolist(), found.n_iterations


def _mixture(
    scores: Sequence[WordScores],
    weights: Sequence[float],
    *,
    texts: tuple[str | None, str | None],
    n_iterations: int,
) -> Mixture:
    words = scores[0].words
    log10_probs = mixed_log10(np.stack([each.log10_probs for each in scores]), weights)
    mixed = WordScores(MIXTURE, words, log10_probs)
    return Mixture(
        streams=tuple(map(_measured, scores, weights)),
        mixture=_measured(mixed, 1.0),
        text=texts[0],
        tuned_on=texts[1],
        n_iterations=n_iterations,
        words=words,
        log10_probs=log10_probs,
    )


def _measured(scores: WordScores, weight: float) -> MixedStream:
    given = scores.log10_probs[np.isfinite(scores.log10_probs)]
    n_tokens, n_sentences = len(scores.words), scores.n_sentences
    sums = Log10Sums(float(given.sum()), n_zeroprobs=n_tokens - len(given))
    counts = Counts(n_sentences=n_sentences, n_words=n_tokens - n_sentences)
    ppl = Perplexity(counts, sums).ppl
    return MixedStream(
        scores.source,
        weight,
        sums.log10_prob,
        sums.n_zeroprobs,
        ppl,
        scores.signature,
        scores.n_wasted,
    )


def _write(mixture: Mixture, path: str | Path) -> None:
    """The mixture's scores as JSON lines or as SRILM prints them, packed by the suffix."""
    as_json = Path(path).name.endswith(JSON_SUFFIXES)
    counts, sums = Counts(), Log10Sums()
    with packed_write(path, through_links=True) as file:
        for sentence in _sentences(mixture):
            counts += sentence.perplexity.counts
            sums += sentence.perplexity.sums
            shown = jsonl_sentence(sentence) if as_json else srilm_sentence(sentence, debug=2)
            file.write(shown.encode() + b"\n")
        if not as_json:
            total = srilm_total(mixture.text or MIXTURE, Perplexity(counts, sums))
            file.write(total.encode() + b"\n")


def _sentences(mixture: Mixture) -> Iterator[ScoredSentence]:
    words: list[str] = []
    log10_probs: list[float] = []
    for word, log10_prob in zip(mixture.words, mixture.log10_probs.tolist(), strict=True):
        log10_probs.append(log10_prob)
        if word != END_WORD:
            words.append(word)
            continue
        known = tuple(each != UNK_WORD for each in words)
        # Ids are of a vocabulary, and none of the layouts written here shows them.
        yield ScoredSentence(tuple(words), (0,) * len(words), known, tuple(log10_probs))
        words, log10_probs = [], []
