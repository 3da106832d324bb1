"""When it is said how much is done."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import charlm
from charlm.interface import progress_messages
from charlm.interface.progress_messages import with_progress
from charlm.nbest.references.unknown_words import unknown_words
from charlm.nbest.scorers import NgramScorer
from charlm.ngram.backoff import BackoffModel
from charlm.scoring.evaluation.surprisal import token_bits, word_surprisal
from charlm.scoring.rescoring import score
from charlm.text.vocabulary.vocabulary import inventory_of


def test_lists_are_told_after_ten_seconds_and_then_each_minute() -> None:
    told: list[str] = []
    seconds = iter([0, 9, 10, 10, 69, 70, 70, 71])

    lists = list(with_progress("abcde", "scoring f", tell=told.append, clock=lambda: next(seconds)))

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
        monkeypatch.setattr(progress_messages, name, -1)
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
        "looked at",
    }
    assert told.count(f"scoring {lists}: 2 lists so far") == 2
    assert "uni: 2 sentences so far" in told


def test_one_list_is_told_in_the_singular() -> None:
    told: list[str] = []
    seconds = iter([0, 10, 10])

    list(with_progress("a", "scoring f", tell=told.append, clock=lambda: next(seconds)))

    assert told == ["scoring f: 1 list so far"]


def test_what_is_scored_together_is_told_when_all_of_it_is_done(
    tmp_path: Path, save_unigrams: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = save_unigrams(tmp_path / "uni.arpa", end=-1, unk=-9, good=-1, bad=-2)
    text = tmp_path / "text"
    text.write_text("good\nbad\ngood bad\nbad good\nbad bad\n")
    seconds = 0.0

    def slowly(original: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **others: object) -> object:
            nonlocal seconds
            seconds += 11
            return original(*arguments, **others)

        return run

    for model in (BackoffModel, NgramScorer):
        monkeypatch.setattr(model, "score", slowly(model.score))
    monkeypatch.setattr(token_bits, "BLOCK", 4)
    for module in (score, word_surprisal):
        monkeypatch.setattr(module, "with_progress", partial(with_progress, clock=lambda: seconds))
    told: list[str] = []
    charlm.surprisal(text, lm=lm, on_stage=told.append)
    charlm.score(text, lm=lm, at_once=3, write="none", on_stage=told.append)

    assert told == ["uni: 2 sentences so far", f"scoring {text}: 3 lists so far"]
