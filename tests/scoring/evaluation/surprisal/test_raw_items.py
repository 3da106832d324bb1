"""Raw items and a model of prepared text: the options read what was otherwise prepared by hand."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm

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
