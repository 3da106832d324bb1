"""Where morphs come from: sentencepiece's unigram model, Morfessor Baseline, or a file.

All three give the same two things, a segmentation of every word of the vocabulary and a cost of
every morph in one; whatever else a segmenter knows is not kept. Long words are cut where the
vocabulary cuts spellings.
"""

import contextlib
import importlib
import io
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.tokens import UNK
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines, split_words
from charlm.text.io.table_lines import csv_hint
from charlm.text.vocabulary.morphs import LONGEST_MORPH, LONGEST_SEGMENTATION, MorphModel
from charlm.text.vocabulary.vocabulary import Inventory

SOURCES = "sentencepiece:N, morfessor, or a file of `word TAB morphs`"
SEPARATOR = "+"  # between morphs, as Morfessor prints them
BETWEEN = re.compile(r"(?<=[^+])\+(?=[^+])")
TRAINING: dict[str, Any] = {  # options of sentencepiece
    "model_type": "unigram",
    "input_format": "tsv",  # a word, and how often it counts
    "hard_vocab_limit": False,  # few words have fewer pieces
    "character_coverage": 1.0,
    "normalization_rule_name": "identity",
    "add_dummy_prefix": False,
    "remove_extra_whitespaces": False,
    "byte_fallback": False,
    "max_sentence_length": 1 << 16,  # bytes; longer words are left out
    "bos_id": -1,
    "eos_id": -1,
    "unk_id": 0,
    "unk_piece": "\t",  # no word can hold it, and one may hold `<unk>`
    "num_threads": 1,  # another number adds in another order
    "minloglevel": 2,  # silent
}
MORFESSOR_SEED = 1  # it goes over the words in an order drawn anew each time

Segmenter = Callable[[Inventory], MorphModel]
Table = dict[str, tuple[str, ...]]


def segmenter_of(source: str) -> Segmenter:
    """The segmenter that `--morphs` names; it makes the morphs of a vocabulary.

    Raises:
        ConfigError: no such method or file, or a package that is missing.
    """
    if source == "morfessor":
        return partial(_by_morfessor, package=_morfessor())
    if pieces := re.fullmatch("sentencepiece:([0-9]{1,7})", source):
        return partial(_by_sentencepiece, n_pieces=int(pieces[1]))
    if source == "-" or (source and Path(source).exists()):
        return partial(_by_file, path=source)
    raise ConfigError(f"morphs: found {source!r}; expected {SOURCES}")


def with_morphs(inventory: Inventory, segmenter: Segmenter) -> Inventory:
    """`inventory` with the morphs of its words.

    Raises:
        ConfigError: too few pieces for the characters of the words.
        DataError: no word to segment, or a file that is not what was expected.
    """
    if inventory.n_words == UNK + 1:
        raise DataError("morphs: no word but <unk>; expected some to segment")
    return replace(inventory, morphs=segmenter(inventory))


def _by_sentencepiece(inventory: Inventory, *, n_pieces: int) -> MorphModel:
    """The pieces and scores of a unigram model (Kudo, 2018) of at most `n_pieces`."""
    n_characters = len(set().union(*_read_words(inventory)))
    if n_pieces <= n_characters:
        raise ConfigError(
            f"morphs: found sentencepiece:{n_pieces}; expected {n_characters + 1} or more, since "
            f"the words hold {n_characters} characters"
        )
    return _finished(inventory, table={}, costs=_sentencepiece_costs(inventory, n_pieces))


def _sentencepiece_costs(inventory: Inventory, n_pieces: int) -> dict[str, float]:
    import sentencepiece

    counts = inventory.counts[UNK + 1 :]
    lines = [f"{w}\t{max(1, n)}" for w, n in zip(_read_words(inventory), counts, strict=True)]
    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=written, vocab_size=n_pieces, **TRAINING
        )
    except RuntimeError as error:  # all characters are such that it keeps to itself, say
        reason = " ".join(str(error).split())
        raise DataError(
            f"morphs: sentencepiece cannot train on these words ({reason}); expected words of "
            "letters; take morfessor or a file"
        ) from None
    model = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    return {
        model.id_to_piece(number): -model.get_score(number)
        for number in range(model.get_piece_size())
        if number != model.unk_id()
    }


def _morfessor() -> ModuleType:
    try:
        return importlib.import_module("morfessor")
    except ModuleNotFoundError:
        raise ConfigError(
            "morphs: found morfessor, which is not installed; expected its Python package; "
            "pip install 'charlm[morphs]'"
        ) from None


def _by_morfessor(inventory: Inventory, *, package: ModuleType) -> MorphModel:
    """Morfessor Baseline 2.0 (Virpioja et al., 2013), trained on types.

    Differs from the paper: Kim et al. take Morfessor Cat-MAP, which also tells stems from affixes.
    Types, since counts of tokens would leave frequent words whole.
    """
    words = [word for word in _read_words(inventory) if len(word) <= LONGEST_MORPH]
    model = package.BaselineModel()
    before = random.getstate()
    random.seed(MORFESSOR_SEED)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it draws dots there
            model.load_data([(1, word) for word in words])
            model.train_batch()
    finally:
        random.setstate(before)
    table = {word: tuple(model.viterbi_segment(word)[0]) for word in words}
    return _finished(inventory, table=table, costs=_unigram(table.values()))


def _by_file(inventory: Inventory, *, path: str) -> MorphModel:
    """The segmentations of a file; for words that it lacks, by a unigram model of its morphs."""
    table: Table = {}
    for number, word, morphs in _file_lines(path, inventory):
        if word not in inventory.word_ids or inventory.word_ids[word] <= UNK:
            continue
        if table.setdefault(word, morphs) != morphs:
            raise DataError(
                f"{display_name(path)}:{number}: {word!r} stands here with other morphs than "
                "before; expected one segmentation a word"
            )
    if not table:
        raise DataError(
            f"{display_name(path)}: holds no word of the vocabulary; expected lines of "
            "`word TAB morphs`"
        )
    return _finished(inventory, table=table, costs=_unigram(table.values()))


def _file_lines(path: str, inventory: Inventory) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Line number, word and morphs of each line, in the vocabulary's case and Unicode form."""
    rules = inventory.normalisation.plain
    for number, line in read_lines(path):
        if not line.strip(" \t"):
            continue
        fields = [split_words(rules(each)) for each in line.split("\t")]
        if len(fields) != 2 or len(fields[0]) != 1 or not fields[1]:
            raise DataError(
                f"{display_name(path)}:{number}: found {line[:40]!r}; expected a word, TAB, and "
                f"its morphs with a blank or + between them{csv_hint(line)}"
            )
        (word,), pieces = fields
        separated = [piece for piece in pieces if piece != SEPARATOR]
        if SEPARATOR not in word:  # at an end of a morph it says what kind of one that is
            separated = [morph for piece in separated for morph in BETWEEN.split(piece)]
        morphs = separated if separated and "".join(pieces) != word else pieces
        if len(morphs) > LONGEST_SEGMENTATION:
            raise DataError(
                f"{display_name(path)}:{number}: found {len(morphs)} morphs; expected at most "
                f"{LONGEST_SEGMENTATION}"
            )
        yield number, word, tuple(morphs)


def _read_words(inventory: Inventory) -> list[str]:
    """The words as far as they are read, by id; `</s>` and `<unk>` have no morphs."""
    return [word[: inventory.max_word_length] for word in inventory.words[UNK + 1 :]]


def _unigram(segmentations: Iterable[tuple[str, ...]]) -> dict[str, float]:
    """-log of each morph's share of all morphs, each word counted once, like an unseen word."""
    counts = Counter(morph for morphs in segmentations for morph in morphs)
    total = counts.total()
    return {morph: -math.log(count / total) for morph, count in counts.items()}


def _finished(inventory: Inventory, *, table: Table, costs: dict[str, float]) -> MorphModel:
    """The morphs of the words, by falling count of tokens and then alphabetically."""
    known = MorphModel(tuple(costs), tuple(costs.values()), table)
    segmentations: Table = {}
    counts: Counter[str] = Counter()
    words, n_tokens = inventory.words[UNK + 1 :], inventory.counts[UNK + 1 :]
    for word, read, n in zip(words, _read_words(inventory), n_tokens, strict=True):
        segmentations[word] = table.get(word) or known.segment(read)
        for morph in segmentations[word]:
            counts[morph] += n
    morphs = sorted(counts.keys() & costs.keys(), key=lambda morph: (-counts[morph], morph))
    return MorphModel(tuple(morphs), tuple(costs[morph] for morph in morphs), segmentations)
