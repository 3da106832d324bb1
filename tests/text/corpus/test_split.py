"""Splitting a text by shares of its bytes, against a walk over it line by line."""

import hashlib
import io
import random

import pytest

from charlm.errors import ConfigError
from charlm.text.corpus import split
from charlm.text.corpus.split import (
    ByteRange,
    SplitCounts,
    copy_block,
    cut,
    parse_shares,
    shares_of_train,
    whole,
)


def blocks_of(content: bytes, *shares: float) -> list[bytes]:
    file = io.BytesIO(content)
    return [content[block.start : block.end] for block in cut(whole(file), shares)]


def cut_line_by_line(content: bytes, *shares: float) -> list[bytes]:
    """The definition: line after line until the share is reached, one at least, some left."""
    lines = io.BytesIO(content).readlines()
    blocks = []
    done = 0
    for n in range(len(shares) - 1):
        wanted = round(len(content) * sum(shares[: n + 1]) / sum(shares))
        n_blocks_after = len(shares) - 1 - n
        block = []
        while len(lines) > n_blocks_after and (not block or done < wanted):
            block.append(lines.pop(0))
            done += len(block[-1])
        blocks.append(b"".join(block))
    return [*blocks, b"".join(lines)]


def test_ten_equal_lines_cut_80_10_10_are_8_and_1_and_1() -> None:
    lines = [b"line %d\n" % n for n in range(10)]
    expected = [b"".join(lines[:8]), lines[8], lines[9]]
    assert blocks_of(b"".join(lines), 80, 10, 10) == expected


def test_a_block_ends_with_the_line_that_reaches_its_share() -> None:
    assert blocks_of(b"aaaa\nb\nc\nd\n", 1, 1) == [b"aaaa\nb\n", b"c\nd\n"]


def test_every_block_holds_a_line_where_there_are_enough() -> None:
    assert blocks_of(b"a\n" + b"b" * 99 + b"\nc\n", 98, 1, 1) == [b"a\n", b"b" * 99 + b"\n", b"c\n"]
    assert blocks_of(b"a\nb\nc\n", 1, 1, 98) == [b"a\n", b"b\n", b"c\n"]
    assert b"" in blocks_of(b"a\nb\n", 1, 1, 1)


@pytest.mark.parametrize("seed", range(40))
def test_blocks_are_those_that_going_line_by_line_gives(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(split, "BLOCK_BYTES", 3)
    draw = random.Random(seed)
    n_lines = draw.choice([3, 4, 5, 60])
    content = b"".join(b"\r" * draw.randint(1, 30) + b"\n" for _ in range(n_lines))
    shares = [draw.uniform(0.1, 5) for _ in range(draw.randint(1, 3))]
    assert blocks_of(content, *shares) == cut_line_by_line(content, *shares)


@pytest.mark.parametrize("block_bytes", [1, 3, 1 << 20])
def test_a_copied_block_is_counted_as_python_counts_it(
    monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(split, "BLOCK_BYTES", block_bytes)
    before, text = b"no\n", "ein Öl für 中文 👩🏽\n\u00a0é\nein\u2028a b\n"
    target = io.BytesIO()
    file = io.BytesIO(before + text.encode() + b"not this\n")
    block = ByteRange(file, len(before), len(before + text.encode()))
    counts = copy_block(block, target)
    assert target.getvalue() == text.encode()
    assert counts == SplitCounts(
        lines=3,
        words=8,
        characters=len(text) - 3,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


@pytest.mark.parametrize("seed", range(20))
def test_shares_of_train_are_those_that_looking_up_each_line_gives(seed: int) -> None:
    draw = random.Random(seed)
    content = b"".join(b"a " * draw.randint(0, 4) + b"a\n" for _ in range(draw.choice([9, 20])))
    train, *others = cut(whole(io.BytesIO(content)), (1, 1, 1))
    of_train = list(train.lines())
    assert b"\n".join(of_train) + b"\n" == content[train.start : train.end]
    expected = {}
    for name, block in zip(("valid", "test"), others, strict=True):
        rows = [line.split() for line in content[block.start : block.end].splitlines()]
        known = [row for row in rows if b" ".join(row) in of_train]
        expected[name] = sum(map(len, known)) / sum(map(len, rows))
    found = shares_of_train({"train": train, "valid": others[0], "test": others[1]})
    assert found == pytest.approx(expected, rel=1e-12)


def test_shares_may_have_any_unit() -> None:
    assert parse_shares("90,5,5") == {"train": 90, "valid": 5, "test": 5}
    assert parse_shares((90, 5, 5)) == parse_shares("90,5,5")
    assert parse_shares(".8, .1, .1") == {"train": 0.8, "valid": 0.1, "test": 0.1}


def test_only_a_split_with_a_file_of_its_own_may_have_no_share() -> None:
    assert parse_shares("95,0,5", given=["valid"]) == {"train": 95, "valid": 0, "test": 5}
    for text in ("95,5,0", "95,-1,5", "0,5,5"):
        with pytest.raises(ConfigError, match="three positive shares"):
            parse_shares(text, given=["valid"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "90",
        "90,10",
        "90,5,5,0",
        "a,b,c",
        "90,10,0",
        "-1,1,1",
        "nan,1,1",
        "1,nan,1",
        "inf,1,1",
        "9e307,9e307,1",
    ],
)
def test_shares_are_three_positive_numbers(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_shares(text)
    assert str(caught.value) == (
        f"split: found {text!r}; expected three positive shares of train, valid and test, such as "
        "90,5,5; or give --valid and --test"
    )
