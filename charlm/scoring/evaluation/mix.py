"""Mixing models' scores of a text, word by word, with given weights or with the best ones.

Streams are files of scores, runs and n-gram models in any combination, as long as all scored the
same words: a model that predicts `<unk>` where another predicts a word has an easier task, and its
probabilities are not better for it. ARPA files of different words are made to score all of them.
Weights are tuned on one text and reported on another, unless there is only one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.interface.options import beyond_cpu, keywords, require_one_stdin
from charlm.interface.short_repr import ShortRepr
from charlm.nbest.ranking.shares import parsed_shares
from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.files.kenlm_binary import require_arpa_name
from charlm.ngram.files.kenlm_model import is_kenlm_binary
from charlm.ngram.files.load import NgramModel
from charlm.ngram.reshaping.combination import interpolated
from charlm.ngram.word_ids import WordIds, text_in
from charlm.scoring.evaluation.comparison.bootstrap import Difference, PairedBootstrap
from charlm.scoring.evaluation.comparison.frequency_bands import Band, frequency_bands
from charlm.scoring.evaluation.em_weights import em_weights, mixed_log10
from charlm.scoring.evaluation.mix_options import MixOptions
from charlm.scoring.evaluation.token_scores import (
    Kind,
    kind_of,
    ngram_models,
    stream_scores,
    vocabulary_of_runs,
)
from charlm.text.corpus.sentences import split_path
from charlm.text.corpus.tokens import END_WORD, UNK_WORD
from charlm.text.io.files import packed_write, unpacked_name
from charlm.text.io.lines import TEXT
from charlm.text.io.overwrite import refuse_overwrite, require_distinct
from charlm.text.io.paths import is_pipe, require_place
from charlm.text.perplexity.layouts import jsonl_sentence, srilm_sentence, srilm_total
from charlm.text.perplexity.perplexity import Counts, Log10Sums, Perplexity, ScoredSentence
from charlm.text.perplexity.probability_files import SUFFIX, probability_lines
from charlm.text.perplexity.score_streams import WordScores
from charlm.text.vocabulary.counts import count_text

SAME_TEXT = "the same text"
MIXTURE = "mixture"
WITHOUT = "mixture without what is new"
DRAWS, SEED = 1000, 1  # of sentences, the same as in compare-kn


@dataclass(frozen=True)
class MixedStream:
    """One of the models, or the mixture, on the reported text."""

    source: str
    weight: float
    log10_prob: float  # of tokens with a probability above 0, as in SRILM
    n_zeroprobs: int  # the other tokens
    ppl: float | None  # None where no token is left
    signature: str | None = None  # of the evaluation; None for a file of scores
    n_wasted: int = 0  # tokens that are `<unk>` to the runs, but words to the n-gram model
    n_lacking: int = 0  # words of the other n-gram models that this one gives nothing


@dataclass(frozen=True)
class Gain:
    """What a mixture gains from its new streams."""

    without: MixedStream  # the other streams, with their own best weights
    difference: Difference  # of perplexities over the same tokens: mixture minus `without`


@dataclass(frozen=True)
class ArpaMixture:
    """An n-gram model made from the mixture; n-grams that no stream lists back off in it."""

    path: str
    sizes: tuple[int, ...]  # n-grams of each order
    ppl: float | None  # of the reported text


@dataclass(frozen=True)
class Mixture(ShortRepr):
    """Models with their weights, the figures of each alone, and those of the mixture."""

    streams: tuple[MixedStream, ...]
    mixture: MixedStream
    text: str | None  # reported on; None: the text of the files of scores
    tuned_on: str | None  # None: the weights were given
    n_iterations: int  # of EM
    words: tuple[str, ...]  # as all streams scored them, with `</s>`
    log10_probs: Log10s = field(compare=False)  # of the mixture; == of arrays is no bool
    n_cut: int = 0  # first tokens left out, since a file of probabilities lacks them
    gain: Gain | None = None  # None: no stream was given as new
    bands: tuple[Band, ...] = ()  # of the streams and the mixture, in this order
    arpa: ArpaMixture | None = None

    def to_dict(self) -> dict[str, object]:
        """As JSON, without the tokens."""
        return {
            "text": self.text,
            "tuned_on": self.tuned_on,
            "n_iterations": self.n_iterations,
            "n_tokens": len(self.words),
            "n_left_out": self.mixture.n_zeroprobs,
            "n_cut": self.n_cut,
            "streams": [asdict(each) for each in self.streams],
            "mixture": asdict(self.mixture),
            "gain": None if self.gain is None else asdict(self.gain),
            "bands": [asdict(band) for band in self.bands],
            "arpa": None if self.arpa is None else asdict(self.arpa),
        }


@keywords(MixOptions)
@refuse_overwrite("out", "arpa")
def mix(options: MixOptions) -> Mixture:
    """Mix streams: files of scores, run directories, ARPA files or KenLM binaries.

    Runs and n-gram models score `tune` (valid) and `split` (test) of a corpus directory, or a
    single text; ARPA files that become one by given weights need none. On a single text, and where
    all streams are files, the weights are tuned on the text that is reported. N-gram models read
    the text by the rules of the runs beside them and in their vocabulary. Probability that an
    n-gram model gives to words outside this vocabulary is lost, and such tokens are counted.
    Without runs, ARPA files may differ in their words: each gives nothing to the words that only
    others have, as under SRILM's `-mix-lm`.

    >>> kn = charlm.ngram_baseline(data="corpus", vocab="exp/first", order=3, out="kn.arpa")
    >>> found = charlm.mix(["exp/first", "kn.arpa"], data="corpus")
    >>> [stream.source for stream in found.streams]
    ['exp/first', 'kn.arpa']

    Raises:
        ConfigError: fewer than two streams, malformed weights, a missing or superfluous text, or
            an option without effect.
        DataError: a broken file or run; streams that differ in a word.
    """
    if isinstance(options.streams, str | Path) or len(options.all_streams) < 2:
        raise ConfigError("mix: found fewer than two streams; expected two or more; name another")
    weights = options.weights
    n_streams = len(options.all_streams)
    given = None if weights is None else parsed_shares(weights, n_streams=n_streams)
    require_place(options.out, option="--out")
    kinds = [kind_of(stream) for stream in options.all_streams]
    _require_arpas(options, kinds)
    texts = _texts_to_score(options, kinds)
    _refuse_idle(options, kinds)
    models = ngram_models(options, kinds)
    all_scores = stream_scores(options, kinds=kinds, texts=texts, models=models)
    by_text = [on_common_tokens(scores) for scores in all_scores]
    tuned_on = None if given else SAME_TEXT if len(by_text) == 1 else str(texts[0])
    best, n_iterations = (given, 0) if given else _tuned(by_text[0])
    scores = by_text[-1]
    words = scores[0].words
    log10_probs = mixed_log10(np.stack([each.log10_probs for each in scores]), best)
    mixed = WordScores(MIXTURE, words, log10_probs)
    n_old = len(options.streams)
    result = Mixture(
        streams=tuple(map(_measured, scores, best)),
        mixture=_measured(mixed, 1.0),
        text=str(texts[-1]) if texts else None,
        tuned_on=tuned_on,
        n_iterations=n_iterations,
        words=words,
        log10_probs=log10_probs,
        n_cut=int(all(each.lacks_first or len(each.words) > len(words) for each in all_scores[-1])),
        gain=_gain(by_text[0][:n_old], scores[:n_old], mixed=mixed) if options.add else None,
        bands=_bands([*scores, mixed], options=options, kinds=kinds) if options.bands else (),
    )
    if options.arpa is not None:
        result = replace(result, arpa=_write_arpa(result, models.values(), options.arpa))
    if options.out is not None:
        _write(result, options.out)
    return result


def _require_arpas(options: MixOptions, kinds: Sequence[Kind]) -> None:
    """Refuse --arpa where a stream is no n-gram model, or one without its n-grams."""
    if options.arpa is None:
        return
    require_place(options.arpa, option="--arpa")
    require_arpa_name(options.arpa)
    require_distinct({"--out": options.out, "--arpa": options.arpa})
    for stream, kind in zip(options.all_streams, kinds, strict=True):
        if kind != "n-gram" or is_kenlm_binary(stream):
            raise ConfigError(
                f"{stream}: not an ARPA file; expected --arpa with ARPA files alone; `charlm "
                "export --arpa` makes one of a run"
            )


def _write_arpa(mixture: Mixture, models: Iterable[NgramModel], path: str | Path) -> ArpaMixture:
    """Make one model of several, write it, and measure it on the reported text."""
    parts = [model for model in models if isinstance(model, BackoffModel)]  # all, under --arpa
    model = interpolated(parts, [each.weight for each in mixture.streams])
    write_arpa(model, path)
    scores = model.score([list(each.words) for each in _sentences(mixture)])
    measured = _measured(WordScores(str(path), mixture.words, scores.log10_probs), 1.0)
    return ArpaMixture(str(path), model.sizes, measured.ppl)


def _texts_to_score(options: MixOptions, kinds: Sequence[Kind]) -> list[str | Path]:
    """The texts that models are to score, the reported one last; empty where all streams are files.

    The text of a file of scores is not named, but models must be given one, except where ARPA files
    become one with weights that are given.
    """
    streams, text = options.all_streams, options.text
    data = None if _for_bands_alone(options, kinds) else options.data
    require_one_stdin([*streams, text])
    files = [stream for stream, kind in zip(streams, kinds, strict=True) if kind == "scores"]
    models = [s for s, kind in zip(streams, kinds, strict=True) if kind in ("run", "n-gram")]
    if data is not None and text is not None:
        raise ConfigError("found both --data and --text; expected one of them; drop either")
    if not models and (data is None or files):
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
    if text is None and options.weights and options.arpa and not options.out:
        return []  # one ARPA file of several, unmeasured
    if text is None:
        unless = ""
        if options.arpa:
            unless = ", or no --out" if options.weights else ", or --weights beside --arpa"
        raise ConfigError(
            f"{models[0]}: a model, and no text to score; expected "
            f"{'' if files else '--data DIR or '}--text FILE{unless}"
        )
    if len(models) > 1 and is_pipe(text):
        raise ConfigError(
            f"--text {text}: {len(models)} models cannot read one pipe; expected a file"
        )
    return [text]


def _for_bands_alone(options: MixOptions, kinds: Sequence[Kind]) -> bool:
    """Whether only train.txt of the corpus directory is read: another text is scored."""
    return options.bands and (options.text is not None or "scores" in kinds)


def _refuse_idle(options: MixOptions, kinds: Sequence[Kind]) -> None:
    """Refuse an option that has no effect, since its user believes that it has one."""
    no_data = "" if options.data is not None else "chooses a part of --data DIR, and none is given"
    if options.data is not None and _for_bands_alone(options, kinds):
        no_data = "chooses a part of --data DIR, which is here for --bands alone"
    is_given = options.weights is not None
    reasons = {
        "split": no_data,
        "tune": "there is nothing to tune with --weights" if is_given else no_data,
        "state": "" if "run" in kinds else "is for runs, and no stream is one",
    }
    for name, reason in reasons.items():
        value = getattr(options, name)
        if value is not None and reason:
            raise ConfigError(f"--{name} {value}: {reason}; drop it")
    if "run" not in kinds and (beyond := beyond_cpu(options)):
        raise ConfigError(f"{beyond}: is for runs, and no stream is one; drop it")
    if options.bands:
        if options.data is None:
            raise ConfigError("--bands: counts words in train.txt; expected --data DIR beside it")
        split_path(options.data, "train")  # else missed when all is scored
    if options.add and is_given:
        raise ConfigError("--add: tells a gain of weights that are tuned; drop it, or --weights")


def on_common_tokens(scores: Sequence[WordScores]) -> list[WordScores]:
    """Each stream's scores of the tokens that all streams have; the words must be the same.

    Files of published probabilities lack the first token of their text. Where one is among the
    streams, the others drop that token.

    Raises:
        DataError: streams differ in a word, or in their number of words.
    """
    least = min(len(each.words) for each in scores)
    lacking = [each for each in scores if each.lacks_first and len(each.words) == least]
    kept = [
        replace(each, words=each.words[1:], log10_probs=each.log10_probs[1:])
        if lacking and len(each.words) == least + 1
        else each
        for each in scores
    ]
    for other in kept[1:]:
        _require_same_words(kept[0], other)
    return kept


def _require_same_words(first: WordScores, other: WordScores) -> None:
    for token, (one, two) in enumerate(zip(first.words, other.words, strict=False), 1):
        if one != two:
            hint = "one text, normalised in one way, is what they must have scored"
            if UNK_WORD in (one, two):
                hint = (
                    "different vocabularies mix only if all are of ARPA files; estimate an n-gram "
                    "model with --vocab RUN"
                )
            raise DataError(
                f"{first.source} and {other.source}: token {token} is {one!r} in the one and "
                f"{two!r} in the other; expected the same words; {hint}"
            )
    if len(first.words) != len(other.words):
        raise DataError(
            f"{first.source} and {other.source}: {len(first.words)} and {len(other.words)} "
            "tokens; expected the same text; is one of them cut?"
        )


def _tuned(scores: Sequence[WordScores]) -> tuple[list[float], int]:
    found = em_weights(np.stack([each.log10_probs for each in scores]))
    if found.n_left_out == len(scores[0].words):
        raise DataError(
            f"{scores[0].source}: no stream gives any token of the text a probability above 0; "
            "expected something to tune weights on"
        )
    return found.weights.tolist(), found.n_iterations


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
        scores.n_lacking,
    )


def _gain(tuning: Sequence[WordScores], scores: Sequence[WordScores], *, mixed: WordScores) -> Gain:
    """The gain of `mixed` over the best mixture of the streams whose scores are given.

    Tokens to which neither gives a probability above 0 are left out of the difference, as they are
    of both perplexities.
    """
    weights, _ = _tuned(tuning)
    log10s_N = mixed_log10(np.stack([each.log10_probs for each in scores]), weights)
    log10s_2N = np.stack([mixed.log10_probs, log10s_N])
    is_told_N = np.isfinite(log10s_2N.max(axis=0))
    is_end_N = np.array([word == END_WORD for word in mixed.words])
    drawn = PairedBootstrap(log10s_2N, is_told_N, is_end_N=is_end_N, samples=DRAWS, seed=SEED)
    without = _measured(WordScores(WITHOUT, mixed.words, log10s_N), 1.0)
    return Gain(without, drawn.difference(0, 1))


def _bands(
    scores: Sequence[WordScores], *, options: MixOptions, kinds: Sequence[Kind]
) -> tuple[Band, ...]:
    """By occurrences in train.txt, which is read by the rules of the runs, if there are any."""
    assert options.data is not None
    vocabulary = vocabulary_of_runs(options.all_streams, kinds)
    rules = replace(TEXT, encoding=options.encoding)
    text = text_in(split_path(options.data, "train"), vocabulary, rules=rules)
    counts = dict(count_text(text.sentences()).tokens.items())
    word_ids = WordIds()
    ids_N = np.array([word_ids[word] for word in scores[0].words], np.int32)
    return frequency_bands(
        ids_N,
        train_counts_V=np.array([counts.get(word, 0) for word in word_ids.words]),
        log10_probs_KN=np.stack([each.log10_probs for each in scores]),
    )


def _write(mixture: Mixture, path: str | Path) -> None:
    """Write the mixture's scores in SRILM's layout or the suffix's, packed as the suffix says."""
    suffix = unpacked_name(path).suffix
    as_json, as_probabilities = suffix == ".jsonl", suffix == SUFFIX
    counts, sums = Counts(), Log10Sums()
    with packed_write(path, through_links=True) as file:
        for number, sentence in enumerate(_sentences(mixture)):
            counts += sentence.perplexity.counts
            sums += sentence.perplexity.sums
            if as_probabilities:
                shown = probability_lines(sentence, first=int(not number and not mixture.n_cut))
            else:
                shown = jsonl_sentence(sentence) if as_json else srilm_sentence(sentence, debug=2)
            file.write(shown.encode() + b"\n" * bool(shown))
        if not as_json and not as_probabilities:
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
        # Ids belong to a vocabulary, and none of the layouts written here shows them.
        yield ScoredSentence(tuple(words), (0,) * len(words), known, tuple(log10_probs))
        words, log10_probs = [], []
