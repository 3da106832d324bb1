"""The words of an n-gram model, numbered as by lmplz, and texts read in them.

`<s>` is a word here, since ARPA files list it and n-grams begin with it; it is never predicted.
"""

from array import array
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.labels import BRACED, is_word
from charlm.text.corpus.normalisation.normalisation import NO_RULES, Normalisation, with_further
from charlm.text.corpus.tokens import END_WORD, START_WORD, UNK_WORD, is_spelled_unk
from charlm.text.io.files import open_bytes
from charlm.text.io.lines import CORPUS, LineRules
from charlm.text.vocabulary.vocabulary import Inventory, vocabulary_at
from charlm.text.vocabulary.word_lists import read_word_list

LOOKED_AT = 64  # bytes of a first line, which tell a list from a vocabulary
UNK, START, END = 0, 1, 2
MARKS = (UNK_WORD, START_WORD, END_WORD)

Ids = npt.NDArray[np.int32]


class WordIds(dict[str, int]):
    """Ids of tokens; `<unk>:form` is `<unk>`, and so is any word outside a closed vocabulary."""

    def __init__(
        self, words: Iterable[str] = MARKS, *, closed: bool = False, if_met: Collection[str] = ()
    ) -> None:
        """`if_met`: words that a closed vocabulary has only if the text does."""
        super().__init__((word, number) for number, word in enumerate(words))
        self.words = list(self)
        self.closed = closed
        self.if_met = if_met

    def __missing__(self, token: str) -> int:
        if is_spelled_unk(token) or (self.closed and token not in self.if_met):
            return UNK  # and is not kept: a server meets new ones without end
        self[token] = number = len(self.words)
        self.words.append(token)
        return number


def vocabulary_or_list_at(path: str | Path) -> Inventory:
    """The vocabulary at `path`, or one made of a list of words, as SRILM's -vocab.

    With a list, texts are read without normalisation.

    Raises:
        DataError: as `vocabulary_at` and `read_word_list`.
    """
    if str(path) != "-" and not Path(path).is_fifo():  # read but once, and as a list
        if not Path(path).is_file():
            return vocabulary_at(path)
        with open_bytes(path) as file:
            head = file.readline(LOOKED_AT).decode(errors="replace").rstrip()
        if head.startswith("{") and not BRACED.match(head):  # our JSON
            return vocabulary_at(path)
    return listed_inventory(read_word_list(path))


def listed_inventory(words: Iterable[str]) -> Inventory:
    """A vocabulary of words, beside `</s>` and `<unk>`, for texts that stay as they are."""
    all_words = (END_WORD, UNK_WORD, *words)
    return Inventory(all_words, (0,) * len(all_words), (), normalisation=NO_RULES)


def noise_of(inventory: Inventory | None) -> frozenset[str]:
    """The labels of noise in a list of words; a model has them only if its text does.

    A vocabulary made from a text has none: it knows what its text has.
    """
    if inventory is None or any(inventory.counts):
        return frozenset()
    return frozenset(word for word in inventory.words[2:] if not is_word(word))


def words_of(inventory: Inventory) -> tuple[str, ...]:
    """The words of a neural model's vocabulary in the order of an n-gram model's."""
    return (*MARKS, *inventory.words[2:])


def mapped(words: list[str], vocabulary: Inventory | None) -> list[str]:
    """The words, with `<unk>` for `<unk>:form` and for words outside the vocabulary, if any."""
    if vocabulary is None:
        return [UNK_WORD if is_spelled_unk(word) else word for word in words]
    return [word if word in vocabulary.word_ids else UNK_WORD for word in words]


def text_in(
    path: str | Path,
    vocabulary: Inventory | None = None,
    *,
    rules: LineRules = CORPUS,
    further: Normalisation = NO_RULES,
) -> ReadText:
    """A text, normalised as for the vocabulary, if there is one, and by `further` rules."""
    own = None if vocabulary is None else vocabulary.normalisation
    return ReadText(path, normalisation=with_further(own, further), rules=rules)


def encode(sentences: Iterable[list[str]], word_ids: WordIds, *, marked: bool = True) -> Ids:
    """All sentences in one array, each between `<s>` and `</s>`; new words are added to the ids.

    If they are not `marked` there is no `</s>`, and `<s>` only separates them.
    """
    ids = array("i")
    lookup = word_ids.__getitem__
    for words in sentences:
        ids.append(START)
        ids.extend(map(lookup, words))
        if marked:
            ids.append(END)
    return np.frombuffer(ids, dtype=np.int32) if ids else np.empty(0, np.int32)
