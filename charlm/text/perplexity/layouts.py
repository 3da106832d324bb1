"""Per-word and per-sentence scores in the layouts of SRILM, KenLM and JSON lines, for old scripts.

Scripts read them by field number: with one blank more or less compute-best-mix silently takes
another field for the log probability. Each function returns whole lines without the last LF.
"""

import json
import math

from charlm.text.corpus.tokens import START_WORD
from charlm.text.perplexity.perplexity import Perplexity, ScoredSentence


def srilm_number(value: float | None) -> str:
    """A log probability or a perplexity as SRILM 1.7.3 prints it: `%.7g`."""
    return "undefined" if value is None else f"{value:.7g}"


def srilm_total(name: str, perplexity: Perplexity) -> str:
    """The two lines of `ngram -unk -ppl` for a file."""
    return f"file {name}: {_srilm_counts(perplexity)}"


def _srilm_counts(perplexity: Perplexity) -> str:
    """SRILM counts a token of probability 0 as an OOV if it is `<unk>`, else as a zeroprob."""
    counts, sums = perplexity.counts, perplexity.sums
    n_oovs = sums.n_zeroprobs_oov
    return (
        f"{counts.n_sentences} sentences, {counts.n_words} words, {n_oovs} OOVs\n"
        f"{sums.n_zeroprobs - n_oovs} zeroprobs, logprob= {srilm_number(sums.log10_prob)} "
        f"ppl= {srilm_number(perplexity.ppl)} ppl1= {srilm_number(perplexity.ppl1)}"
    )


def srilm_sentence(sentence: ScoredSentence, *, debug: int) -> str:
    """What `ngram -unk -ppl` prints of a sentence as read at `-debug 1`, and of its tokens at 2."""
    lines = [" ".join(sentence.words)]
    if debug > 1:
        lines += _srilm_words(sentence)
    return "\n".join([*lines, _srilm_counts(sentence.perplexity), ""])


def _srilm_words(sentence: ScoredSentence) -> list[str]:
    """One line a token; only the last word of its context is shown.

    Where SRILM prints the order of the n-gram, a neural model has [nn]: compute-best-mix relies on
    a tag there. Its versions since 2017 misread a word `|`, and whatever follows a word with a `)`,
    in SRILM's own output as in ours: they edit the context before they split the line.
    """
    words = (*sentence.mapped, *sentence.ends)
    start = START_WORD if sentence.ends else ""
    contexts = [f"{start} ", *(f"{word} ..." for word in words)][: len(words)]
    tokens = zip(words, contexts, _srilm_tags(sentence), sentence.log10_probs, strict=True)
    return [
        f"\tp( {word} | {context}) \t= [{tag}] {10.0**log10_prob:.7g} [ {log10_prob:.7g} ]"
        for word, context, tag, log10_prob in tokens
    ]


def _srilm_tags(sentence: ScoredSentence) -> list[str]:
    """[nn] for a neural model; else the n-gram's length, or [OOV] for probability 0."""
    if sentence.matches is None:
        return ["nn"] * len(sentence.log10_probs)
    lengths = sentence.matches.lengths
    tokens = zip(sentence.log10_probs, sentence.known_tokens, lengths, strict=True)
    return [
        "OOV" if log10_prob == -math.inf and not is_known else f"{length}gram"
        for log10_prob, is_known, length in tokens
    ]


def kenlm_sentence(sentence: ScoredSentence) -> str:
    """What KenLM's `query -v word -v sentence` prints of a sentence.

    The length of the matched n-gram is 1 throughout for a neural model, which matches none: 1 is
    the least that KenLM prints itself.
    """
    log10_probs, matches = sentence.log10_probs, sentence.matches
    lengths = (1,) * len(log10_probs) if matches is None else matches.lengths
    words = (*sentence.words, *sentence.ends)
    tokens = zip(words, sentence.ngram_ids, lengths, log10_probs, strict=True)
    fields = [f"{word}={number} {n} {log10_prob:.7g}" for word, number, n, log10_prob in tokens]
    total, n_oov = sentence.perplexity.sums.log10_prob, sentence.known.count(False)
    return "\t".join([*fields, f"Total: {total:.9g} OOV: {n_oov}"])


def kenlm_total(perplexity: Perplexity) -> str:
    """The four lines of KenLM's `query -v summary`.

    The number of tokens is the one that the first perplexity is over: a token without a probability
    here has 1e-100 there.
    """
    return (
        f"Perplexity including OOVs:\t{_kenlm_number(perplexity.ppl)}\n"
        f"Perplexity excluding OOVs:\t{_kenlm_number(perplexity.ppl_known)}\n"
        f"OOVs:\t{perplexity.counts.n_oov}\n"
        f"Tokens:\t{perplexity.n_tokens}"
    )


def _kenlm_number(value: float | None) -> str:
    return "nan" if value is None else repr(value)  # what 0/0 gives there


def jsonl_sentence(sentence: ScoredSentence) -> str:
    """A sentence as one JSON object: its log10 probability, and that of each word and `</s>`.

    A probability of 0 is null, since JSON has no infinity. `lengths` are an n-gram model's.
    """
    value: dict[str, object] = {
        "log10_prob": sentence.perplexity.sums.log10_prob,
        "words": sentence.words,
        "known": sentence.known,
        "log10_probs": [None if p == -math.inf else p for p in sentence.log10_probs],
    }
    if sentence.matches is not None:
        value["lengths"] = sentence.matches.lengths
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
