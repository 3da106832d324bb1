"""The verdict of a comparison: who is better, by how much, and whether that is certain."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from charlm.scoring.evaluation.comparison.bootstrap import Difference
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.results import Pair
from charlm.scoring.evaluation.comparison.verdict import is_still_falling, verdict

BETTER, WORSE, NEITHER = (-49.2, -51.53, -46.82), (2.59, 2.562, 112.4), (-0.1, -0.8, 0.6)
GAIN, LOSS = (-7.5, -8.1, -6.89), (0.97, 0.82, 1.21)


def sentence(
    run: Path,
    alone: Any,
    on_model: Any,
    on_kn: Any,
    *,
    n_units: int = 3761,
    learned_single_sentences: bool = False,
) -> tuple[str, ...]:
    figures = {("m", "KN-5"): alone, ("m+KN-5", "m"): on_model, ("m+KN-5", "KN-5"): on_kn}
    pairs = [
        Pair(
            *names, dict.fromkeys(("carried", "sentence"), Difference(*values, None, None, 0.5)), {}
        )
        for names, values in figures.items()
    ]
    member = cast(
        Any, SimpleNamespace(name="m", path=run, learned_single_sentences=learned_single_sentences)
    )
    return verdict(pairs, [member], options=CompareKnOptions("corpus"), n_units=n_units)


@pytest.mark.parametrize(
    ("alone", "on_model", "on_kn", "told"),
    [
        (
            *(BETTER, GAIN, BETTER),
            "m is better than KN-5 by 49.2 ppl (46.8 to 51.5); "
            "the mixture gains another 7.50 ppl (6.89 to 8.10)",
        ),
        (
            *(WORSE, BETTER, GAIN),
            "m is worse than KN-5 by 2.59 ppl (2.56 to 112); "
            "the mixture gains 7.50 ppl (6.89 to 8.10) on KN-5",
        ),
        (
            *(NEITHER, LOSS, LOSS),
            "m and KN-5 cannot be told apart (-0.80 to 0.60 ppl); "
            "the mixture gains nothing that can be told",
        ),
        (
            *((-0.02, -0.04, -0.004), (-0.009, -0.02, -0.0006), BETTER),  # no end is 0
            "m is better than KN-5 by 0.02 ppl (0.004 to 0.04); "
            "the mixture gains another 0.01 ppl (0.001 to 0.02)",
        ),
        (
            *((0.2, -0.001, 0.4), (None, None, None), LOSS),
            "m and KN-5 cannot be told apart (-0.001 to 0.40 ppl); "
            "the mixture gains nothing that can be told",
        ),
        (
            *((None, None, None), (None, None, None), GAIN),
            "m and KN-5 have no difference that is a number; "
            "the mixture gains nothing that can be told",
        ),
    ],
)
def test_the_verdict_says_what_the_intervals_allow(
    tmp_path: Path, alone: Any, on_model: Any, on_kn: Any, told: str
) -> None:
    assert sentence(tmp_path, alone, on_model, on_kn) == (f"verdict, state carried: {told}",)


def test_a_model_of_single_sentences_is_judged_by_them(tmp_path: Path) -> None:
    (told,) = sentence(tmp_path, BETTER, GAIN, BETTER, learned_single_sentences=True)
    assert told.startswith("verdict, state sentence: m is better than KN-5")


def test_of_a_handful_of_sentences_there_is_no_verdict(tmp_path: Path) -> None:
    assert sentence(tmp_path, BETTER, GAIN, BETTER, n_units=9) == ()


def between(first: Any, second: Any, *, run: Path, by_sentence: bool = False) -> list[str]:
    """What is said of models a, b and c beside each other; c is worse than both by far."""
    kn = {"a": (-20.0, -22.0, -18.0), "b": (-23.0, -25.0, -21.0), "c": (50.0, 45.0, 55.0)}
    figures: dict[tuple[str, str], Any] = {}
    for name, values in kn.items():
        figures |= {(name, "KN-5"): values}
        figures |= {(f"{name}+KN-5", other): GAIN for other in (name, "KN-5")}
    figures |= {("a", "b"): first, ("a", "c"): (-70, -75, -65), ("b", "c"): (-73, -78, -68)}
    pairs = [
        Pair(
            *names,
            {
                "carried": Difference(*values, None, None, 0.5),
                "sentence": Difference(*second, None, None, 0.5),
            },
            {},
        )
        for names, values in figures.items()
    ]
    members = [
        cast(Any, SimpleNamespace(name=name, path=run, learned_single_sentences=each))
        for name, each in (("a", False), ("b", False), ("c", by_sentence))
    ]
    said = verdict(pairs, members, options=CompareKnOptions("corpus"), n_units=3761)
    assert len(said) > len(members)
    return [each.removeprefix("verdict, ") for each in said[len(members) :]]


@pytest.mark.parametrize(
    ("difference", "told"),
    [
        ((3.0, 2.0, 4.0), "b is better than a by 3.00 ppl (2.00 to 4.00)"),
        ((3.0, -1.0, 7.0), "a and b cannot be told apart (-1.00 to 7.00 ppl)"),
    ],
)
def test_the_best_of_several_models_is_held_against_the_next_best(
    tmp_path: Path, difference: Any, told: str
) -> None:
    said = between(difference, GAIN, run=tmp_path)
    assert said == [f"state carried, best of 3 models: {told}"]


def test_models_of_streams_and_of_sentences_are_compared_in_both_states(tmp_path: Path) -> None:
    said = between((3.0, 2.0, 4.0), GAIN, run=tmp_path, by_sentence=True)
    # In the state "sentence" all differences are the same here, and the first stays the best.
    assert said == [
        "state carried, best of 3 models: b is better than a by 3.00 ppl (2.00 to 4.00)",
        "state sentence, best of 3 models: a is better than b by 7.50 ppl (6.89 to 8.10)",
    ]


@pytest.mark.parametrize(
    ("ppls", "falls"),
    [
        ([100, 90], True),
        ([100, 90, 99, 80], True),
        ([100, 99.6], False),
        ([90, 100], False),
        ([100, 90, 99, 92], False),  # compared with the best epoch, not with the one before
        ([90], False),
        ([], False),
    ],
)
def test_a_training_falls_still_if_its_last_epoch_gained_half_a_per_cent(
    tmp_path: Path, ppls: list[float], falls: bool
) -> None:
    assert is_still_falling(ppls) is falls
    record = {"train_ppl": 1.0, "n_tokens": 1, "seconds": 1.0}
    lines = [json.dumps({"epoch": n, "valid_ppl": p, **record}) for n, p in enumerate(ppls, 1)]
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (told,) = sentence(tmp_path, BETTER, GAIN, BETTER)
    assert told.endswith("its validation was still falling: train longer") is falls


def test_a_model_whose_training_was_stopped_is_said_to_be_unfinished(tmp_path: Path) -> None:
    (tmp_path / "encoded").mkdir()
    epoch = {"epoch": 1, "train_ppl": 300.0, "valid_ppl": 140.0, "n_tokens": 9, "seconds": 1.0}
    (tmp_path / "log.jsonl").write_text(json.dumps(epoch) + "\n")
    (said,) = sentence(tmp_path, WORSE, BETTER, GAIN)
    assert said.endswith("; its training is unfinished, after epoch 1: --resume it")
