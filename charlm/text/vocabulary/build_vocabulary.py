"""The vocabulary of a corpus directory, and what it leaves out of each split.

An OOV is a word of the text that the vocabulary lacks. A literal `<unk>` is not an OOV but a word
like any other; both are `<unk>` at the output, so they are counted separately.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from operator import mul
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords, require_one_stdin
from charlm.interface.short_repr import ShortRepr
from charlm.text.corpus.normalisation.labels import is_word
from charlm.text.corpus.sentences import corpus_normalisation, split_path
from charlm.text.corpus.split import SPLITS
from charlm.text.corpus.tokens import UNK, UNK_WORD, form_of, is_literal_unk, share
from charlm.text.io.lines import split_words
from charlm.text.io.paths import require_place, stream_of
from charlm.text.vocabulary.counts import CountedText, count_file
from charlm.text.vocabulary.segmenters import segmenter_of, with_morphs
from charlm.text.vocabulary.vocab_options import VocabOptions
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of, load_inventory, with_words
from charlm.text.vocabulary.word_lists import read_word_list

N_LONGEST = 5


@dataclass(frozen=True)
class Coverage(JsonResult):
    """How much of one text a vocabulary knows."""

    n_sentences: int
    n_words: int  # `</s>` is none
    n_types: int  # `<unk>` is one
    n_literal_unk: int  # written so in the text, `<unk>:form` included
    n_oov: int
    n_oov_types: int
    n_unknown_characters: int  # characters of words that are read as the unknown character
    n_unknown_character_types: int
    derived = ("oov_share", "oov_type_share", "unk_share")

    @property
    def unk_share(self) -> float:
        """Share of words that are `<unk>` at the output, for either reason."""
        return share(self.n_literal_unk + self.n_oov, self.n_words)

    @property
    def oov_share(self) -> float:
        """Share of words that are out of vocabulary."""
        return share(self.n_oov, self.n_words)

    @property
    def oov_type_share(self) -> float:
        """Share of types that are out of vocabulary."""
        return share(self.n_oov_types, self.n_types)


@dataclass(frozen=True)
class VocabularyResult(ShortRepr):
    """A vocabulary, and how much it knows of each split that exists."""

    inventory: Inventory
    splits: dict[str, Coverage]  # train first
    left_out: tuple[str, ...] = ()  # labels of a list that are no words, and not in train.txt

    @property
    def n_words(self) -> int:
        """V: `</s>` and `<unk>` are two of them."""
        return self.inventory.n_words

    @property
    def n_characters(self) -> int:
        """C without markers: characters of the text."""
        return len(self.inventory.characters)

    @property
    def n_characters_as_published(self) -> int:
        """C as Kim et al. count."""
        return self.inventory.n_characters_as_published

    @property
    def n_morphs(self) -> int | None:
        """M; None if words are not segmented."""
        return self.inventory.n_morphs

    @property
    def morphs_per_word(self) -> float | None:
        """Mean over the tokens of train.txt whose word is in the vocabulary."""
        morphs, words = self.inventory.morphs, self.inventory.words[UNK + 1 :]
        if morphs is None:
            return None
        counts = self.inventory.counts[UNK + 1 :]
        lengths = [len(morphs.segment(word)) for word in words]
        return share(sum(map(mul, counts, lengths)), sum(counts))

    @property
    def n_in_letters(self) -> int | None:
        """Words cut into single letters, as are those that a file of morphs lacks."""
        morphs, words = self.inventory.morphs, self.inventory.words[UNK + 1 :]
        if morphs is None:
            return None
        return sum(1 < len(word) == len(morphs.segment(word)) for word in words)

    @property
    def n_unseen(self) -> int:
        """Words that train.txt does not have; they come from a list of words."""
        return self.inventory.counts[UNK + 1 :].count(0)

    @property
    def n_tokens(self) -> int:
        """T: words of train.txt and the end of each of its sentences."""
        return self.splits["train"].n_words + self.splits["train"].n_sentences

    @property
    def longest_words(self) -> tuple[str, ...]:
        """The longest words; of equally long ones the more frequent first."""
        return tuple(sorted(self.inventory.words[2:], key=len, reverse=True)[:N_LONGEST])

    @property
    def morphs_of_longest(self) -> tuple[tuple[str, ...], ...] | None:
        """The morphs of each of the longest words; None if words are not segmented."""
        if self.inventory.morphs is None:
            return None
        return tuple(map(self.inventory.segment, self.longest_words))

    def to_dict(self) -> dict[str, object]:
        return {
            "n_words": self.n_words,
            "n_unseen": self.n_unseen,
            "left_out": list(self.left_out),
            "n_characters": self.n_characters,
            "n_characters_as_published": self.n_characters_as_published,
            "n_characters_with_all_markers": self.inventory.n_characters,
            "n_morphs": self.n_morphs,
            "morphs_per_word": self.morphs_per_word,
            "n_in_letters": self.n_in_letters,
            "n_tokens": self.n_tokens,
            "splits": {split: counts.to_dict() for split, counts in self.splits.items()},
            "longest_words": list(self.longest_words),
            "morphs_of_longest": self.morphs_of_longest and [*map(list, self.morphs_of_longest)],
            "max_word_length": self.inventory.max_word_length,
            "n_cut_words": self.inventory.n_cut_words,
            "normalisation": self.inventory.normalisation.to_dict(),
            "sha256": self.inventory.sha256,
            "counts_sha256": self.inventory.counts_sha256,
        }


@keywords(VocabOptions)
def vocab(options: VocabOptions) -> VocabularyResult:
    """The vocabulary of a corpus directory, written to a file if one is given.

    If train.txt holds a literal `<unk>`, all its types are words; else types seen once become
    `<unk>`. Rare characters are read as one unknown character. The number of processes changes
    nothing in the result.

    >>> found = charlm.vocab(data="corpus", out="vocab.json")
    >>> found.n_words, found.splits["test"].n_oov
    (16, 1)

    Raises:
        ConfigError: a size that leaves no vocabulary, or a segmenter that does not exist.
        DataError: no corpus, or a text or a list of words that is not what was expected.
    """
    data, out, threads = options.data, options.out, options.threads
    require_one_stdin([options.words, options.morphs])
    segmenter = segmenter_of(options.morphs) if options.morphs is not None else None
    listed = _listed_words(options)
    if out is not None:
        _require_vocabulary_or_new(Path(out))
    normalisation = corpus_normalisation(data)
    path = split_path(data, "train")
    train = count_file(path, normalisation=normalisation, threads=threads)
    inventory = inventory_of(
        train,
        size=options.size,
        min_count=options.min_count,
        min_char_count=options.min_char_count,
        max_word_length=options.max_word_length,
        normalisation=normalisation,
    )
    left_out: tuple[str, ...] = ()
    if listed is not None:
        read = {each: split_words(normalisation(each)) for each in listed}
        left_out = _unread_labels(read, train)
        words = chain.from_iterable(read[each] for each in read.keys() - set(left_out))
        inventory = with_words(inventory, words, text=train)
        if not any(inventory.counts[UNK + 1 :]):
            raise DataError(
                f"{options.words}: none of its words stands in {path}; expected words as the text "
                "has them, in its case and spelling"
            )
    if segmenter is not None:
        inventory = with_morphs(inventory, segmenter)
    splits = {"train": _coverage(train, inventory)}
    for split in SPLITS[1:]:
        path = Path(data) / f"{split}.txt"
        if path.exists():
            text = count_file(path, normalisation=normalisation, threads=threads)
            splits[split] = _coverage(text, inventory)
    if out is not None:
        inventory.save(out, through_links=True)
    return VocabularyResult(inventory, splits, left_out)


def _listed_words(options: VocabOptions) -> tuple[str, ...] | None:
    if options.words is None:
        return None
    for option, value in (("--size", options.size), ("--min-count", options.min_count)):
        if value:
            raise ConfigError(
                f"{option} {value}: chooses words, which --words {options.words} lists; leave "
                "one out"
            )
    return read_word_list(options.words)


def _unread_labels(read: Mapping[str, list[str]], train: CountedText) -> tuple[str, ...]:
    """Labels that are not words, unless the text has what is read for them.

    If they were words, they and what follows them would cost as much in a lattice as words that
    were never seen.
    """
    labels = {label: words for label, words in read.items() if not is_word(label)}
    met = set(chain.from_iterable(labels.values())).intersection(train)
    return tuple(label for label, words in labels.items() if met.isdisjoint(words))


def _require_vocabulary_or_new(path: Path) -> None:
    """Refuse, before a long text is counted, an output that could not be written."""
    require_place(path, option="--out")
    if not path.exists() or stream_of(path) is not None:
        return
    try:
        load_inventory(path)
    except (DataError, OSError):
        raise DataError(
            f"{path}: holds something else than a vocabulary; name another --out"
        ) from None


def _coverage(text: CountedText, inventory: Inventory) -> Coverage:
    known, letters = inventory.word_ids, frozenset(inventory.characters)
    n_types = n_literal = n_oov = n_oov_types = 0
    unknown: Counter[str] = Counter()
    for token, count in text.tokens.items():
        if is_literal_unk(token):
            n_literal += count
        else:
            n_types += 1
            if token not in known:
                n_oov += count
                n_oov_types += 1
        if token != UNK_WORD and not letters.issuperset(token):  # it has a character of its own
            for letter in form_of(token)[: inventory.max_word_length]:
                if letter not in letters:
                    unknown[letter] += count
    return Coverage(
        n_sentences=text.n_sentences,
        n_words=text.n_words,
        n_types=n_types + bool(n_literal),
        n_literal_unk=n_literal,
        n_oov=n_oov,
        n_oov_types=n_oov_types,
        n_unknown_characters=unknown.total(),
        n_unknown_character_types=len(unknown),
    )
