"""Weights from `charlm.tune`, against every weight of a fine grid."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charlm
from charlm.nbest.ranking.weights import load_weights
from charlm.nbest.scorer import Words
from charlm.nbest.scorers import FunctionScorer
from charlm.text.corpus.normalisation.normalisation import NO_RULES

LISTS = "u\t-1\ta b\nu\t-2\ta c\nv\t-3\th\nv\t-1\th g\nw\t-1\tc\nw\t-1\td e\n"
REFS = "u a c\nv h\nw c\n"


def lowest_rate(of_text: dict[str, float]) -> float:
    """The lowest error rate of c2 + w·feature, by trying every w."""
    grid = np.linspace(-100, 100, 20_001)
    errors = np.zeros(len(grid), int)
    for names, ams, costs in (
        (["a b", "a c"], [-1, -2], [1, 0]),
        (["h", "h g"], [-3, -1], [0, 1]),
        (["c", "d e"], [-1, -1], [0, 2]),
    ):
        totals = [am + grid * of_text[name] for am, name in zip(ams, names, strict=True)]
        errors += np.where(totals[1] > totals[0], costs[1], costs[0])
    return float(errors.min() / 4)


def sentence_scores(run: Path, texts: Sequence[str]) -> dict[str, float]:
    model = charlm.load(run, device="cpu")
    return {text: model.score(text).log10_prob * float(np.log(10)) for text in texts}


def test_a_model_gets_the_weight_that_a_grid_finds(
    run: Path, lists: Path, refs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "weights.json"
    result = charlm.tune(lists, refs=refs, model=run, out=out, folds=0, tuned="c2,nn")
    assert load_weights(out).values == result.weights.values == result.tuned.weights.values
    texts = [line.split("\t")[2] for line in LISTS.splitlines()]
    assert result.tuned.error == pytest.approx(lowest_rate(sentence_scores(run, texts)))


def test_without_a_model_a_lists_own_features_are_weighed(
    lists: Path, refs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "weights.json"
    result = charlm.tune(lists, refs=refs, out=out, folds=0, tuned="c2,words")
    n_words = {text: float(len(text.split())) for text in ("a b", "a c", "h", "h g", "c", "d e")}
    assert result.tuned.error == pytest.approx(lowest_rate(n_words))
    assert result.tuned.error < result.tuned.start_error
    best: list[str] = []
    charlm.score(lists, weights=out, write="kaldi", out=best.append)
    assert "".join(best) == "u a b\nv h\nw c\n"
    rates = charlm.score(lists, weights=out, refs=refs, allow_test_tuning=True).report
    assert rates is not None
    assert rates.rescored.error == result.tuned.error


def test_a_mixture_goes_into_the_weights_and_is_scored_as_it_was_tuned(
    run: Path, saved_run: Callable[..., Path], lists: Path, refs: Path, tmp_path: Path
) -> None:
    out, runs = tmp_path / "weights.json", [run, saved_run("zeros")]
    charlm.tune(lists, refs=refs, model=runs, mix_weights="0.25,0.75", out=out, tuned="c2,nn")
    assert load_weights(out).mixture == {"nn": 0.25, "nn2": 0.75}

    def ranked(**options: object) -> str:
        pieces: list[str] = []
        charlm.score(lists, model=runs, weights=out, write="ranked", out=pieces.append, **options)
        return "".join(pieces)

    assert ranked() == ranked(mix_weights="0.25,0.75") != ranked(mix_weights="1,0")
    with pytest.raises(charlm.ConfigError) as caught:
        charlm.score(lists, model=run, weights=out)
    assert str(caught.value) == (
        f"{out}: tuned on a mixture of nn, nn2; found nn; expected the same models; give them, or "
        "tune again"
    )
    out.write_text(out.read_text().replace("0.75", "0.5"))
    with pytest.raises(charlm.ConfigError, match=f"^{out}: mixture 0.25,0.5: sum 0.75; expected"):
        ranked()


def test_weights_are_where_a_tuning_begins_and_not_what_it_ends_with(
    run: Path, lists: Path, refs: Path
) -> None:
    options = {"refs": refs, "model": run, "folds": 0, "tuned": "c2,nn", "restarts": 3}
    result = charlm.tune(lists, weight=["nn=.125", "c2=0.5"], **options)  # type: ignore[arg-type]
    assert result.weights.values["c2"] == 0.5  # the first sets the scale
    assert result.tuned.restarts == 3
    assert result.ignored == ("words", "oov")


def test_a_result_is_json(lists: Path, refs: Path) -> None:
    found = charlm.tune(lists, refs=refs, folds=0, restarts=0).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)).keys() == found.keys()
    assert (found["format"], found["n_lists"], found["scorers"]) == ("tsv", 3, {})


def test_nothing_that_contradicts_itself_is_begun(lists: Path, refs: Path, tmp_path: Path) -> None:
    def never(sentences: Sequence[Words]) -> list[list[float]]:
        raise AssertionError

    scorer = charlm.FunctionScorer(never)
    for options, message in (
        ({"folds": 1}, "--folds 1: leaves no list to tune on; expected 0, or 2 or more"),
        ({"refs": "-"}, "--refs -: expected a file; only the lists may be standard input"),
        ({"out": tmp_path / "none" / "w"}, f"--out {tmp_path}/none/w: "),
        ({"restarts": -1}, "--restarts -1: expected 0 or more"),
        ({"recordings": "a"}, "--recordings 'a': no group; expected one, as ^(.*)-"),
        ({"tuned": "am", "ranges": ["own=0:"]}, "--range own: --tuned am leaves it out, and it"),
        ({"ranges": ["am=5"]}, "--range 'am=5': expected NAME=LOW:HIGH, as nn=0:5, to 1e30"),
        ({"out": refs}, f"{refs}: would be overwritten, but is also read (refs)"),
    ):
        with pytest.raises(charlm.ConfigError) as caught:
            charlm.tune(lists, scorer=scorer, **{"refs": refs, **options})  # type: ignore[arg-type]
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("option", [{"tuned": "c2,nm"}, {"ranges": ["nm=0:"]}])
def test_a_feature_that_the_first_list_lacks_is_missed_before_the_others_are_scored(
    lists: Path, refs: Path, option: dict[str, object]
) -> None:
    asked: list[str] = []

    def ones(sentences: Sequence[Words]) -> list[list[float]]:
        asked.extend(map(" ".join, sentences))
        return [[-1.0] * (len(words) + 1) for words in sentences]

    own = {"scorer": charlm.FunctionScorer(ones), "at_once": 1}
    with pytest.raises(charlm.ConfigError, match="^weight 'nm': no such feature; this list has c2"):
        charlm.tune(lists, refs=refs, **own, **option)  # type: ignore[arg-type]
    assert asked == ["a b", "a c"]


@pytest.mark.parametrize("raw", [True, False])
def test_words_are_read_as_they_stand_if_they_were_in_the_tuning(
    run: Path, lists: Path, refs: Path, tmp_path: Path, raw: bool
) -> None:
    weights, test = tmp_path / "weights.json", tmp_path / "test.tsv"
    charlm.tune(lists, refs=refs, model=run, out=weights, folds=0, raw=raw, split_hyphens=True)
    test.write_text("x\t-1\t[noise] a\nx\t-2\tb-c\n")  # a label that only raw reads
    found = charlm.score(test, model=run, weights=weights)
    assert (found.text.n_noise, found.text.n_unknown) == ((0, 1) if raw else (1, 0))
    assert found.text_rules.split_hyphens
    said = charlm.score(test, model=run, weights=weights, lower=True).text
    assert (said.n_noise, said.n_unknown) == ((0, 2) if raw else (1, 1))


def test_raw_beside_weights_that_were_tuned_without_it_is_told(
    run: Path, lists: Path, refs: Path, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.json"
    charlm.tune(lists, refs=refs, model=run, out=weights, folds=0, split_hyphens=True)
    options: dict[str, Any] = {"model": run, "weights": weights, "split_hyphens": True}
    (told,) = charlm.score(lists, **options, raw=True).notices.said_otherwise
    assert told.startswith("--raw: the weights were tuned on words read under the models' own")
    assert charlm.score(lists, **options).notices.said_otherwise == []
    content = json.loads(weights.read_text())
    assert content.pop("raw") is False
    weights.write_text(json.dumps(content))  # by an older charlm, which did not say
    assert charlm.score(lists, **options, raw=True).notices.said_otherwise == []


def test_scores_are_as_unnormalised_as_in_the_tuning(
    run: Path, lists: Path, refs: Path, tmp_path: Path
) -> None:
    plain, rough = tmp_path / "plain.json", tmp_path / "rough.json"
    charlm.tune(lists, refs=refs, model=run, out=plain, folds=0)
    charlm.tune(lists, refs=refs, model=run, out=rough, folds=0, unnormalised=True)
    outs: list[list[str]] = [[], [], []]
    said = charlm.score(lists, model=run, out=outs[0].append, weights=plain, unnormalised=True)
    found = charlm.score(lists, model=run, out=outs[1].append, weights=rough)
    charlm.score(lists, model=run, out=outs[2].append, weights=plain)
    assert outs[0] == outs[1] != outs[2]
    untrained, told = said.notices.said_otherwise
    assert told.startswith("--unnormalised: the weights were tuned on normalised scores; drop it")
    assert untrained.startswith("nn: --unnormalised: it was not trained with recipe.criterion.type")
    assert found.notices.said_otherwise == []


def test_text_rules_are_kept_with_the_weights_and_change_the_copy_alone(
    run: Path, lists: Path, refs: Path, tmp_path: Path
) -> None:
    rules, weights = tmp_path / "rules.tsv", tmp_path / "weights.json"
    rules.write_text("h g\tc\n")
    texts = {"map": rules, "split_hyphens": True, "punctuation": "drop"}
    tuned = charlm.tune(lists, refs=refs, model=run, out=weights, folds=0, **texts)
    assert tuned.text.by_rule == {"map": 2}
    rules.unlink()  # the file of weights has them
    test = tmp_path / "test.tsv"
    test.write_text("x\t-1\th g\nx\t-1\tc.\nx\t-1\th-g\n")
    lines: list[str] = []
    scored = charlm.score(test, model=run, weights=weights, out=lines.append)
    rows = [line.split("\t") for line in "".join(lines).splitlines()]
    assert [row[3] for row in rows] == ["h g", "c.", "h-g"]
    assert len({row[2] for row in rows}) == 1  # each was read as `c`
    assert scored.text.by_rule == {"map": 4, "punctuation": 1, "hyphens": 1}
    assert scored.text_rules == tuned.text_rules
    other = charlm.score(test, model=run, weights=weights, lower=True)
    assert other.text.by_rule == {}
    assert other.weights is not None
    assert other.weights.text == tuned.text_rules != other.text_rules
    charlm.tune(lists, refs=refs, model=run, out=weights, folds=0)  # none are rules as well
    other = charlm.score(test, model=run, weights=weights, lower=True)
    assert other.weights is not None
    assert other.weights.text == NO_RULES != other.text_rules


def piped(text: str) -> str:
    """The name of a pipe that holds a text, and then nothing."""
    end, start = os.pipe()
    os.write(start, text.encode())
    os.close(start)
    return f"/dev/fd/{end}"


def test_a_map_may_come_through_a_pipe(run: Path, lists: Path, refs: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights.json"
    tuned = charlm.tune(lists, refs=refs, model=run, map=piped("h g\tc\n"), out=weights, folds=0)
    assert tuned.text.by_rule == {"map": 2}
    assert tuned.text_rules.map == load_weights(weights).text.map == (("h g", "c"),)  # type: ignore[union-attr]
    scored = charlm.score(lists, model=run, weights=weights, map=piped("h g\tc\n"))
    assert (scored.text.by_rule, scored.text_rules) == ({"map": 2}, tuned.text_rules)


@pytest.mark.parametrize("measure", [charlm.score, charlm.tune])
def test_features_beside_lists_with_references_may_come_through_a_pipe(
    refs: Path, tmp_path: Path, measure: Callable[..., Any]
) -> None:
    texts = tmp_path / "words"
    texts.write_text("u-1 a b\nu-2 a c\nv-1 h\nw-1 d e\nw-2 c\n")
    costs = piped("u-1 2\nu-2 1\nv-1 1\nw-1 4\nw-2 3\n")
    found = measure(texts, refs=refs, features={"am": costs}, weight=["am=1"])
    assert (found.counts.n_lists, found.counts.n_moved, found.notices.filled) == (3, 2, {})


def test_weights_keep_how_the_columns_of_lists_are_called(
    lists: Path, refs: Path, tmp_path: Path
) -> None:
    weights, columns = tmp_path / "weights.json", "id,am,text"
    charlm.tune(lists, refs=refs, out=weights, folds=0, columns=columns)
    told = charlm.score(lists, weights=weights)
    said = charlm.score(lists, weights=weights, columns=columns)
    assert told.counts == said.counts
    assert told.counts.features == ("am", "words", "oov")
    assert told.notices.said_otherwise == said.notices.said_otherwise == []
    jsonl = tmp_path / "list.jsonl"
    jsonl.write_text('{"id": "u", "hyps": [{"text": "a b", "am": -1}]}\n')
    assert charlm.score(jsonl, weights=weights).notices.said_otherwise == []


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"columns": "id,am,-,text"}, "--columns id,am,-,text: the weights were tuned on lists "),
        ({"format": "moses"}, "--format moses: the weights were tuned on lists of the format tsv"),
    ],
)
def test_what_is_said_of_lists_goes_before_what_weights_keep_and_is_told(
    option: dict[str, str], told: str, lists: Path, refs: Path, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.json"
    charlm.tune(lists, refs=refs, out=weights, folds=0, columns="id,am,text", tuned="am,words")
    other = tmp_path / "other"
    is_moses = "format" in option
    other.write_text("0 ||| a b ||| am= -1 ||| -1\n" if is_moses else "u\t-1\t7\ta b\n")
    notices = charlm.score(other, weights=weights, refs=None, **option).notices  # type: ignore[arg-type]
    assert [each.startswith(told) for each in notices.said_otherwise] == [True]


def test_weights_tell_of_another_length_penalty_than_their_lists_were_read_with(
    tmp_path: Path,
) -> None:
    weights, lists = tmp_path / "weights.json", tmp_path / "lists.jsonl"
    row = {"sequences": ["a b", "a c"], "sequences_scores": [-0.5, -0.75], "lengths": [3, 3]}
    lists.write_text(json.dumps({"id": "u", **row, "reference": "a c"}) + "\n")
    charlm.tune(lists, refs="own", out=weights, folds=0, length_penalty=1.0)
    assert charlm.score(lists, weights=weights, length_penalty=1).notices.said_otherwise == []
    (told,) = charlm.score(lists, weights=weights).notices.said_otherwise
    assert told.startswith("--length-penalty 0: the weights were tuned on scores that were read w")
    weights.write_text(weights.read_text().replace("length_penalty", "of a later charlm"))
    assert charlm.score(lists, weights=weights).notices.said_otherwise == []
    charlm.tune(lists, refs="own", out=weights, folds=0)
    assert charlm.score(lists, weights=weights).notices.said_otherwise == []
    (told,) = charlm.score(lists, weights=weights, length_penalty=1).notices.said_otherwise
    assert told.startswith("--length-penalty 1: the weights were tuned on scores that were read w")
    table = tmp_path / "table"  # has columns, which the lists of the tuning had not
    table.write_text("u\t-1\ta b\n")
    result = charlm.score(table, weights=weights, columns="id,score,text")
    assert result.notices.said_otherwise == []


@pytest.mark.parametrize("context", ["none", "previous"])
@pytest.mark.parametrize(
    ("pattern", "unit", "n_units"), [("^(.)-", "recording", 2), ("", "list", 4)]
)
def test_tests_and_folds_keep_the_recordings_together_that_a_pattern_finds(
    pattern: str, unit: str, n_units: int, context: str, tmp_path: Path
) -> None:
    lists, refs = tmp_path / "lists.tsv", tmp_path / "refs"
    names = ("a-1", "a-2", "b-1", "b-2")
    rows = "".join(f"{name}\t-1\tb\n{name}\t-2\tc c\n" for name in names)
    lists.write_text(f"id\tam\ttext\n{rows}")
    refs.write_text("".join(f"{name} c c\n" for name in names))
    options: dict[str, Any] = {"context": context, "recordings": pattern, "refs": refs}
    own = FunctionScorer(lambda texts: [[-1.0] * (len(words) + 1) for words in texts])
    gain = charlm.tune(lists, scorer=own, **options).tuned.held_out_gain
    assert gain is not None
    assert (gain.unit, gain.n_units) == (unit, n_units)
    report = charlm.score(lists, scorer=own, weight=["am=-1"], write="none", **options).report
    assert report is not None
    found = report.significance
    assert (found.unit, found.n_units) == (unit, n_units)


@pytest.mark.parametrize("kept", [["tsv"], {"format": 1, "columns": []}, {"format": "tsv"}])
def test_a_layout_of_lists_that_is_none_is_refused(kept: object, tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps({"format": 1, "weights": {"am": 1}, "lists": kept}))
    with pytest.raises(charlm.DataError, match="weights.json: lists is .*; expected format and co"):
        load_weights(path)
