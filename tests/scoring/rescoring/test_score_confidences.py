"""Confidences from `charlm.score` and the scale from `charlm.tune`, on lists of a few words."""

import json
import math
from pathlib import Path

import pytest

import charlm
from charlm.nbest.hypotheses import Sureness
from charlm.nbest.ranking.weights import Weights, load_weights
from charlm.scoring.rescoring.answers.result import ScoreResult

# Totals by am alone: u 4/7, 2/7, 1/7; v is empty at best, 2/3 against 1/3; w is alone.
LN2 = math.log(2)
LISTS = f"""\
id\tam\ttext
u\t{-LN2}\tthe hat
u\t0\tthe cat
u\t{-2 * LN2}\tcat
v\t0\t
v\t{-LN2}\toh
w\t-5\tso
"""
REFS = "u the hat\nv oh\nw so\n"
ROWS = [["u", "1", "the", "0.857143"], ["u", "2", "cat", "0.714286"], ["w", "1", "so", "1.000000"]]


def table(lists: Path, **options: object) -> tuple[list[list[str]], ScoreResult]:
    pieces: list[str] = []
    chosen = {"weight": ["am=1"], "write": "confidences", "out": pieces.append, **options}
    result = charlm.score(lists, **chosen)  # type: ignore[arg-type]
    header, *rows = "".join(pieces).splitlines()
    assert header == "id\tposition\tword\tconfidence"
    return [row.split("\t") for row in rows], result


def test_each_word_of_the_best_hypotheses_has_a_row(lists: Path) -> None:
    rows, result = table(lists)
    assert rows == ROWS
    assert result.counts.n_empty_wins == 1
    assert result.confidences is None


def test_posteriors_stand_beside_the_totals_and_add_up_to_1(lists: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    charlm.score(lists, weight=["am=1"], write="nbest", out=out)
    found = [
        [each["scores"]["charlm_posterior"] for each in json.loads(line)["hyps"]]
        for line in out.read_text().splitlines()
    ]
    assert found == [pytest.approx([4 / 7, 2 / 7, 1 / 7]), pytest.approx([2 / 3, 1 / 3]), [1.0]]


def test_the_scale_is_that_of_the_option_else_of_the_weights(lists: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    Weights({"am": 1.0}, sureness=Sureness(2.0)).save(path)
    rows, result = table(lists, weights=path, weight=())
    # Squares: 16/21, 4/21, 1/21.
    assert [row[3] for row in rows] == [f"{20 / 21:.6f}", f"{17 / 21:.6f}", "1.000000"]
    assert result.notices.said_otherwise == []
    rows, result = table(lists, weights=path, weight=(), posterior_scale=1.0)
    assert rows == ROWS
    assert result.notices.said_otherwise == []
    rows, _ = table(lists, posterior_scale=0.0)
    assert [row[3] for row in rows] == ["0.666667", "0.666667", "1.000000"]


@pytest.mark.parametrize(
    "options", [{"write": "confidences"}, {"write": "nbest"}, {"write": "ranked", "dedup": "sum"}]
)
def test_where_no_scale_is_known_it_is_told_how_to_get_one(
    lists: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"format": 1, "weights": {"am": 1}}')
    result = charlm.score(lists, weights=path, out=tmp_path / "out", **options)
    assert result.notices.said_otherwise == [
        "posteriors are of the totals as they are (scale 1), and may be far too sure, or not sure "
        "enough: charlm tune finds a scale on words, right or wrong (by WER or CER), "
        "--posterior-scale sets one"
    ]


def test_nothing_is_told_where_no_posterior_is_written_or_lists_have_one_hypothesis(
    lists: Path, tmp_path: Path
) -> None:
    result = charlm.score(lists, weight=["am=1"], write="tsv", out=tmp_path / "out")
    assert result.notices.said_otherwise == []
    lists.write_text("id\tam\ttext\nu\t-1\ta\n")
    _, result = table(lists)
    assert result.notices.said_otherwise == []


def test_a_feature_that_is_no_number_counts_as_the_worst_of_its_list(lists: Path) -> None:
    lists.write_text(LISTS.replace(f"{-2 * LN2}", "nan"))
    rows, _ = table(lists, on_nan="worst")
    assert [row[3] for row in rows[:2]] == ["0.750000", "0.750000"]  # 1/2, 1/4, 1/4


def test_lists_that_follow_each_other_in_a_recording_have_confidences_too(
    run: Path, lists: Path
) -> None:
    alone, _ = table(lists, model=run, weight=["am=1", "nn=0"])
    after, _ = table(lists, model=run, weight=["am=1", "nn=0"], context="previous")
    assert alone == after == ROWS


def test_of_hypotheses_that_are_ranked_together_the_sum_counts(lists: Path) -> None:
    lists.write_text(f"id\tam\ttext\nu\t0\ta\nu\t{-LN2}\tb\nu\t{-2 * LN2}\ta\n")
    shares = [table(lists, dedup=dedup)[0][0][3] for dedup in ("none", "sum", "max")]
    assert shares == ["0.714286", "0.714286", "0.666667"]
    sure = [table(lists, dedup=dedup, posterior_scale=2.0)[0][0][3] for dedup in ("none", "sum")]
    assert sure == ["0.809524", "0.809524"]  # 17/21


def test_a_sum_takes_the_scale_whatever_is_written(lists: Path) -> None:
    lists.write_text(f"id\tam\ttext\nu\t0\ta\nu\t{-0.4 * LN2}\tb\nu\t{-0.4 * LN2}\tb\n")
    best: list[str] = []
    for scale in (None, 3.0):
        charlm.score(
            lists, weight="am=1", dedup="sum", posterior_scale=scale, write="text", out=best.append
        )
    assert best == ["b\n", "a\n"]


def test_confidences_of_lattices_are_those_of_their_best_paths(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    path = tmp_path / "lattices"
    path.write_text(texts["kaldi-lattice"])
    rows, _ = table(path)
    assert rows[-2:] == [["utt-B", "1", "a", "1.000000"], ["utt-C", "1", "h", "0.500000"]]
    assert {row[0] for row in rows} == {"utt-A", "utt-B", "utt-C"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": ()}, "list 'u': no feature has a weight, so that all hypotheses are equally"),
        ({"sort": True}, "--sort: --write confidences has no list to sort; expected one of"),
        ({"posterior_scale": -1.0}, "--posterior-scale -1.0: expected 0 to 1e+30"),
        ({"posterior_scale": math.nan}, "--posterior-scale nan: expected"),
        (
            {"posterior_scale": 0.5, "write": "tsv"},
            "--posterior-scale 0.5: --write tsv has no posteriors; expected one of nbest, confid",
        ),
    ],
)
def test_what_has_no_confidences_is_refused(
    lists: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(charlm.ConfigError) as caught:
        table(lists, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["a b\nh\n", "a b (u1)\nh (u2)\n"])
def test_sentences_have_no_confidences(text: str, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(text)
    with pytest.raises(charlm.ConfigError) as caught:
        table(path, model=run, weight=())
    assert str(caught.value) == (
        "--write confidences: sentences are no list, and every word would be certain; expected "
        "lists of hypotheses, or lattices"
    )


def test_with_references_it_is_measured_how_good_confidences_are(lists: Path, refs: Path) -> None:
    rows, result = table(lists, refs=refs)
    found = result.confidences
    assert rows == ROWS
    assert found is not None
    # "the" 6/7 and "so" 1 are right, "cat" 5/7 is wrong; two of three are right.
    assert (found.n_words, found.n_correct, found.n_contested) == (3, 2, 2)
    entropy = -(2 * math.log2(2 / 3) + math.log2(1 / 3))
    bits = math.log2(6 / 7) + math.log2(1 - 1e-7) + math.log2(1 - 5 / 7)
    assert found.nce == pytest.approx((entropy + bits) / entropy)
    assert found.nce_contested == pytest.approx((2 + math.log2(6 / 7) + math.log2(2 / 7)) / 2)
    assert result.to_dict()["confidences"] == found.to_dict()
    assert result.report is not None
    assert result.report.rescored.substitutions == 1


def test_lists_without_a_reference_are_left_out_of_the_measure(lists: Path, refs: Path) -> None:
    refs.write_text("w so\n")
    _, result = table(lists, refs=refs, allow_missing=True)
    assert result.confidences is not None
    assert (result.confidences.n_words, result.n_without_reference) == (1, 2)


@pytest.mark.parametrize(
    "options", [{"write": "nbest"}, {"write": "confidences", "metric": "bleu"}]
)
def test_only_confidences_whose_words_are_right_or_wrong_are_measured(
    lists: Path, refs: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    result = charlm.score(lists, weight=["am=1"], refs=refs, out=tmp_path / "out", **options)
    assert result.confidences is None


def test_tune_keeps_a_scale_that_is_better_than_its_neighbours(tmp_path: Path) -> None:
    texts = [("the cat", "the hat"), ("so", "no"), ("a dog", "dog")]
    dev = "".join(
        f"{n}\t{am}\t{text}\n"
        for n in range(30)
        for am, text in zip((0, -n), texts[n % 3], strict=True)
    )
    lists, refs, path = tmp_path / "dev.tsv", tmp_path / "refs", tmp_path / "w.json"
    lists.write_text("id\tam\ttext\n" + dev)
    refs.write_text("".join(f"{n} {texts[n % 3][n < 9 and n % 2]}\n" for n in range(30)))
    tuned = charlm.tune(lists, refs=refs, tuned="am", folds=0, restarts=0, out=path)
    found = load_weights(path).sureness
    assert found is not None
    assert tuned.weights.sureness == found
    assert json.loads(path.read_text())["sureness"] == found._asdict()

    def nce(**options: float) -> float:
        _, result = table(
            lists, weights=path, weight=(), refs=refs, allow_test_tuning=True, **options
        )
        assert result.confidences is not None
        assert result.confidences.nce is not None
        return result.confidences.nce

    best = nce()
    for neighbour in (found.scale * 1.05, found.scale / 1.05):
        assert nce(posterior_scale=neighbour) < best


def test_translations_have_no_scale(lists: Path, refs: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    charlm.tune(lists, refs=refs, metric="bleu", folds=0, restarts=0, out=path)
    assert "sureness" not in json.loads(path.read_text())
