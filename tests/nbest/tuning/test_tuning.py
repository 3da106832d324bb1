"""Tuning finds what was hidden in the lists, and says how far that can be trusted."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from charlm import __version__
from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.metrics.bleu import CountedBleu
from charlm.nbest.metrics.error_rates import WordErrorRate
from charlm.nbest.ranking.features import FeatureTable, feature_table
from charlm.nbest.ranking.weights import Weights, load_weights, rescored
from charlm.nbest.references.fingerprint import fingerprint
from charlm.nbest.tuning.search_options import SearchOptions, parse_ranges
from charlm.nbest.tuning.tuning import Tuned, tune_weights

Lists = list[NbestList]
References = dict[str, tuple[str, ...]]


def hidden(*, ratio: float = 3.0, n_lists: int = 60, seed: int = 0) -> tuple[Lists, References]:
    """Lists whose right hypothesis has the highest am + ratio·lm; `flat` is the same for all."""
    generator = np.random.default_rng(seed)
    lists, references = [], {}
    for number in range(n_lists):
        rows = generator.normal(size=(6, 2)) * [3.0, 1.0]
        best = int(np.argmax(rows @ [1.0, ratio]))
        texts = [("right",) if rank == best else (f"wrong{rank}",) for rank in range(6)]
        hypotheses = tuple(
            Hypothesis(text, {"am": float(am), "lm": float(lm), "flat": 7.0}, f"x:{rank}")
            for rank, (text, (am, lm)) in enumerate(zip(texts, rows, strict=True))
        )
        lists.append(NbestList(f"u{number}", hypotheses, recording=f"r{number // 4}"))
        references[f"u{number}"] = ("right",)
    return lists, references


def tables_of(lists: Lists) -> list[FeatureTable]:
    return [feature_table(nbest) for nbest in lists]


def tuned_on(
    lists: Lists, references: References, *, start: dict[str, float] | None = None, **said: object
) -> Tuned:
    return tune_weights(
        lists,
        tables_of(lists),
        references=references,
        metric=WordErrorRate(),
        start=start,
        options=SearchOptions(**{"restarts": 2, "folds": 0, **said}),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def found() -> Tuned:
    return tuned_on(*hidden(), folds=5)


def test_the_ratio_that_the_lists_were_made_with_is_found(found: Tuned) -> None:
    assert found.weights.values["am"] == 1.0
    assert found.weights.values["lm"] == pytest.approx(3.0, abs=0.3)
    assert found.error == 0.0
    lists, references = hidden()
    best = [
        rescored(nbest, table, weights=found.weights).best.words
        for nbest, table in zip(lists, tables_of(lists), strict=True)
    ]
    assert best == [references[nbest.id] for nbest in lists]


def test_ties_go_as_they_do_in_the_ranking_and_the_first_stays_the_first() -> None:
    hypotheses = tuple(
        Hypothesis((text,), {"am": am, "lm": lm}, "x:1")
        for text, am, lm in (("low", -2.0, 1.0), ("high", -1.0, 1.0), ("worst", 0.0, 0.0))
    )
    lists, references = [NbestList("u", hypotheses)], {"u": ("high",)}
    found = tuned_on(lists, references, tuned="lm")
    (best,) = (
        rescored(nbest, table, weights=found.weights).best.words
        for nbest, table in zip(lists, tables_of(lists), strict=True)
    )
    assert (best, found.error, found.first_error) == (("high",), 0.0, 1.0)


def test_rates_of_the_first_hypotheses_and_of_the_start_are_there_to_compare(found: Tuned) -> None:
    lists, _ = hidden()
    first_right = sum(nbest.hypotheses[0].words == ("right",) for nbest in lists)
    by_am = [max(each.hypotheses, key=lambda one: one.features["am"]).words for each in lists]
    assert found.first_error == pytest.approx(1 - first_right / 60)
    assert found.start_error == pytest.approx(1 - by_am.count(("right",)) / 60)


def test_each_list_is_held_out_once_and_by_whole_recordings(found: Tuned) -> None:
    assert len(found.fold_errors) == 5
    assert found.held_out_error == pytest.approx(np.mean(found.fold_errors))  # 12 lists each
    assert 0 <= found.held_out_error < 0.2
    assert found.held_out_gain is not None
    assert found.held_out_gain.difference == pytest.approx(found.held_out_error - found.first_error)
    assert found.held_out_gain.p < 0.05
    assert found.generalises


def test_features_that_mean_nothing_do_better_on_their_lists_than_on_others() -> None:
    lists, references = hidden(seed=1)
    shuffled = {id: (f"wrong{number % 6}",) for number, id in enumerate(references)}
    result = tuned_on(lists, shuffled, folds=3)
    assert result.held_out_error is not None
    assert result.error < result.held_out_error


def test_a_tuning_that_is_no_better_than_the_first_hypotheses_does_not_generalise(
    found: Tuned,
) -> None:
    assert replace(found, held_out_error=found.first_error).generalises is False
    assert replace(found, held_out_error=None).generalises is None


@pytest.mark.parametrize("n_words", [1, 1500])  # one more error is then 1.6 %, or 0.064 %
def test_a_weight_can_be_moved_within_its_flat_interval_and_not_beyond(n_words: int) -> None:
    lists, references = hidden()
    padding = Hypothesis(("x",) * n_words, {"am": 0.0, "lm": 0.0, "flat": 7.0}, "x:9")
    lists.append(NbestList("padding", (padding,)))
    references["padding"] = padding.words
    (lm,) = (e for e in tuned_on(lists, references).details if e.feature == "lm")
    assert lm.flat_low < 3.0 < lm.flat_high
    metric = WordErrorRate()
    statistics = metric.statistics(lists, references)

    def n_errors(weight: float) -> int:
        weights = Weights({"am": 1.0, "lm": weight})
        chosen = [
            counts_HK[rescored(nbest, table, weights=weights).order[0]]
            for nbest, table, counts_HK in zip(lists, tables_of(lists), statistics, strict=True)
        ]
        return int(np.sum(chosen, axis=0)[:3].sum())

    step = 1e-6 * (lm.flat_high - lm.flat_low)
    allowed = 0 if n_words == 1 else 1
    assert n_errors(lm.flat_low + step) == n_errors(lm.flat_high - step) == allowed
    assert n_errors(lm.flat_low - step) > allowed
    assert n_errors(lm.flat_high + step) > allowed


def test_weights_are_rounded_only_where_that_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("charlm.nbest.tuning.tuning.DIGITS", 1)
    result = tuned_on(*hidden(ratio=3.45))
    assert result.error == 0.0
    assert result.weights.values["lm"] not in (3.0, 4.0)


def test_lists_of_one_recording_are_held_out_together() -> None:
    lists, references = hidden(n_lists=10)
    lists = [replace(nbest, recording="a" if n < 3 else "b") for n, nbest in enumerate(lists)]
    references = {id: ("nothing",) if n < 3 else ("right",) for n, id in enumerate(references)}
    result = tuned_on(lists, references, folds=5)
    assert len(result.fold_errors) == 2
    assert 1.0 in result.fold_errors
    assert max(result.fold_errors) != min(result.fold_errors)


def test_details_say_what_is_fixed_what_has_no_effect_and_what_runs_into_the_border() -> None:
    lists, references = hidden()
    result = tuned_on(lists, references, ranges=["lm=-1:2"])
    by_name = {each.feature: each for each in result.details}
    assert [name for name, each in by_name.items() if each.is_fixed] == ["am"]
    assert [n for n, e in by_name.items() if not e.has_effect] == ["flat", "words", "oov"]
    assert (by_name["flat"].flat_low, by_name["flat"].flat_high) == (0.0, 0.0)
    assert by_name["lm"].at_border
    assert by_name["lm"].weight <= 2.0
    assert not next(e for e in tuned_on(lists, references).details if e.feature == "lm").at_border


@pytest.mark.parametrize("ends", ["0:5", "-5:0"])
def test_a_weight_may_start_at_either_end_of_its_range(ends: str) -> None:
    low, high = map(float, ends.split(":"))
    assert low <= tuned_on(*hidden(), ranges=[f"lm={ends}"]).weights.values["lm"] <= high


def test_lists_may_differ_only_in_features_that_are_not_tuned() -> None:
    (first, *others), references = hidden(n_lists=3)
    rows = [{n: v for n, v in each.features.items() if n != "flat"} for each in first.hypotheses]
    pairs = zip(first.hypotheses, rows, strict=True)
    bare = replace(first, hypotheses=tuple(replace(each, features=row) for each, row in pairs))
    with pytest.raises(DataError, match=r"^x:0: features .*; expected those of the first list: am"):
        tuned_on([bare, *others], references)
    assert tuned_on([bare, *others], references, tuned="am,lm").error == 0.0


def test_an_interval_is_found_for_a_feature_of_any_unit_and_sign() -> None:
    lists, references = hidden()
    larger = [
        replace(
            nbest,
            hypotheses=tuple(
                replace(each, features={**each.features, "lm": 1024 * each.features["lm"]})
                for each in nbest.hypotheses
            ),
        )
        for nbest in lists
    ]
    for texts in ((lists, references), (larger, references), hidden(ratio=-3)):
        found = tuned_on(*texts)
        (lm,) = (each for each in found.details if each.feature == "lm")
        assert lm.flat_low < lm.weight < lm.flat_high


@pytest.mark.parametrize("seed", [35, 41])  # rounding puts the end 1e-17 below and above 0
def test_an_interval_that_begins_at_a_bound_of_0_begins_at_0(seed: int) -> None:
    lists, references = hidden(ratio=0.02, n_lists=40, seed=seed)
    result = tuned_on(lists, references, tuned="am,lm", ranges=["lm=0:"], start={"lm": 1.0})
    lm = result.details[1]
    assert (lm.flat_low, lm.at_border) == (0.0, True)
    assert 0 < lm.weight < lm.flat_high


def test_a_feature_that_varies_has_an_effect_though_one_hypothesis_a_list_can_win() -> None:
    (am,) = tuned_on(*hidden(), tuned="am").details
    assert (am.is_fixed, am.has_effect) == (True, True)


def test_of_two_features_with_the_same_values_the_first_is_tuned() -> None:
    lists, references = hidden()
    doubled = [
        replace(
            nbest,
            hypotheses=tuple(
                replace(each, features={**each.features, "again": each.features["lm"]})
                for each in nbest.hypotheses
            ),
        )
        for nbest in lists
    ]
    once, twice = tuned_on(lists, references), tuned_on(doubled, references)
    assert {**once.weights.values, "again": 0.0} == twice.weights.values
    assert {each.feature: each.same_as for each in twice.details if each.same_as} == {"again": "lm"}
    begun = tuned_on(doubled, references, restarts=0, start={"lm": 1.0, "again": 2.0})
    assert begun.weights == tuned_on(doubled, references, restarts=0, start={"lm": 3.0}).weights
    with pytest.raises(ConfigError, match=r"^--range again: always equals lm, whose weight is tun"):
        tuned_on(doubled, references, ranges=["again=0:1"])


def test_a_feature_that_is_named_twice_has_one_weight() -> None:
    lists, references = hidden()
    once = tuned_on(lists, references, tuned=["am", "lm"])
    assert tuned_on(lists, references, tuned="am,lm,am,lm").weights == once.weights


def test_the_feature_that_is_named_first_sets_the_scale_and_starts_can_be_given() -> None:
    lists, references = hidden()
    result = tuned_on(lists, references, tuned="flat,lm,am", start={"lm": 6.0, "am": 0.1})
    assert result.weights.values["lm"] == 6.0
    assert result.weights.values["am"] == pytest.approx(2.0, abs=0.3)


def test_units_of_a_feature_do_not_matter() -> None:
    lists, references = hidden()
    tables = [
        FeatureTable(("am", "lm"), table.take(["am", "lm"]).values_HF * [1.0, 1e-3])
        for table in tables_of(lists)
    ]
    result = tune_weights(
        lists,
        tables,
        references=references,
        metric=WordErrorRate(),
        options=SearchOptions(ranges=["lm=-1e6:1e6"], restarts=0, folds=0),
    )
    assert result.error == 0.0
    assert result.weights.values["lm"] == pytest.approx(3000, abs=300)


def test_the_same_seed_gives_the_same_and_the_file_says_on_what_it_was_tuned(
    tmp_path: Path,
) -> None:
    lists, references = hidden(n_lists=10)
    first, second = (tuned_on(lists, references, seed=4, folds=2) for _ in range(2))
    assert first == second
    first.weights.save(tmp_path / "w.json")
    origin = load_weights(tmp_path / "w.json").origin
    assert origin is not None
    assert (origin.seed, origin.version, origin.metric) == (4, __version__, first.metric)
    assert origin.lists == fingerprint(lists, references)
    as_json = json.loads(json.dumps(first.to_dict(), allow_nan=False))
    assert as_json["weights"] == dict(first.weights.values)
    assert as_json["details"][1]["feature"] == "lm"
    assert as_json["n_lists"] == 10


def test_a_list_that_is_alone_cannot_be_left_out() -> None:
    lists, references = hidden(n_lists=1)
    result = tuned_on(lists, references, folds=5)
    assert (result.held_out_error, result.fold_errors, result.generalises) == (None, (), None)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tuned": "am,nn"}, ConfigError, "weight 'nn': no such feature; this list has am"),
        ({"start": {"kn": 1.0}}, ConfigError, "weight 'kn': no such feature"),
        ({"tuned": "flat"}, DataError, "tuning: flat: none differs between the hypotheses"),
        ({"start": {"lm": 9.0}, "ranges": ["lm=0:5"]}, ConfigError, "weight 'lm': starts at 9"),
        ({"ranges": ["am=0:5"]}, ConfigError, "--range am: its weight sets the scale and is"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_one_line(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        tuned_on(*hidden(n_lists=3), **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_counts_made_from_the_references_are_no_features() -> None:
    names = ("hyp_len", "match1", "match2", "match3", "match4")
    rows = [{**dict(zip(names, (5, 5 - n, 3, 2, 1), strict=True)), "am": -n} for n in range(3)]
    nbest = NbestList("s", tuple(Hypothesis((), row, "x:1") for row in rows))

    def tuned(names: str) -> Tuned:
        return tune_weights(
            [nbest],
            [feature_table(nbest)],
            references={"s": ("5",)},
            metric=CountedBleu(),
            options=SearchOptions(tuned=names),
        )

    assert list(tuned("").weights.values) == ["am", "words", "oov"]
    with pytest.raises(ConfigError, match=r"^feature 'match1': made from the references; expected"):
        tuned("am,match1")


def test_no_lists_are_refused() -> None:
    with pytest.raises(DataError, match=r"^tuning: no lists; expected some, with references"):
        tuned_on([], {})


def test_ranges_are_read_and_what_is_none_is_refused() -> None:
    assert parse_ranges(["nn=0:", "kn=:2"]) == {"nn": (0.0, 100.0), "kn": (-100.0, 2.0)}
    assert parse_ranges(["nn=0:5", "words=-1e1:.5"]) == {"nn": (0.0, 5.0), "words": (-10.0, 0.5)}
    for text in (
        "nn",
        "nn=1",
        "nn=5:0",
        "nn=0:inf",
        "nn=0:1e31",
        "=0:1",
        "nn=0:1:2",
        "nn=a:b",
        "nn=1_0:20",
    ):
        with pytest.raises(ConfigError, match=r"^--range '.*': expected NAME=LOW:HIGH, as nn=0:5"):
            parse_ranges([text])
    with pytest.raises(ConfigError, match=r"^--range 'nn=1:2': nn stands twice; expected it once$"):
        parse_ranges(["nn=0:5", "nn=1:2"])
