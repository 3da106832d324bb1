"""Raw items and a model of prepared text: the options read what was otherwise prepared by hand."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError

RAW = ["A B, c.", "(D) e-f 3.5 g't!", "\u2026 H"]
PREPARED: list[tuple[dict[str, object], list[str], list[str]]] = [  # and tokens of each word
    ({"lower": True}, ["a b, c.", "(d) e-f 3.5 g't!", "\u2026 h"], ["111", "1111", "11"]),
    (
        {"lower": True, "tokenise": "simple", "numbers": True},
        ["a b , c .", "( d ) e-f N g't !", "\u2026 h"],
        ["122", "3112", "11"],
    ),
    (
        {"punctuation": "drop", "split_hyphens": True, "map": {"*'t": "* 't"}},
        ["A B c", "D e f 3.5 g 't", "H"],
        ["111", "1212", "01"],
    ),
]


@pytest.mark.parametrize("context", ["none", "document"])
@pytest.mark.parametrize(("options", "prepared", "n_tokens"), PREPARED)
def test_raw_text_read_by_options_has_the_bits_of_text_prepared_by_hand(
    run: Path,
    arpa_of: Callable[[Path], Path],
    tmp_path: Path,
    options: dict[str, object],
    prepared: list[str],
    n_tokens: list[str],
    context: str,
) -> None:
    raw, by_hand = tmp_path / "raw.txt", tmp_path / "by-hand.txt"
    raw.write_text("\n".join(RAW) + "\n", encoding="utf-8")
    by_hand.write_text("\n".join(prepared) + "\n", encoding="utf-8")
    models: dict[str, object] = {"model": run, "lm": arpa_of(run), "device": "cpu"}
    found = charlm.surprisal(raw, context=context, **models, **options)  # type: ignore[arg-type]
    expected = charlm.surprisal(by_hand, context=context, **models)  # type: ignore[arg-type]
    assert [row[2] for row in found.rows()] == " ".join(RAW).split()
    for item, told, numbers in zip(found.items, expected.items, n_tokens, strict=True):
        for mine, theirs in zip(item.by_model, told.by_model, strict=True):
            bits = iter(word.surprisal or math.nan for word in theirs.words)
            for word, n in zip(mine.words, map(int, numbers), strict=True):
                sums = math.fsum(next(bits) for _ in range(n)) if n else None
                assert (len(word.tokens), word.surprisal) == (n, sums)
            assert mine.end == theirs.end


def test_the_options_come_on_top_of_the_runs_own_rules_which_raw_turns_off(
    cutting_run: Path, tmp_path: Path
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("A-B.\n")
    for is_raw, tokens in ((False, ("a", "b", ".")), (True, ("A", "B."))):
        found = charlm.surprisal(
            text, model=cutting_run, device="cpu", raw=is_raw, split_hyphens=True
        )
        assert found.items[0].by_model[0].words[0].tokens == tokens


def test_unknown_words_are_told_with_the_options_that_make_them_known(
    arpa: Path, tmp_path: Path
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("Good bad, zz\n")
    notes = charlm.surprisal(text, lm=arpa).notes
    assert notes[-1] == (
        "uni: 67% of the unknown words would be known by --lower --punctuation drop: "
        "Good > good, bad, > bad"
    )
    read = charlm.surprisal(text, lm=arpa, lower=True, punctuation="drop")
    assert read.notes[-1] == "uni: most frequent unknown: zz (1)"


def test_pairs_are_judged_as_they_would_be_if_prepared_by_hand(arpa: Path, tmp_path: Path) -> None:
    raw, by_hand = tmp_path / "raw.csv", tmp_path / "by-hand.csv"
    raw.write_text("sentence_good,sentence_bad\nGood!,Bad.\nToo good!,Too bad!\n")
    by_hand.write_text("sentence_good,sentence_bad\ngood,bad\ntoo good,too bad\n")
    (told,) = charlm.minimal_pairs(raw, lm=arpa).notes[:1]
    assert told.startswith("uni: 100% of the unknown words would be known by --lower --punctuatio")
    read = charlm.minimal_pairs(raw, lm=arpa, lower=True, punctuation="drop")
    assert [each.n_right for each in read.sets[0]] == [2]
    expected = charlm.minimal_pairs(by_hand, lm=arpa)
    assert read.total(0).counts() == expected.total(0).counts()
    assert read.notes == expected.notes == ()


def test_a_sentence_of_which_the_rules_leave_nothing_is_no_sentence(
    arpa: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "a.csv"
    pairs.write_text("sentence_good,sentence_bad\ngood,...\n")
    with pytest.raises(DataError, match="a.csv:2: nothing in column 'sentence_bad'; expected a se"):
        charlm.minimal_pairs(pairs, lm=arpa, punctuation="drop")
