"""Lists through `charlm.score`, against the models' own answers and sums by hand."""

import json
import math
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import charlm
from charlm.nbest.scorer import Words
from charlm.nbest.scorers import FunctionScorer
from charlm.run.stored_weights import load_run
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import FormIds

LISTS = "id\tam\ttext\nu\t-1.5\ta b\nu\t-1.25\ta c zz\nu\t-4\t\nv\t-3\th\nv\t-2\th g\n"


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def written(*arguments: object, **options: object) -> list[list[str]]:
    """The table that comes out."""
    pieces: list[str] = []
    charlm.score(*arguments, out=pieces.append, threads=1, **options)
    return rows("".join(pieces))


def alone(run: Path, sentence: Sequence[str]) -> float:
    """log P of a sentence by the code that evaluates texts, in nats."""
    loaded = load_run(run)
    ids = FormIds(loaded.inventory)
    encoded = [np.array([*(ids[word] for word in sentence), END], np.int32)]
    vectors = FormVectors(loaded.model, loaded.inventory, oov_input=loaded.oov_input)
    (nlls,) = sentence_nlls(vectors, encoded, spellings=ids.spellings)
    return -float(nlls.sum(dtype=np.float64))


@pytest.mark.parametrize("oov_input", ["unk", "spelling"])
def test_the_score_of_a_hypothesis_is_that_of_its_sentence_alone(
    saved_run: Callable[..., Path], lists: Path, oov_input: str
) -> None:
    run = saved_run("random", oov_input=oov_input)
    found = written(lists, model=run)
    assert found[0] == ["id", "am", "charlm", "text"]
    for row, before in zip(found[1:], rows(LISTS)[1:], strict=True):
        assert [*row[:2], row[3]] == before
        assert float(row[2]) == pytest.approx(alone(run, before[2].split()), abs=1e-4)


def test_a_total_is_the_weighted_sum_and_the_largest_comes_first(run: Path, lists: Path) -> None:
    weights = {"am": 2.0, "nn": 0.5, "words": -0.25, "oov": -1.0}
    chosen = [f"{name}={value}" for name, value in weights.items()]
    best = written(lists, model=run, weight=chosen, write="tsv")
    totals = {}
    for id, am, text in rows(LISTS)[1:]:
        words = text.split()
        features = float(am), alone(run, words), len(words), words.count("zz")
        total = sum(w * f for w, f in zip(weights.values(), features, strict=True))
        totals.setdefault(id, []).append((total, text))
    assert len(best) == 1 + len(totals)
    for row in best[1:]:
        total, text = max(totals[row[0]])
        assert row[4] == text
        assert float(row[3]) == pytest.approx(total, abs=1e-4)


def test_the_caller_can_bring_a_scorer_alone_and_hypotheses_that_tie_keep_their_order(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("u\ta b\nu\tb a\nu\tc\nu\tb b\n")
    asked: list[Words] = []

    def by_length(sentences: Sequence[Words]) -> list[list[float]]:
        asked.extend(sentences)
        return [[0.0] * len(words) + [len(words) - 2.0] for words in sentences]

    scorer = FunctionScorer(by_length)
    result = charlm.score(path, scorer=scorer, write="ranked", out=tmp_path / "out")
    assert asked == [("a", "b"), ("b", "a"), ("c",), ("b", "b")]
    texts = [row[-1] for row in rows((tmp_path / "out").read_text())]
    assert texts == ["a b", "b a", "b b", "c"]
    assert result.scorers == {"own": "a scorer of the caller's"}
    assert result.weights is not None
    assert result.weights.values == {"own": 1.0}


def test_lists_are_the_same_whatever_is_scored_together(run: Path, lists: Path) -> None:
    together, one_by_one, small = (
        written(lists, model=run, **options)
        for options in ({}, {"line_buffered": True}, {"at_once": 2, "memory": 1})
    )
    assert together == one_by_one == small


def test_a_list_comes_before_the_next_one_is_read(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("u\t-1\ta\nv\t-2\tb\nv\tbad\tb\n")
    pieces: list[str] = []
    with pytest.raises(charlm.DataError, match=r"lists\.tsv:3: column 'c2': found 'bad'"):
        charlm.score(path, model=run, format="tsv", line_buffered=True, out=pieces.append)
    assert [piece.split("\t")[0] for piece in pieces] == ["u"]


def test_a_file_of_results_is_whole_or_not_there(run: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "lists.tsv", tmp_path / "out.tsv"
    path.write_text("u\t-1\ta\nv\t-2\tb\nv\tbad\tb\n")
    with pytest.raises(charlm.DataError):
        charlm.score(path, model=run, out=out, line_buffered=True)
    assert sorted(tmp_path.iterdir()) == sorted([path, run])


def test_an_interrupt_leaves_what_was_there(lists: Path, tmp_path: Path) -> None:
    def interrupted(sentences: Sequence[Words]) -> list[list[float]]:
        if ("h",) in sentences:
            raise KeyboardInterrupt
        return [[0.0] * (len(words) + 1) for words in sentences]

    out = tmp_path / "out.tsv"
    out.write_text("older")
    with pytest.raises(KeyboardInterrupt):
        charlm.score(lists, scorer=FunctionScorer(interrupted), out=out, line_buffered=True)
    assert out.read_text() == "older"
    assert sorted(tmp_path.iterdir()) == [lists, out]


def test_a_hypothesis_is_read_by_the_runs_text_rules_and_without_noise(
    saved_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = saved_run("random", normalisation=Normalisation(lower=True))
    path = tmp_path / "lists.tsv"
    path.write_text("u\tA [laugh] B\nu\ta b\n")
    found = written(path, model=run)
    assert found[0][1] == found[1][1]
    result = charlm.score(path, model=run)
    assert result.text.to_dict() == {
        "n_hypotheses": 2,
        "n_words": 5,
        "n_read": 4,
        "n_noise": 1,
        "n_changed": 2,
        "changed_by_rule": {},
        "n_unknown": 0,
        "most_frequent_unknown": {},
    }
    assert charlm.score(path, model=run, raw=True).text.n_unknown == 3


def test_sentences_are_scored_as_eval_scores_them_brackets_and_all(
    run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a [b] c\n\n<x> a\n")
    pieces: list[str] = []
    charlm.score(path, model=run, out=pieces.append)
    evaluated: list[float] = []
    charlm.evaluate(
        run,
        files=[path],
        state="sentence",
        on_sentence=lambda sentence: evaluated.append(float(sum(sentence.log10_probs))),
    )
    scores = [float(line) for line in "".join(pieces).split()]
    assert len(scores) == 3
    assert scores == pytest.approx(evaluated, abs=1e-4)


def test_with_a_memory_a_list_follows_the_chosen_ones_of_its_recording(
    run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "lists.jsonl"
    ids = ["x-1", "x-2", "y-1"]
    hyps = [{"text": "a b", "am": 0.0}, {"text": "c", "am": 9.0}]
    path.write_text("".join(json.dumps({"id": id, "hyps": hyps}) + "\n" for id in ids))
    options = {"model": run, "weight": ["am=9"], "context": "previous"}
    found = [json.loads("\t".join(row))["hyps"] for row in written(path, **options)]
    first, second, third = ([hyp["charlm"] for hyp in each] for each in found)
    assert first == third  # a new recording
    assert first[0] == pytest.approx(alone(run, ["a", "b"]), abs=1e-4)
    after = alone(run, ["c", "</s>", "a", "b"]) - alone(run, ["c"])
    assert second[0] == pytest.approx(after, abs=1e-4)
    assert charlm.score(path, **options).counts.n_recordings == 2


def test_weights_are_not_reported_on_the_lists_of_their_tuning(
    run: Path, lists: Path, tmp_path: Path
) -> None:
    refs, weights = tmp_path / "refs", tmp_path / "weights.json"
    refs.write_text("u a b\nv h\n")
    charlm.tune(lists, refs=refs, model=run, out=weights, folds=0)
    with pytest.raises(charlm.ConfigError, match=r"weights\.json: tuned on lists that are reporte"):
        charlm.score(lists, refs=refs, model=run, weights=weights, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()  # before anything is scored
    told = charlm.score(lists, refs=refs, model=run, weights=weights, allow_test_tuning=True)
    assert told.report is not None
    assert told.report.n_lists == 2


def test_lists_without_a_reference_are_left_out_if_they_may_be(
    run: Path, lists: Path, tmp_path: Path
) -> None:
    refs = tmp_path / "refs"
    refs.write_text("u a b\n")
    with pytest.raises(charlm.DataError, match=r"no reference for 1 of 2 lists \('v'\)"):
        charlm.score(lists, refs=refs, model=run)
    result = charlm.score(lists, refs=refs, model=run, allow_missing=True)
    assert result.n_without_reference == 1
    assert result.report is not None
    assert result.report.n_lists == 1


def test_references_may_be_in_the_lists(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("id\ttext\tref\nu\ta b\ta b\nu\ta\ta b\n")
    result = charlm.score(path, refs="own", model=run)
    assert result.report is not None
    assert result.report.first.error == 0.0


def test_a_feature_of_the_list_with_a_scorers_name_is_refused(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("id\tnn\ttext\nu\t-1\ta b\n")
    expected = r"lists\.tsv:2: the list has a feature 'nn' already, and scoring adds one; rename"
    with pytest.raises(charlm.ConfigError, match=expected):
        charlm.score(path, model=run)


def test_a_packed_list_is_written_packed(run: Path, lists: Path, tmp_path: Path) -> None:
    import gzip

    out = tmp_path / "out.tsv.gz"
    charlm.score(lists, model=run, out=out)
    assert gzip.decompress(out.read_bytes()).startswith(b"id\tam\tcharlm\ttext\n")


def test_a_result_is_json(run: Path, lists: Path) -> None:
    found = charlm.score(lists, model=run, weight=["am=1"]).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["format"], found["n_lists"], found["n_empty"]) == ("tsv", 2, 1)
    assert found["ignored"] == ["words", "oov"]
    # </s> + a b, a c zz, "" from one root, h, h g: 5 words and a root; 8 words and 5 ends.
    assert found["sharing"] == pytest.approx(13 / 7)
    assert not math.isnan(float(str(found["seconds"])))


def test_the_counts_of_lists_are_shown_without_the_texts(run: Path, lists: Path) -> None:
    shown = repr(charlm.score(lists, model=run, weight=["am=1"]).counts)
    assert shown.startswith("ListCounts(n_lists=2, ")
    assert shown.endswith("features=('am', 'nn', 'words', 'oov'))")


def test_lists_of_a_folder_go_to_a_folder(run: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "lists", tmp_path / "new"
    folder.mkdir()
    (folder / "text").write_text("u-1 a b\nu-2 a\n")
    (folder / "acwt").write_text("u-1 10\nu-2 20\n")
    charlm.score(folder, model=run, out=out)
    assert (out / "acwt").read_text() == "u-1 10\nu-2 20\n"
    costs = [line.split() for line in (out / "charlm").read_text().splitlines()]
    assert [key for key, _ in costs] == ["u-1", "u-2"]
    found = [float(cost) for _, cost in costs]
    assert found == pytest.approx([-alone(run, ["a", "b"]), -alone(run, ["a"])], abs=1e-4)
    charlm.score(folder, model=run, out=tmp_path / "best", write="text")
    assert (tmp_path / "best").read_text().count("\n") == 1


def test_without_a_model_a_lists_own_features_rank_it(lists: Path) -> None:
    best = written(lists, weight=["am=1", "words=-2"], write="tsv")
    totals: dict[str, list[tuple[float, str]]] = {}
    for id, am, text in rows(LISTS)[1:]:
        totals.setdefault(id, []).append((float(am) - 2 * len(text.split()), text))
    assert [(row[0], float(row[3]), row[4]) for row in best[1:]] == [
        (id, *max(found)) for id, found in totals.items()
    ]
    assert [row[2] for row in best[1:]] == ["NA", "NA"]  # no model, no score


def test_unknown_words_have_no_price_where_nobody_counts_them(lists: Path, tmp_path: Path) -> None:
    with pytest.raises(charlm.ConfigError) as caught:
        charlm.score(lists, weight=["am=1", "oov=-5"])
    assert str(caught.value) == (
        "weight 'oov': without a model no word is unknown, and it counts nothing; expected --model "
        "or --lm, or a column oov of the list"
    )
    own = tmp_path / "own.tsv"
    own.write_text("id\tam\toov\ttext\nu\t-1\t1\tzz\nu\t-2\t0\ta\n")
    assert written(own, weight=["am=1", "oov=-5"], write="text") == [["a"]]


@pytest.mark.parametrize(("n_new", "expected"), [(0, -15 - 4), (1, -15 - 4 + 1 - 6 / 2)])
def test_without_weights_new_models_get_half_of_the_old_ones(
    n_new: int, expected: float, tmp_path: Path, save_unigrams: Callable[..., Path]
) -> None:
    (tmp_path / "l.tsv").write_text("id\tam\tgraph\ttext\nu\t-150\t-4\ta b\n")
    third = -2 / math.log(10) / 3  # in log10: the three tokens have e^-2 together
    old = save_unigrams(tmp_path / "old.arpa", end=third, a=third, b=third)
    scorer = FunctionScorer(lambda sentences: [[-2.0] * (len(words) + 1) for words in sentences])
    options = {"scorer": scorer} if n_new else {}
    pieces: list[str] = []
    charlm.score(tmp_path / "l.tsv", old_lm=old, write="jsonl", out=pieces.append, **options)
    (found,) = map(json.loads, "".join(pieces).split("\n")[:1])
    # The acoustic score times Kaldi's 0.1, the graph's rest, and the language models.
    assert found["total"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("line", "own"),
    [("-1 -2 2 a b", 8.0), ("0 -1 -2 2 <s> a b </s>", 12.0)],
    ids=["srilm", "cued"],
)
def test_without_weights_the_scale_of_lists_own_model_is_shared_with_new_ones(
    line: str, own: float, tmp_path: Path
) -> None:
    (tmp_path / "list").write_text(f"{line}\n{line}\n")
    scorer = FunctionScorer(lambda sentences: [[-2.0] * (len(words) + 1) for words in sentences])
    pieces: list[str] = []
    result = charlm.score(tmp_path / "list", scorer=scorer, write="text", out=pieces.append)
    assert result.weights is not None
    assert result.weights.values == {"am": 1.0, "old_lm": own / 2, "own": own / 2}


def test_without_a_model_and_weights_lists_keep_their_order(lists: Path, tmp_path: Path) -> None:
    (tmp_path / "refs").write_text("u a b\nv h\n")
    result = charlm.score(lists, refs=tmp_path / "refs")
    assert result.report is not None
    assert result.report.rescored == result.report.first
    assert (result.counts.n_moved, result.scorers, result.sharing) == (0, {}, None)
    assert written(lists, write="ranked") == rows(LISTS)
    found = [json.loads("\t".join(row)) for row in written(lists, write="nbest")]
    assert [[hyp["scores"] for hyp in each["hyps"]] for each in found] == [
        [{"am": float(am)} for id, am, _ in rows(LISTS)[1:] if id == each["id"]] for each in found
    ]


def test_sentences_have_nothing_to_be_ranked_by_but_models(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b\n")
    with pytest.raises(charlm.ConfigError, match=r"a\.txt: sentences have no features of th"):
        charlm.score(tmp_path / "a.txt", weight=["words=1"])


@pytest.mark.parametrize("measure", [charlm.score, charlm.tune])
def test_what_only_a_writer_needs_is_not_kept_for_rates(
    measure: Callable[..., object], tmp_path: Path
) -> None:
    lists, refs = tmp_path / "lists.tsv", tmp_path / "refs"
    rows = (f"u{i}\t{'x' * 40_000}\t-1\ta b\nu{i}\t{'x' * 40_000}\t-2\ta\n" for i in range(500))
    lists.write_text("".join(rows))
    refs.write_text("".join(f"u{i} a b\n" for i in range(500)))
    tracemalloc.start()
    measure(lists, refs=refs, columns="id,-,am,text", at_once=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000  # the lists are 40 MB
