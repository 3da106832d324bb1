"""When it is said how much is done."""

from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm import so_far
from charlm.nbest.unknown_words import unknown_words
from charlm.so_far import counted
from charlm.text.vocabulary.vocabulary import inventory_of


def test_lists_are_told_after_ten_seconds_and_then_each_minute() -> None:
    told: list[str] = []
    seconds = iter([0, 9, 10, 10, 69, 70, 70, 71])

    lists = list(counted("abcde", "scoring f", tell=told.append, clock=lambda: next(seconds)))

    assert lists == list("abcde")
    assert told == ["scoring f: 2 lists so far", "scoring f: 4 lists so far"]


def test_what_may_take_minutes_says_how_far_it_is(
    tmp_path: Path, save_unigrams: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = save_unigrams(tmp_path / "uni.arpa", end=-1, unk=-9, good=-1, bad=-2)
    lists, refs, pairs = (tmp_path / name for name in ("lists.tsv", "refs", "pairs.csv"))
    lists.write_text("id\tam\ttext\na\t-1\tgood\na\t-2\tbad\nb\t-1\tgood\nb\t-1\tbad\n")
    refs.write_text("a\tbad\nb\tgood\n")
    pairs.write_text("sentence_good,sentence_bad\ngood,bad\n")
    for name in ("FIRST", "NEXT"):
        monkeypatch.setattr(so_far, name, -1)
    told: list[str] = []
    charlm.score(lists, lm=lm, refs=refs, weight={"am": 1}, write="none", on_stage=told.append)
    charlm.tune(lists, lm=lm, refs=refs, folds=2, restarts=1, on_stage=told.append)
    charlm.surprisal(pairs, column="sentence_good", lm=lm, on_stage=told.append)
    charlm.minimal_pairs(pairs, lm=lm, on_stage=told.append)
    unknown_words(inventory_of([["good"]]), [refs], on_stage=told.append)
    assert {each.rpartition(": ")[0] for each in told} == {
        f"reading {lists}",
        f"scoring {lists}",
        "finding weights",
        "cross-validation, fold 1 of 2",
        "cross-validation, fold 2 of 2",
        "uni",
        "unknown words",
    }
    assert told.count(f"scoring {lists}: 2 lists so far") == 2
    assert "uni: 2 sentences so far" in told
