"""Surprisals of every written word of some sentences under several models.

A sentence stands on its own, or continues the sentences before it: all of its file, or those with
the same value in a column. An n-gram model keeps no state and starts each sentence anew.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice

from charlm.errors import ConfigError
from charlm.interface.options import keywords
from charlm.interface.progress_messages import with_progress
from charlm.scoring.evaluation.surprisal.opened_models import Adapting, OpenedModels, opened_models
from charlm.scoring.evaluation.surprisal.surprisal_options import SurprisalOptions
from charlm.scoring.evaluation.surprisal.surprisal_table import (
    OWN,
    ScoredItem,
    SentenceUnderModel,
    SurprisalTable,
    WordUnderModel,
)
from charlm.scoring.evaluation.surprisal.table_items import Items, notes_on_names, read_items
from charlm.scoring.evaluation.surprisal.token_bits import SentenceBits, TokenModel, finite
from charlm.scoring.evaluation.surprisal.written_words import WordSplitter, WrittenSentence
from charlm.text.corpus.normalisation.spelling_rules import options_advised
from charlm.text.corpus.tokens import END, UNK, share, shown_counts
from charlm.text.vocabulary.vocabulary import Inventory

NONE, DOCUMENT = "none", "document"
BILLION = 1e9


@keywords(SurprisalOptions)
def surprisal(options: SurprisalOptions) -> SurprisalTable:
    """The surprisal of every written word, with the other predictors that regressions need.

    `result.header` and `result.rows()` are the table; for pandas it is
    `DataFrame(result.rows(), columns=result.header)`. The surprisals of a sentence's words and of
    its end, which is stored in the items, sum to the value that `charlm eval` gives the sentence.

    >>> found = charlm.surprisal("corpus/test.txt", model="exp/first")
    >>> found.header[:3], next(iter(found.rows()))[:3]
    (('item', 'position', 'word'), (1, 1, 'a'))

    Raises:
        ConfigError: no files, no such column, no such model; an open vocabulary without a speller.
        DataError: a file, a table or a run that is not what was expected.
    """
    items = read_items(options.texts, format=options.format, encoding=options.encoding)
    column = items.sentence_column(options.column)
    groups = _groups(items, context=options.context)
    told: list[str] = []
    opened = opened_models(options, entropy=options.entropy, adapting=_adapting(options, told))
    texts = [(item.text(column), item.where) for item in items.items]
    by_model, unknown = [], []
    for model in opened.models:
        splitter = WordSplitter(opened.rules(model))
        sentences = [splitter(text, where=where) for text, where in texts]
        bits = _bits(model, sentences, groups=groups, options=options)
        lexicon = _Lexicon(opened.counts(model))
        unknown.append(_unknown_tokens(sentences, bits))
        by_model.append(
            [_under_model(*pair, lexicon=lexicon) for pair in zip(sentences, bits, strict=True)]
        )
    renamed = items.names_beside(_is_ours, without=column)
    scored = tuple(
        ScoredItem(
            number, tuple(item.values.get(name) for name in renamed), sentence.words, under_models
        )
        for number, (item, sentence, under_models) in enumerate(
            zip(items.items, sentences, zip(*by_model, strict=True), strict=True), 1
        )
    )
    return SurprisalTable(
        models=opened.names,
        columns=tuple(renamed.values()),
        items=scored,
        notes=(
            *notes_on_names(renamed),
            *told,
            *_note_on_empty(sentences, [where for _, where in texts]),
            *_notes(scored, opened, unknown=unknown, options=options),
        ),
        read_alike=opened.read_alike,
        has_entropy=options.entropy,
        n_previous=options.previous,
    )


def _adapting(options: SurprisalOptions, told: list[str]) -> Adapting | None:
    """How runs adapt to what they read; messages about it are appended to `told`."""
    if options.adapt == "none" and not options.adapt_rates:
        return None
    if options.entropy or (options.lm and not options.model):
        found = "--entropy, which a model that adapts does not have; leave either out"
        if not options.entropy:
            found = (
                "n-gram models alone, which do not adapt; give a run by --model, or leave it out"
            )
        option = "--adapt" if options.adapt != "none" else "--adapt-rates"
        raise ConfigError(f"{option}: found {found}")
    from charlm.scoring.adaptation.opened_adaptation import opened_adaptation

    return partial(
        opened_adaptation, mode=options.adapt, rates=options.adapt_rates, tell=told.append
    )


def _groups(items: Items, *, context: str) -> Sequence[Sequence[int]]:
    """Which items a model reads together, by number, in order; `eval` reads file by file, too."""
    if context in (NONE, DOCUMENT):
        return items.by_file
    if items.is_text:
        raise ConfigError(
            f"--context {context!r}: a text has no columns; expected none or document"
        )
    items.require(context, option="--context")
    groups: dict[str | None, list[int]] = {}
    for number, item in enumerate(items.items):
        groups.setdefault(item.values.get(context), []).append(number)
    return list(groups.values())


def _bits(
    model: TokenModel,
    sentences: Sequence[WrittenSentence],
    *,
    groups: Sequence[Sequence[int]],
    options: SurprisalOptions,
) -> list[SentenceBits]:
    """A model's values for the sentences, in order."""
    found: dict[int, SentenceBits] = {}
    numbers = with_progress(
        chain.from_iterable(groups), model.name, unit="sentence", tell=options.on_stage
    )
    for group in groups:
        bits = model.bits(
            (sentences[number].tokens for number in islice(numbers, len(group))),
            is_carried=options.context != NONE,
            entropy=options.entropy,
        )
        found.update(zip(group, bits, strict=True))
    return [found[number] for number in range(len(sentences))]


class _Lexicon:
    """How often words occur in the training text."""

    def __init__(self, inventory: Inventory | None) -> None:
        self.inventory = inventory
        if inventory is not None:
            n_tokens = sum(inventory.counts) - inventory.counts[END]
            n_types = inventory.n_words - 1  # without </s>
            self._billionths = (n_tokens + n_types) / BILLION

    def count(self, tokens: Sequence[str]) -> int | None:
        """The count of the rarest token; 0 for one outside the vocabulary."""
        if self.inventory is None or not tokens:
            return None
        ids, counts = self.inventory.word_ids, self.inventory.counts
        return min(counts[ids[each]] if ids.get(each, UNK) > UNK else 0 for each in tokens)

    def zipf(self, count: int | None) -> float | None:
        """log10 of occurrences per billion words (van Heuven et al., 2014)."""
        return None if count is None else math.log10((count + 1) / self._billionths)


def _under_model(
    sentence: WrittenSentence, bits: SentenceBits, *, lexicon: _Lexicon
) -> SentenceUnderModel:
    words, entropies = [], bits.entropies
    for first, last in sentence.spans():
        tokens = sentence.tokens[first:last]
        count = lexicon.count(tokens)
        words.append(
            WordUnderModel(
                tokens=tokens,
                known=all(bits.known[first:last]) if tokens else None,
                count=count,
                zipf=lexicon.zipf(count),
                surprisal=finite(math.fsum(bits.surprisals[first:last])) if tokens else None,
                entropy=finite(entropies[first]) if tokens and entropies is not None else None,
            )
        )
    return SentenceUnderModel(tuple(words), finite(bits.surprisals[len(sentence.tokens)]))


def _unknown_tokens(
    sentences: Sequence[WrittenSentence], bits: Sequence[SentenceBits]
) -> Counter[str]:
    return Counter(
        token
        for sentence, each in zip(sentences, bits, strict=True)
        for token, is_known in zip(sentence.tokens, each.known, strict=True)
        if not is_known
    )


def _is_ours(name: str) -> bool:
    return any(name == own or name.startswith(f"{own}_") for own in (*OWN, "entropy"))


def _note_on_empty(sentences: Sequence[WrittenSentence], places: Sequence[str]) -> Iterator[str]:
    empty = [where for each, where in zip(sentences, places, strict=True) if not each.words]
    if empty:
        yield f"{len(empty)} of {len(sentences)} items have no word and no row, first {empty[0]}"


def _notes(
    items: Sequence[ScoredItem],
    opened: OpenedModels,
    *,
    unknown: Sequence[Counter[str]],
    options: SurprisalOptions,
) -> Iterator[str]:
    """Remarks for the reader, in sentences."""
    for k, model in enumerate(opened.models):
        words = list(chain.from_iterable(item.by_model[k].words for item in items))
        yield from _notes_on_words(
            words, model=model, unknown=unknown[k], is_spelled=options.open_vocabulary
        )
        is_alone = options.context == NONE
        if is_alone and not model.learned_single_sentences:
            yield (
                f"{model.name} was trained with its state carried over sentence ends, and scores "
                "single sentences worse (12 % on PTB); train with --for sentences, or let "
                "sentences go on by --context document"
            )
        if model.adaptation:
            anew = "with each file" if is_alone else "where a context does"
            yield (
                f"{model.name} adapted to what it had read, {model.adaptation}: surprisals depend "
                f"on the order of the sentences; it begins anew {anew}"
            )
        if not model.can_carry and not is_alone:
            yield f"{model.name} is an n-gram model: every sentence starts anew"


def _notes_on_words(
    words: Sequence[WordUnderModel], *, model: TokenModel, unknown: Counter[str], is_spelled: bool
) -> Iterator[str]:
    name = model.name
    n_unknown = sum(word.known is False for word in words)
    if n_unknown:
        meaning = (
            "their surprisal is that of <unk> and of their spelling"
            if is_spelled
            else "their surprisal is that of <unk>, of no word, and does not compare; leave them "
            "out by the column known, or spell them (--open-vocabulary, of a run with a speller)"
        )
        yield (
            f"{name}: {n_unknown} of {len(words)} words ({share(n_unknown, len(words)):.1%}) are "
            f"unknown: {meaning}"
        )
        yield f"{name}: most frequent unknown: {shown_counts(unknown)}"
        if advice := options_advised(unknown, model.vocabulary):
            yield f"{name}: {advice}"
    n_without = sum(not word.tokens for word in words)
    if n_without:
        yield f"{name}: the text rules leave nothing of {n_without} words: NA"
    n_impossible = sum(word.surprisal is None for word in words) - n_without
    if n_impossible:
        yield f"{name}: {n_impossible} words have no probability at all: NA"
