"""Perplexities of texts under an n-gram model, read once, in blocks of bounded size.

Every sentence starts from `<s>`, or without context if it is to have no marks: so there is one
state, `sentence`. A word that the model does not know is `<unk>`, as under `ngram -unk`; if the
model lists no `<unk>`, such words have probability 0 and are left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import compress

import numpy as np

from charlm.errors import DataError
from charlm.ngram.backoff import TokenScores
from charlm.ngram.load import NgramModel
from charlm.ngram.word_ids import UNK, mapped
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.sentences import BLOCK, blocks
from charlm.text.corpus.tokens import END_WORD, START_WORD
from charlm.text.io.files import display_name
from charlm.text.perplexity.perplexity import (
    Counts,
    Evaluation,
    Log10Sums,
    NgramMatches,
    Perplexity,
    ScoredSentence,
    counts_of,
    log10_sums,
)
from charlm.text.perplexity.signature import HASH_DIGITS, joined_signature, normalisation_name
from charlm.text.perplexity.spelled_words import Spelling, Spells, spelling_of
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.version import __version__

STATE = "sentence"


def evaluate_ngram(
    model: NgramModel,
    text: ReadText,
    *,
    in_signature: Mapping[str, str],
    split: str = "",
    vocabulary: Inventory | None = None,
    speller: Spells | None = None,
    marked: bool = True,
    on_sentence: Callable[[ScoredSentence], object] | None = None,
) -> Evaluation:
    """The perplexities of a text; `in_signature` says in the signature what the model is.

    Words outside the `vocabulary` that the text is in are `<unk>` whatever the model knows; those
    of them that the model does know are counted. `speller` adds figures in which words that
    are `<unk>` are spelled. Sentences that are not `marked` have neither `<s>` before them nor
    `</s>` behind: their first word has no context, and words alone are counted.

    Raises:
        DataError: a text without a sentence, or that is not what was expected.
    """
    tally = _Tally(has_vocabulary=vocabulary is not None, speller=speller, marked=marked)
    for block in blocks(text.sentences(), size=BLOCK):
        scores = model.score([mapped(words, vocabulary) for words in block], marked=marked)
        tally.add(block, scores)
        if on_sentence is not None:
            for sentence in _sentences(block, scores, marked=marked):
                on_sentence(sentence)
    if not tally.counts.n_sentences:
        raise DataError(f"{display_name(text.path)}: no sentence; expected one a line")
    counts = replace(tally.counts, n_changed=text.n_changed)
    signature = joined_signature(
        {
            "charlm": __version__,
            **in_signature,
            "open-vocabulary": speller.sha256[:HASH_DIGITS] if speller else "",
            "vocab": vocabulary.sha256[:HASH_DIGITS] if vocabulary else "",
            "data": text.sha256[:HASH_DIGITS],
            "split": split,
            "state": STATE,
            "start": START_WORD if marked else "none",
            "end": "" if marked else "none",
            "norm": normalisation_name(vocabulary.normalisation if vocabulary else None),
            "precision": model.precision,
        }
    )
    return Evaluation(
        str(text.path),
        counts,
        {STATE: Perplexity(counts, tally.sums)},
        {STATE: signature},
        spelling=tally.spelling,
        hidden_words=_known_to(model, tally.outside),
    )


class _Tally:
    """Sums over the blocks of a text."""

    def __init__(self, *, has_vocabulary: bool, speller: Spells | None, marked: bool) -> None:
        self.counts, self.sums = Counts(), Log10Sums()
        self.spelling = Spelling() if speller else None
        self.outside = Counter[str]()  # of the vocabulary or, within it, of the model
        self._has_vocabulary = has_vocabulary
        self._speller = speller
        self._marked = marked

    def add(self, block: list[list[str]], scores: TokenScores) -> None:
        ends = np.cumsum([0, *(len(words) + self._marked for words in block)])
        known = scores.word_ids != UNK
        n_oovs = np.diff(np.concatenate([[0], np.cumsum(~known)])[ends])
        for words, n_oov in zip(block, n_oovs.tolist(), strict=True):
            self.counts += counts_of(words, n_oov=n_oov, marked=self._marked)
        self.sums += log10_sums(scores.log10_probs.tolist(), known.tolist())
        marks = (END_WORD,) if self._marked else ()
        tokens = (token for words in block for token in (*words, *marks))
        unknown = list(compress(tokens, ~known))
        if self._has_vocabulary:
            self.outside.update(unknown)
        if self._speller and self.spelling:
            self.spelling += spelling_of(unknown, self._speller)


def _known_to(model: NgramModel, outside: Counter[str]) -> dict[str, int]:
    """The words outside a vocabulary that the model itself knows, with their counts."""
    if not outside:
        return {}
    counts = dict(outside.most_common())
    scores = model.score([mapped(list(counts), None)], marked=False)
    pairs = zip(counts.items(), scores.word_ids.tolist(), strict=True)
    return {word: count for (word, count), word_id in pairs if word_id != UNK}


def _sentences(
    block: list[list[str]], scores: TokenScores, *, marked: bool
) -> Iterator[ScoredSentence]:
    ids, log10s = scores.word_ids.tolist(), scores.log10_probs.tolist()
    lengths = scores.lengths.tolist()
    start = 0
    for words in block:
        part = slice(start, start + len(words) + marked)
        yield ScoredSentence(
            words=tuple(words),
            word_ids=tuple(ids[part][: len(words)]),
            known=tuple(number != UNK for number in ids[part][: len(words)]),
            log10_probs=tuple(log10s[part]),
            matches=NgramMatches(tuple(ids[part]), tuple(lengths[part])),
        )
        start = part.stop
