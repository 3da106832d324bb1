"""Weights: totals by hand, rankings with ties, overrides, and untrusted files."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored, Sureness
from charlm.nbest.ranking.features import FeatureTable, weighted
from charlm.nbest.ranking.weights import Origin, Weights, load_weights, parse_weights, rescored
from charlm.nbest.references.fingerprint import Fingerprint

TABLE = FeatureTable(("am", "nn"), np.array([[-10.0, -6.0], [-8.0, -7.0], [-8.0, -7.0]]))
NBEST = NbestList("u", tuple(Hypothesis((word,), {}, "x:1") for word in "abc"))
PRINT = Fingerprint(2, "ab", ("0a", "0b"))
ORIGIN = Origin(
    "wer|case:mixed", 0.125, 7, "0.1.0", PRINT, history="--context previous", unknown=0.25
)


def test_a_total_is_the_weighted_sum_and_a_feature_without_weight_has_no_say() -> None:
    totals = [
        weighted(TABLE.values_HF, Weights(values).of(TABLE)).tolist()
        for values in ({"am": 2.0, "nn": 0.5}, {"nn": 1.0})
    ]
    assert totals == [[-23.0, -19.5, -19.5], [-6.0, -7.0, -7.0]]


def test_of_equal_totals_the_larger_am_comes_first() -> None:
    tied = FeatureTable(("nn", "am"), np.array([[1.0, -3.0], [1.0, -1.0], [2.0, -9.0]]))
    assert rescored(NBEST, tied, weights=Weights({"nn": 1.0})).order == (2, 1, 0)
    without = FeatureTable(("nn", "ac"), tied.values_HF)
    assert rescored(NBEST, without, weights=Weights({"nn": 1.0})).order == (2, 0, 1)


def test_equal_totals_keep_the_order_of_the_list() -> None:
    result = rescored(NBEST, TABLE, weights=Weights({"am": 1.0}), scores=[-1.0, -2.0, -3.0])
    assert result.order == (1, 2, 0)
    assert result.totals == (-10.0, -8.0, -8.0)
    assert result.scores == (-1.0, -2.0, -3.0)
    assert result.best.words == ("b",)
    without_am = FeatureTable(("lm", "nn"), TABLE.values_HF)
    assert rescored(NBEST, without_am, weights=Weights({"nn": 1.0})).order == (0, 1, 2)


def test_where_nothing_has_a_weight_the_order_of_the_list_stays() -> None:
    assert rescored(NBEST, TABLE, weights=Weights({})) == Rescored(NBEST)
    assert rescored(NBEST, TABLE, weights=Weights({"am": 0.0})).order == (0, 1, 2)
    same = NbestList("u", (NBEST.hypotheses[1], *NBEST.hypotheses[:2]))
    assert rescored(same, TABLE, weights=Weights({}), dedup="max").ranking == (0, 2, 1)


def test_ties_keep_their_order_in_a_long_list() -> None:
    values_HF = np.array([[float(rank % 2)] for rank in range(500)])
    nbest = NbestList("u", (NBEST.hypotheses[0],) * 500)
    result = rescored(nbest, FeatureTable(("am",), values_HF), weights=Weights({"am": 1.0}))
    assert result.order == (*range(1, 500, 2), *range(0, 500, 2))


def test_a_weight_for_a_feature_that_the_list_lacks_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^weight 'kn': no such feature; this list has am, nn$"):
        Weights({"kn": 1.0}).of(TABLE)
    with pytest.raises(ConfigError, match=r"^x:1: weight 'kn': no such feature; this list has am,"):
        rescored(NBEST, TABLE, weights=Weights({"kn": 1.0}))


def test_weights_come_back_from_their_file_with_how_they_were_tuned(tmp_path: Path) -> None:
    weights = Weights({"am": 1.0, "nn": 0.1 + 0.2}, ORIGIN, raw=True, sureness=Sureness(0.25, 0.9))
    weights.save(tmp_path / "w.json")
    assert load_weights(tmp_path / "w.json") == weights
    content = json.loads((tmp_path / "w.json").read_text())
    assert content["weights"] == {"am": 1.0, "nn": 0.30000000000000004}
    assert content["tuned"]["metric"] == "wer|case:mixed"


def test_overrides_go_over_the_file_and_leave_its_origin(tmp_path: Path) -> None:
    Weights({"am": 1.0, "nn": 2.0}, ORIGIN).save(tmp_path / "w.json")
    weights = parse_weights(tmp_path / "w.json", ["nn=.6", "words=-1e1"])
    assert weights == Weights({"am": 1.0, "nn": 0.6, "words": -10.0}, ORIGIN)


def test_without_a_file_overrides_go_over_the_base() -> None:
    for said in (["nn=2"], {"nn": 2.0}):
        assert parse_weights(None, said, base={"am": 1.0}).values == {"am": 1.0, "nn": 2.0}


def test_an_override_of_an_unknown_feature_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"weight 'mm': no such feature; this list has am, nn"):
        parse_weights(None, ["mm=1"], known=["am", "nn"])


def test_a_file_that_weighs_an_unknown_feature_is_named_and_how_models_come(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    Weights({"am": 1.0, "nn": 2.0}).save(path)
    with pytest.raises(ConfigError) as error:
        parse_weights(path, ["mm=1"], known=["am", "words"])
    assert str(error.value) == (
        f"{path}: weight 'nn': no such feature; this list has am, words; "
        "expected what the weights were tuned with, models by --model, --lm or --old-lm"
    )


def test_a_weight_that_a_table_without_a_header_lacks_asks_for_columns() -> None:
    message = "list has c3, nn; c3 is a column without a name, which --columns gives$"
    with pytest.raises(ConfigError, match=message):
        parse_weights(None, ["am=1"], known=["c3", "nn"])


@pytest.mark.parametrize(
    "text", ["nn", "=1", "nn=", "nn=x", "nn=nan", "nn=1e999", "nn=1_0", "nn=1e31"]
)
def test_an_override_that_is_no_name_and_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--weight '.*': expected NAME=NUMBER, as nn=.6"):
        parse_weights(None, [text])


def test_two_overrides_of_one_weight_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--weight 'nn=2': nn stands twice; expected it once$"):
        parse_weights(None, ["nn=1", "am=1", "nn=2"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a file of weights; expected one that charlm tune wrote"),
        ('{"format": 2, "weights": {}}', "not a file of weights"),
        ('{"format": 1}', "not a file of weights; expected one that charlm tune wrote"),
        ('{"format": 1, "weights": null}', "weights are None; expected an object of numbers"),
        ('{"format": 1, "weights": {"nn": "1"}}', "expected an object of numbers"),
        ('{"format": 1, "weights": {"nn": true}}', "expected an object of numbers"),
        ('{"format": 1, "weights": {"nn": 1e31}}', "expected an object of numbers"),
        ('{"format": 1, "weights": {"nn": NaN}}', "not valid JSON"),
        ('{"format": 1, "weights": {}, "mixture": [1]}', "mixture is [1]; expected an object of"),
        ('{"format": 1, "weights": {}, "raw": 1}', "raw is 1; expected true or false"),
        ('{"format": 1, "weights": {}, "sureness": 1}', "sureness is 1; expected an object of num"),
        ('{"format": 1, "weights": {}, "sureness": {"scale": 1}}', "expected a scale, 0 or more,"),
        (
            '{"format": 1, "weights": {}, "sureness": {"scale": -1, "ceiling": 1}}',
            "sureness is {'scale': -1, 'ceiling': 1}; expected a scale, 0 or more, and a ceiling",
        ),
        ('{"format": 1, "weights": {}, "sureness": {"scale": 1, "ceiling": 2}}', " of 0 to 1"),
        ('{"format": 1, "weights": {}, "tuned": 3}', "tuned is 3; expected how the weights"),
        ('{"format": 1, "weights": {}, "tuned": {"lists": {"n": 1}}}', "tuned is "),
    ],
)
def test_a_file_that_is_not_one_of_weights_is_refused_in_one_line(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "w.json"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        load_weights(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_file_of_weights_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"w.json: no such file; expected weights"):
        load_weights(tmp_path / "w.json")


def test_a_folder_instead_of_weights_is_not_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r": is a folder; expected weights, as charlm tune writes"):
        load_weights(tmp_path)


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_weights_from_a_pipe_are_refused_since_they_are_read_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(DataError, match=rf"^{name}: a pipe; expected a file of weights: it is"):
        load_weights(name)
