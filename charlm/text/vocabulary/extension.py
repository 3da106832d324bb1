"""A vocabulary that grows: the words and characters of a model, and those of another text."""

from dataclasses import replace

from charlm.text.corpus.tokens import UNK, is_literal_unk
from charlm.text.vocabulary.counts import TextCounts
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of


def extended(known: Inventory, text: TextCounts) -> Inventory:
    """`known` with the words and characters that a vocabulary of the text alone would have, too.

    Counts are those of the text, 0 for a word that is not in it. Morphs, text rules and the longest
    spelling stay, so that a word is read as it was.

    Raises:
        DataError: a text without a word.
    """
    own = inventory_of(text, normalisation=known.normalisation)
    words = {*known.words[UNK + 1 :], *own.words[UNK + 1 :]}
    counts = dict.fromkeys(words, 0)
    for token, count in text.tokens.items():
        if token in counts and not is_literal_unk(token):
            counts[token] = count
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    new = (letter for letter in own.characters if letter not in set(known.characters))
    return replace(
        known,
        words=(*known.words[: UNK + 1], *ranked),
        counts=(
            text.n_sentences,
            text.n_words - sum(counts.values()),
            *(counts[word] for word in ranked),
        ),
        characters=(*known.characters, *new),
    )
