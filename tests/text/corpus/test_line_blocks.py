"""Blocks of lines give the same words, counts and ids as single lines.

The reference is `read_sentences`, which reads line by line and knows no blocks.
"""

import gzip
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.text.corpus import line_blocks
from charlm.text.corpus.line_blocks import TextBlock, read_blocks, read_range
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.sentences import read_sentences
from charlm.text.vocabulary.counts import count_file
from charlm.text.vocabulary.encoding import FormIds, TextEncoder, encode_sentences
from charlm.text.vocabulary.vocabulary import inventory_of

RULES = [
    Normalisation(),
    Normalisation(unicode="none"),
    Normalisation(unicode="NFKC", numbers=True),
    Normalisation(lower=True, tokenise="simple", numbers=True),
    Normalisation(unicode="NFD", lower=True),
    Normalisation(punctuation="drop", split_hyphens=True),
    Normalisation(lower=True, map=(("a b", "zz"), ("don't", "do n't"))),
]
PIECES = [
    *(
        "a",
        "B",
        "zz",
        "qq",
        "N",
        "1,000",
        "U.S.",
        "don't",
        "(",
        "<unk>",
        "<unk>:qq",
        "<unk>:",
        "<S",
    ),
    *(" ", " ", " ", " ", "\n", "\n", "\n", "  ", "\t", "\r\n", " \r\n", "\n\n"),
    *("e\u0301", "\u00e9", "\u212b", "J\u030c", "\u0130", "\u0345", "\ufdfa", "\u00a8", "\u00bd"),
    *(
        "\u00a0",
        "\u2028",
        "\u0085",
        "\x0b",
        "\x0c",
        "\x1c",
        "\u3000",
        "\u1100",
        "\u1161",
        "\U0001f600",
    ),
]
BY_PLACE = ["\r", "\ufeff", "\n<s> ", " </s>\n", "\n<S> ", " <s> ", "s>", "\0", "\udcff"]


def hostile_text(seed: int) -> bytes:
    """Every third text holds something that is treated by its place."""
    draw = random.Random(seed)
    pieces = draw.choices(PIECES, k=40)
    if seed % 3 == 0:
        pieces[draw.randrange(40)] = draw.choice(BY_PLACE)
    if seed % 12 == 0:
        pieces[0] = "\ufeff"
    return "".join(pieces).encode(errors="surrogateescape")


def sentences_or_error(path: Path, rules: Normalisation) -> list[list[str]] | str:
    try:
        return list(read_sentences(path, normalisation=rules))
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("n_bytes", [1, 20, 1 << 16])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_blocks_count_and_encode_hostile_text_as_its_lines_do(
    rules: Normalisation, n_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", n_bytes)
    path = tmp_path / "text.txt"
    known = [["a", "a", "zz", "B", "\u00e9", "(", "N", "<unk>"]]
    inventory = inventory_of(known, normalisation=rules)
    for seed in range(48):
        path.write_bytes(hostile_text(seed))
        expected = sentences_or_error(path, rules)
        try:
            counts = count_file(path, normalisation=rules)
            encoding = TextEncoder(inventory, oov_input="spelling")
            pieces = list(encoding.pieces(path))
        except DataError as error:
            assert str(error) == expected, seed
            continue
        assert not isinstance(expected, str), expected
        form_ids = FormIds(inventory)
        ids = [each for array in encode_sentences(expected, form_ids) for each in array.tolist()]
        assert dict(counts.tokens.items()) == Counter(sum(expected, [])), seed
        assert counts.n_sentences == len(expected) == sum(n for _, n in pieces)
        assert [each for array, _ in pieces for each in array.tolist()] == ids, seed
        assert encoding.spellings == form_ids.spellings


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a b\r\nc\t d", "a b\nc  d\n"),
        ("a\u00a0b\u2028c\u0085d\x0b\n".encode(), "a\u00a0b\u2028c\u0085d\x0b\n"),
        ("e\u0301\n\u0301\n".encode(), "\u00e9\n\u0301\n"),
        (b"<unk> <unk>:cat \n\n", "<unk> <unk>:cat \n\n"),
    ],
)
def test_ordinary_text_is_taken_at_once(raw: bytes, text: str) -> None:
    assert TextBlock(raw, "x").text(Normalisation()) == text


@pytest.mark.parametrize("mark", [*BY_PLACE, "</s>", "\ufeffa", "\r\r\n"])
def test_what_is_treated_by_its_place_goes_by_lines(mark: str) -> None:
    raw = f"a {mark} b\n".encode(errors="surrogateescape")
    assert TextBlock(raw, "x").text(Normalisation()) is None


def test_no_word_but_those_looked_for_becomes_a_sentence_mark() -> None:
    rules = Normalisation(unicode="NFKC", lower=True)
    makers = {c for c in map(chr, range(0x110000)) if "s" in c.lower() or ">" in c.lower()}
    assert {c for c in makers if rules.compose(c) == c} == {"s", "S", ">"}


def test_a_block_ends_with_a_line_and_knows_its_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 4)
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\nbb\ncccccc\nd\ne")
    found = [(block.raw, block.first) for block in read_blocks(path)]
    assert found == [(b"a\nbb\n", 1), (b"cccccc\n", 3), (b"d\ne", 4)]
    found = [(block.raw, block.first) for block in read_range(path, start=2, end=12, first=2)]
    assert found == [(b"bb\ncccccc\n", 2)]
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"a\nbb\ncc\n"))
    assert [block.raw for block in read_blocks(tmp_path / "text.gz")] == [b"a\nbb\n", b"cc\n"]


def test_an_unknown_word_is_unk_where_no_spelling_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("A zz\nqq\n")
    inventory = inventory_of([["a", "a"]], normalisation=Normalisation(lower=True))
    encoding = TextEncoder(inventory, oov_input="unk")
    ids = np.concatenate([ids for ids, _ in encoding.pieces(path)])
    assert (ids.tolist(), encoding.spellings) == ([2, 1, 0, 1, 0], [])
