"""Words, characters and morphs, and how a form is spelled in them.

Ids are assigned by falling count, then alphabetically, so two builds from one corpus agree.
Words have no padding id; a form outside the vocabulary still has a spelling, and morphs.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nsmallest
from operator import itemgetter
from pathlib import Path
from typing import Any

from charlm.errors import ConfigError, DataError
from charlm.interface.short_repr import ShortRepr
from charlm.settings import shown
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.signs import signs_of_raw_text
from charlm.text.corpus.tokens import END_WORD, START_WORD, UNK, UNK_WORD, is_literal_unk
from charlm.text.io.files import read_json, write_json
from charlm.text.vocabulary.counts import CountedText, count_letters, count_text
from charlm.text.vocabulary.morphs import END_MORPH, UNKNOWN_MORPH, MorphModel, strings_in
from charlm.text.vocabulary.vocab_options import LONGEST_SPELLING, MAX_WORD_LENGTH

VOCABULARY = "vocab.json"  # in a run directory
FORMAT = 1
FORMAT_WITH_MORPHS = 2  # a reader of format 1 alone would drop them, and find another hash
# Character ids; the letters of the corpus follow. `<unk>` and `</s>` are one character each.
PAD, WORD_START, WORD_END, UNK_LETTER, END_LETTER, UNKNOWN_LETTER = range(6)
N_MARKERS = 6
LEAST_SIZE = 3  # a vocabulary of </s>, <unk> and one word
NO_WORD = (
    "no word but <unk>: none occurs twice in train.txt; `charlm vocab --min-count 1 --out FILE` "
    "takes all, for `charlm train --vocab FILE`; text written without blanks has to be cut into "
    "words first"
)
LEAST_UNK = 0.001  # of a text whose rare words were replaced; 0.05 in the Penn Treebank
MOST_TOKENS = 10**15  # of a training text; sums of more are no exact float64s


@dataclass(frozen=True)
class Inventory(ShortRepr):
    """The closed lists of words, characters and morphs that a model is built over."""

    words: tuple[str, ...]  # </s>, <unk>, then by falling count
    counts: tuple[int, ...]  # occurrences in the training text, what became <unk> included
    characters: tuple[str, ...]  # ids from N_MARKERS on
    max_word_length: int = MAX_WORD_LENGTH  # characters of a spelling beyond it are not read
    normalisation: Normalisation = field(default_factory=Normalisation)
    morphs: MorphModel | None = None  # None: words are not segmented

    @property
    def n_words(self) -> int:
        return len(self.words)

    @property
    def n_characters(self) -> int:
        """Rows of a character table, padding and markers included."""
        return N_MARKERS + len(self.characters)

    @property
    def n_characters_as_published(self) -> int:
        """C as Kim et al. count: with padding, word start and end, and those of `<unk>`, `</s>`."""
        return self.n_characters - 1  # the papers have no unknown character

    @property
    def n_morphs(self) -> int | None:
        """M: distinct morphs of the words; None if they are not segmented."""
        return None if self.morphs is None else len(self.morphs.morphs)

    @property
    def n_cut_words(self) -> int:
        """Words whose spelling is not read to its end; `</s>` and `<unk>` have none."""
        return sum(len(word) > self.max_word_length for word in self.words[UNK + 1 :])

    @property
    def signs(self) -> list[str]:
        """Signs that the text should be prepared differently, in sentences."""
        if self.n_words == UNK + 1:
            return [NO_WORD]
        words, counts = self.words[UNK + 1 :], self.counts[UNK + 1 :]
        found = signs_of_raw_text(zip(words, counts, strict=True))
        n_unk, n_words = self.counts[UNK], sum(self.counts)
        if 0 < n_unk < LEAST_UNK * n_words and 1 in counts:
            found.append(
                f"<unk> is {n_unk} of {n_words} tokens of train.txt, and words that stand once are "
                "known: a model learns next to nothing of unknown ones; choose fewer words "
                "(`charlm vocab --min-count 2`), or where the text itself holds <unk>, take it out"
            )
        return found

    @cached_property
    def word_ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _letter_ids(self) -> dict[str, int]:
        return {letter: number for number, letter in enumerate(self.characters, N_MARKERS)}

    def spelling(self, form: str) -> list[int]:
        """Character ids of a form between the start- and end-of-word characters."""
        if form == UNK_WORD:
            letters = [UNK_LETTER]
        elif form == END_WORD:
            letters = [END_LETTER]
        else:
            known = self._letter_ids
            letters = [known.get(c, UNKNOWN_LETTER) for c in form[: self.max_word_length]]
        return [WORD_START, *letters, WORD_END]

    def segment(self, form: str) -> tuple[str, ...]:
        """The morphs of a form, in their order; none if words are not segmented."""
        if self.morphs is None:
            return ()
        if form in (UNK_WORD, END_WORD):
            return (form,)
        return self.morphs.segment(self._read_part(form))

    def _read_part(self, form: str) -> str:
        """What is segmented of a form: a known word has a segmentation of its own."""
        return form if form in self.word_ids else form[: self.max_word_length]

    def morph_ids(self, form: str) -> list[int]:
        """Ids of the set of morphs of a form; empty if words are not segmented."""
        if self.morphs is None:
            return []
        if form == UNK_WORD:
            return [UNKNOWN_MORPH]
        if form == END_WORD:
            return [END_MORPH]
        return self.morphs.ids(self._read_part(form))

    @cached_property
    def sha256(self) -> str:
        """A hash of everything that decides what ids and spellings mean."""
        value: list[object] = [self.words, self.characters, self.max_word_length]
        value.append(self.normalisation.to_dict())
        if self.morphs is not None:
            value.append(self.morphs.to_dict())
        return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()

    @cached_property
    def counts_sha256(self) -> str:
        """A hash of the counts: no id depends on them, but criteria and outputs do."""
        return hashlib.sha256(json.dumps(self.counts).encode()).hexdigest()

    def save(self, path: str | Path, *, through_links: bool = False) -> None:
        """Write vocab.json, as `atomic_write`."""
        value: dict[str, object] = {
            "format": FORMAT if self.morphs is None else FORMAT_WITH_MORPHS,
            "max_word_length": self.max_word_length,
            "normalisation": self.normalisation.to_dict(),
            "characters": list(self.characters),
            "words": list(self.words),
            "counts": list(self.counts),
        }
        if self.morphs is not None:
            value["morphs"] = self.morphs.to_dict()
        write_json(path, value, through_links=through_links)


def vocabulary_at(path: str | Path) -> Inventory:
    """The inventory of a vocabulary file, or of a run directory.

    Raises:
        DataError: as `load_inventory`; a folder without a vocabulary; standard input.
    """
    if str(path) == "-":  # which some commands would read twice
        raise DataError("standard input: expected the name of what `charlm vocab` writes")
    if not Path(path).is_dir():
        return load_inventory(path)
    if not (Path(path) / VOCABULARY).is_file():
        raise DataError(f"{path}: no {VOCABULARY} in it; expected a vocabulary's file, or a run")
    return load_inventory(Path(path) / VOCABULARY)


def load_inventory(path: str | Path) -> Inventory:
    """The inventory in a vocab.json, which may come from a stranger.

    Raises:
        DataError: no such file, a newer format, or a file that `Inventory.save` did not write.
    """
    try:
        value = read_json(path)
    except (FileNotFoundError, IsADirectoryError) as error:
        found = "is a folder" if isinstance(error, IsADirectoryError) else "no such file"
        raise DataError(f"{path}: {found}; expected what `charlm vocab` writes") from None
    except DataError as error:
        raise DataError(f"{error}, as `charlm vocab` writes it (--words: of a list)") from None
    is_ours = isinstance(value, dict) and type(value.get("format")) is int
    if not is_ours or not value.keys() & {"words", "characters"}:  # a run.json has a format, too
        raise DataError(f"{path}: not a vocabulary; expected what `charlm vocab` writes")
    if value["format"] not in (FORMAT, FORMAT_WITH_MORPHS):
        raise DataError(
            f"{path}: format {value['format']!r:.60}; this charlm reads formats {FORMAT} and "
            f"{FORMAT_WITH_MORPHS}; use the charlm that wrote it, or a newer one"
        )
    words = strings_in(value, "words", path=path)
    characters = strings_in(value, "characters", path=path)
    counts, length = _counts(value.get("counts"), words, path), value.get("max_word_length")
    _check_words(words, path)
    if several := [c for c in characters if len(c) != 1]:
        raise DataError(
            f"{path}: characters: found {shown(several[0])}; expected one code point each"
        )
    if type(length) is not int or not 1 <= length <= LONGEST_SPELLING:
        raise DataError(f"{path}: max_word_length {length!r:.60}; expected 1 to {LONGEST_SPELLING}")
    normalisation = Normalisation.from_dict(value.get("normalisation"), str(path))
    morphs = None
    if value["format"] == FORMAT_WITH_MORPHS:
        morphs = MorphModel.from_dict(value.get("morphs"), str(path))
    return Inventory(words, counts, characters, length, normalisation, morphs)


def _check_words(words: Sequence[str], path: str | Path) -> None:
    if words[:2] != (END_WORD, UNK_WORD):
        raise DataError(
            f"{path}: words begin with {' '.join(words[:2])[:60]!r}; expected {END_WORD} {UNK_WORD}"
        )
    joined = "\n".join(words)
    if " " in joined or "\t" in joined or joined.count("\n") >= len(words) or START_WORD in words:
        wrong = next(word for word in words if word == START_WORD or set(word) & set(" \t\n"))
        raise DataError(
            f"{path}: words: found {shown(wrong)}; expected such as stand in a text, without "
            f"blanks, none of them {START_WORD}"
        )


def _counts(value: Any, words: Sequence[str], path: str | Path) -> tuple[int, ...]:
    listed = value if isinstance(value, list) else [value]
    strange = [c for c in listed if type(c) is not int or c < 0]
    if listed is not value or strange:
        found = shown((strange or listed)[0])
        raise DataError(f"{path}: counts: found {found}; expected a list of whole numbers")
    if sum(value) > MOST_TOKENS:
        raise DataError(
            f"{path}: counts: found {shown(sum(value))} tokens; expected {MOST_TOKENS:.0e} or fewer"
        )
    if len(value) != len(words):
        raise DataError(f"{path}: {len(value)} counts for {len(words)} words; expected as many")
    return tuple(value)


def inventory_of(
    text: Iterable[list[str]] | CountedText,
    *,
    size: int = 0,
    min_count: int = 0,
    min_char_count: int = 2,
    max_word_length: int = MAX_WORD_LENGTH,
    normalisation: Normalisation | None = None,
) -> Inventory:
    """The words and characters of a training text: its sentences, or their counts.

    If it holds a literal `<unk>`, all its types are words; else types seen once become `<unk>`
    (Kim et al., 2016, section 3). `size` (V, `</s>` and `<unk>` included) and `min_count`
    override. Characters seen fewer than `min_char_count` times are read as *unknown character*.

    Raises:
        ConfigError: a number that makes no vocabulary.
        DataError: no word at all.
    """
    if size and size < LEAST_SIZE:
        raise ConfigError(
            f"size: found {size}; expected {LEAST_SIZE} or more ({END_WORD} and {UNK_WORD} count), "
            "or 0 for no limit"
        )
    text = text if isinstance(text, CountedText) else count_text(text)
    if not text.n_words:
        raise DataError(
            f"{text.source}: no word in it; expected text, one sentence a line, words between "
            "blanks"
        )
    least = min_count or (1 if size or any(map(is_literal_unk, text)) else 2)
    frequent = (item for item in _words(text) if item[1] >= least)
    kept = _ranked(frequent, most=size - 2 if size else None)
    most = 0 if kept else max((count for _, count in _words(text)), default=0)
    if min_count > most > 0:
        raise ConfigError(
            f"min_count: found {min_count}; expected {most} or less, since no word of the text "
            "occurs more often"
        )
    counts = [count for _, count in kept]
    letters = _ranked(count_letters(_words(text)).items())
    return Inventory(
        words=(END_WORD, UNK_WORD, *(word for word, _ in kept)),
        counts=(text.n_sentences, text.n_words - sum(counts), *counts),
        characters=tuple(letter for letter, count in letters if count >= min_char_count),
        max_word_length=max_word_length,
        normalisation=normalisation or Normalisation(),
    )


def extended(known: Inventory, text: CountedText) -> Inventory:
    """`known`, with the words and characters added that a vocabulary of the text alone would have.

    Counts are those of the text. Morphs, text rules and the longest spelling stay, so that a known
    word is read as before.

    Raises:
        DataError: a text without a word.
    """
    own = inventory_of(text, normalisation=known.normalisation)
    characters = tuple(dict.fromkeys(known.characters + own.characters))
    words = {*known.words[UNK + 1 :], *own.words[UNK + 1 :]}
    return with_words(replace(known, characters=characters), words, text=text)


def with_words(known: Inventory, words: Iterable[str], *, text: CountedText) -> Inventory:
    """`known` with these words instead, and their counts in the text, perhaps 0.

    Marks among them, as text rules make them of words, are left out.
    """
    marks = (START_WORD, END_WORD)
    counts = {word: 0 for word in words if word not in marks and not is_literal_unk(word)}
    for token, count in text.tokens.items():
        if token in counts:
            counts[token] = count
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return replace(
        known,
        words=(*known.words[: UNK + 1], *ranked),
        counts=(
            text.n_sentences,
            text.n_words - sum(counts.values()),
            *(counts[word] for word in ranked),
        ),
    )


def _words(text: CountedText) -> Iterator[tuple[str, int]]:
    return (item for item in text.tokens.items() if not is_literal_unk(item[0]))


def _ranked(counts: Iterable[tuple[str, int]], *, most: int | None = None) -> list[tuple[str, int]]:
    """By falling count, then alphabetically; `most` also bounds what is held in memory."""
    if most is not None:
        return nsmallest(most, counts, key=lambda item: (-item[1], item[0]))
    ranked = sorted(counts)
    ranked.sort(key=itemgetter(1), reverse=True)  # stable: the alphabet stays among equals
    return ranked
