"""`charlm.score` on duplicates, orders, and references that are wrong from the start."""

import json
import math
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.nbest.formats.tsv import TsvFormat
from charlm.nbest.ranking.weights import load_weights
from charlm.nbest.reading.repairs import ZERO, Filling
from charlm.nbest.scorer import Words

LISTS = "id\tam\ttext\nu\t-2\ta b\nu\t-2.25\tc\nu\t-2.5\ta b\nv\t-1\td\nv\t-3\td\n"


class Counting:
    """A user's function that counts what it is asked; each word is worth e^-1, the end nothing."""

    def __init__(self) -> None:
        self.n_sentences = 0

    def __call__(self, sentences: Sequence[Words]) -> list[list[float]]:
        self.n_sentences += len(sentences)
        return [[*[-1.0] * len(words), 0.0] for words in sentences]


@pytest.fixture
def asked() -> Counting:
    return Counting()


@pytest.fixture
def scorer(asked: Counting) -> charlm.FunctionScorer:
    return charlm.FunctionScorer(asked)


def written(*arguments: object, **options: object) -> str:
    pieces: list[str] = []
    charlm.score(*arguments, out=pieces.append, weight=["am=1", "own=0"], **options)
    return "".join(pieces)


BOTH = math.log(math.exp(-2) + math.exp(-2.5))


@pytest.mark.parametrize(
    ("dedup", "totals"), [("none", [-2, -2.25, -2.5]), ("sum", [BOTH, -2.25]), ("max", [-2, -2.25])]
)
def test_one_of_the_same_words_stands_for_all_with_its_own_features_and_their_total(
    lists: Path, scorer: charlm.FunctionScorer, dedup: str, totals: list[float]
) -> None:
    first, *_ = written(lists, scorer=scorer, dedup=dedup, write="nbest").splitlines()
    found = json.loads(first)["hyps"]
    assert [each["scores"]["charlm_total"] for each in found] == pytest.approx(totals, abs=1e-6)
    assert found[0]["scores"]["am"] == -2
    best = written(lists, scorer=scorer, dedup=dedup, write="tsv").splitlines()[1].split("\t")
    assert float(best[3]) == pytest.approx(totals[0], abs=1e-6)


def test_all_lines_stay_where_lists_are_written_as_they_came(
    lists: Path, scorer: charlm.FunctionScorer
) -> None:
    for dedup in ("none", "sum", "max"):
        kept = written(lists, scorer=scorer, dedup=dedup)
        assert ["\t".join(line.split("\t")[::3]) for line in kept.splitlines()[1:]] == [
            *("u\ta b", "u\tc", "u\ta b", "v\td", "v\td")
        ]
    ranked = written(lists, scorer=scorer, dedup="sum", sort=True).splitlines()
    assert [line.split("\t")[1] for line in ranked[1:]] == ["-2", "-2.5", "-2.25", "-1", "-3"]


def test_sorted_is_ranked_and_the_order_of_the_lists_stays(
    lists: Path, scorer: charlm.FunctionScorer
) -> None:
    lists.write_text("id\tam\ttext\nv\t-3\ta\nv\t-1\tb\nu\t-2\tc\n")
    assert written(lists, scorer=scorer, sort=True) == written(lists, scorer=scorer, write="ranked")
    assert [line[0] for line in written(lists, scorer=scorer, sort=True).splitlines()[1:]] == [
        *("v", "v", "u")
    ]


WRONG = [
    (None, "refs: no such file"),
    ("", "refs: empty; expected references"),
    ("x-1 a\nx-2 b\n", "refs: 2 references for 2 lists, 0 with an id of theirs"),
    ("u a b\n", "refs: no reference for 1 of 2 lists ('v')"),
    ("u\nv\n", "refs: no word in any of 2 references; expected some"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("has_model", [False, True])
def test_references_that_are_wrong_are_noticed_before_anything_is_scored_or_written(
    lists: Path,
    tmp_path: Path,
    scorer: charlm.FunctionScorer,
    asked: Counting,
    set_stdin: Callable[[bytes], None],
    text: str | None,
    message: str,
    piped: bool,
    has_model: bool,
) -> None:
    refs, out = tmp_path / "refs", tmp_path / "out"
    if text is not None:
        refs.write_text(text)
    if piped:
        set_stdin(LISTS.encode())
    options: Any = {"scorer": scorer} if has_model else {"weight": ["am=1"]}
    with pytest.raises(charlm.DataError) as caught:
        charlm.score("-" if piped else lists, refs=refs, out=out, **options)
    assert message in str(caught.value)
    assert asked.n_sentences == 0
    assert not out.exists()


def test_without_a_model_a_list_to_explain_is_missed_before_a_file_appears(
    lists: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(charlm.DataError, match="^--explain: found no list 'w'"):
        charlm.score(lists, explain="w", weight=["am=1"], out=out)
    assert not out.exists()


@pytest.mark.parametrize("has_model", [False, True])
def test_only_with_a_model_are_lists_read_before_they_are_scored(
    lists: Path,
    tmp_path: Path,
    scorer: charlm.FunctionScorer,
    monkeypatch: pytest.MonkeyPatch,
    has_model: bool,
) -> None:
    (tmp_path / "refs").write_text("u a b\nv d\n")
    readings: list[object] = []
    read = TsvFormat.read
    monkeypatch.setattr(TsvFormat, "read", lambda *args: readings.append(args) or read(*args))
    options = {"refs": tmp_path / "refs", "scorer": scorer if has_model else None}
    charlm.score(lists, weight=["am=1"], **options)
    charlm.tune(lists, folds=0, **options)
    assert len(readings) == (4 if has_model else 2)


def test_references_are_looked_at_before_a_tuning(
    lists: Path, tmp_path: Path, scorer: charlm.FunctionScorer, asked: Counting
) -> None:
    (tmp_path / "bad").write_text("u a b\nw d\n")
    with pytest.raises(charlm.DataError, match=r"bad: no reference for 1 of 2 lists \('v'\)"):
        charlm.tune(lists, refs=tmp_path / "bad", scorer=scorer, out=tmp_path / "weights")
    assert asked.n_sentences == 0
    assert not (tmp_path / "weights").exists()


def test_a_weight_that_a_tuning_would_drop_is_refused_before_anything_is_scored(
    lists: Path, tmp_path: Path, scorer: charlm.FunctionScorer, asked: Counting
) -> None:
    refs = tmp_path / "refs"
    refs.write_text("u a b\nv d\n")
    with pytest.raises(
        charlm.ConfigError, match="--weight am: --tuned own,words leaves it out, and"
    ):
        charlm.tune(lists, refs=refs, scorer=scorer, tuned="own,words", weight=["am=1"])
    assert asked.n_sentences == 0


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"columns": "id,text"}, "names of columns"),
        ({"features": ["am=acwt"]}, "files of features"),
        ({"length_penalty": 1.0}, "a length penalty"),
    ],
)
def test_what_lattices_have_no_use_for_is_refused_as_of_lists(
    tmp_path: Path, scorer: charlm.FunctionScorer, said: dict[str, object], what: str
) -> None:
    lattices = tmp_path / "lattices"
    lattices.write_text("utt\n0\t1\ta\t1,10\n1\n\n")
    expected = f"^format 'kaldi-lattice': found {what}; expected none; leave it out$"
    with pytest.raises(charlm.ConfigError, match=expected):
        charlm.score(lattices, scorer=scorer, **said)


@pytest.mark.parametrize("said", [{"write": "ranked"}, {"sort": True}])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("utt\n0\t1\ta\t1,10\n1\n\n", "a lattice has no order"),
        ("a b\na\n", "sentences are no list, and would be written as they came, without scores"),
        ("a b (u1)\n(u2)\n", "sentences are no list, and would be written as they came"),
    ],
)
def test_lattices_and_sentences_are_not_ranked(
    tmp_path: Path, scorer: charlm.FunctionScorer, said: dict[str, object], text: str, why: str
) -> None:
    path, out = tmp_path / "read", tmp_path / "out"
    path.write_text(text)
    with pytest.raises(charlm.ConfigError, match=rf"ranked \(--sort\): {why}"):
        charlm.score(path, scorer=scorer, out=out, **said)
    assert not out.exists()


def test_references_are_of_lattices_too(run: Path, tmp_path: Path) -> None:
    lattices, refs = tmp_path / "lattices", tmp_path / "refs"
    lattices.write_text("utt\n0\t1\ta\t1,10\n1\n\n")
    refs.write_text("other a\nutt b\n")
    with pytest.raises(charlm.DataError, match="refs: 1 references for no list"):
        charlm.score(lattices, model=run, refs=refs, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    result = charlm.score(lattices, model=run, refs=refs, allow_missing=True)
    assert result.report is not None
    assert result.report.first.error == 1.0


def test_lattices_through_a_pipe_follow_each_other_though_there_are_references(
    run: Path, tmp_path: Path, set_stdin: Callable[[bytes], None]
) -> None:
    lattices, refs = tmp_path / "lattices", tmp_path / "refs"
    lattices.write_text("".join(f"x-{n}\n0\t1\ta\t1,10\n1\n\n" for n in range(3)))
    refs.write_text("".join(f"x-{n} a\n" for n in range(3)))
    found = []
    for source in (lattices, "-"):
        set_stdin(lattices.read_bytes())
        pieces: list[str] = []
        options = {"refs": refs, "context": "previous", "write": "nbest"}
        charlm.score(source, model=run, out=pieces.append, **options)
        found.append(pieces)
    assert found[0] == found[1]
    scores = {json.loads(piece)["hyps"][0]["scores"]["nn"] for piece in found[0]}
    assert len(scores) == 3


def test_lattices_through_a_pipe_take_and_refuse_the_options_that_a_file_does(
    run: Path, tmp_path: Path, set_stdin: Callable[[bytes], None]
) -> None:
    lattices, words = tmp_path / "lattices", tmp_path / "words.txt"
    lattices.write_text("u\n0\t1\t1\t1,10\n1\n\n")
    words.write_bytes("<eps> 0\né 1\n".encode("latin-1"))
    found = []
    for source in (lattices, "-"):
        set_stdin(lattices.read_bytes())
        pieces: list[str] = []
        options = {"format": "kaldi-lattice", "encoding": "latin-1", "write": "nbest"}
        charlm.score(source, model=run, words_txt=words, out=pieces.append, **options)
        found.append(pieces)
        with pytest.raises(charlm.ConfigError, match="columns"):
            charlm.score(source, model=run, format="kaldi-lattice", columns="id,text")
    assert found[0] == found[1]
    assert json.loads(found[0][0])["hyps"][0]["text"] == "é"


@pytest.mark.parametrize(
    ("form", "first", "second"),
    [
        ("tsv", "u\t-1\ta\nv\t-2\tb\n", "w\t-1\ta\n"),
        ("kaldi-lattice", "u\n0\t1\ta\t1,10\n1\n\nv\n", "0\t1\ta\t1,10\n1\n\n"),
    ],
)
def test_a_named_pipe_is_not_waited_for_where_the_format_is_given(
    run: Path, tmp_path: Path, form: str, first: str, second: str
) -> None:
    pipe, answered = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)
    was_answered = []

    def feed() -> None:
        with open(pipe, "w") as file:
            file.write(first)
            file.flush()
            was_answered.append(answered.wait(timeout=20))
            file.write(second)

    feeder = threading.Thread(target=feed)
    feeder.start()
    charlm.score(pipe, model=run, format=form, line_buffered=True, out=lambda _: answered.set())
    feeder.join()
    assert was_answered == [True]


def test_lists_that_must_not_wait_get_their_references_at_the_end(
    scorer: charlm.FunctionScorer, tmp_path: Path, set_stdin: Callable[[bytes], None]
) -> None:
    (tmp_path / "refs").write_text("u a b\nv d\n")
    set_stdin(LISTS.encode())
    result = charlm.score("-", scorer=scorer, refs=tmp_path / "refs", line_buffered=True)
    assert result.report is not None
    assert result.report.first.error == 0.0


def test_what_is_missing_is_counted_for_both_sets_of_lists(
    scorer: charlm.FunctionScorer, tmp_path: Path
) -> None:
    dev, test = tmp_path / "dev.tsv", tmp_path / "test"
    dev.write_text(LISTS + "w\t-1\t<s> d\nw\t-2\te\n")
    (tmp_path / "refs").write_text("u a b\nv d\nx y\n")
    test.mkdir()
    (test / "text").write_text("u-1 a </s>\nu-2 b\n")
    (test / "acwt").write_text("x-1 5\n")
    (tmp_path / "test-refs").write_text("u b\ny c\n")
    tuned = charlm.tune(
        dev, refs=tmp_path / "refs", scorer=scorer, out=tmp_path / "w", allow_missing=True
    )
    assert tuned.notices.n_marked == 1
    assert tuned.n_without_reference == 1
    assert tuned.notices.passed_over == {
        "lists without a reference": 1,
        "references without a list": 1,
    }
    assert load_weights(tmp_path / "w").values.keys() >= {"am", "own"}
    result = charlm.score(test, scorer=scorer, refs=tmp_path / "test-refs", allow_missing=True)
    assert result.notices.n_marked == 1
    assert result.notices.filled == {Filling("am", "missing", ZERO): 2}
    assert result.notices.passed_over == {
        "references without a list": 1,
        "keys of acwt that the texts lack": 1,
    }


def test_an_utterance_without_scores_is_ranked_as_the_others_are(
    scorer: charlm.FunctionScorer, tmp_path: Path
) -> None:
    for folder, name, text in (
        ("lists", "a", "-1 -2 1 yes\n-2 -2 1 no\n"),
        ("lists", "b", "-1 -2 1 yes\n"),
        ("scores", "a", "-9\n-3\n"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(text)
    features = {"x": tmp_path / "scores"}
    options = {"scorer": scorer, "features": features, "weight": ["x=1", "am=0", "old_lm=0"]}
    pieces: list[str] = []
    charlm.score(
        tmp_path / "lists", allow_missing=True, write="kaldi", out=pieces.append, **options
    )
    assert "".join(pieces) == "a no\nb yes\n"


def test_a_list_without_a_feature_of_the_first_one_gets_0_for_all_its_hypotheses(
    tmp_path: Path,
) -> None:
    path, pieces = tmp_path / "lists.tsv", list[str]()
    path.write_text("id\tam\tlm\ttext\nu\t-1\t-9\ta\nu\t-2\t-1\tb\nv\t-2\tNA\tc\nv\t-1\tNA\td\n")
    options = {"weight": ["am=1", "lm=1"], "write": "kaldi", "out": pieces.append}
    result = charlm.score(path, allow_missing=True, **options)
    assert "".join(pieces) == "u b\nv d\n"
    assert result.notices.filled == {Filling("lm", "missing", ZERO): 2}


def test_lists_of_a_service_are_scored_though_only_some_have_confidences(
    scorer: charlm.FunctionScorer, tmp_path: Path
) -> None:
    sure = [{"transcript": "a", "confidence": 0.9}]
    unsure = [{"transcript": "c d", "confidence": 0.8}, {"transcript": "b"}]  # as is usual
    path, pieces = tmp_path / "lists.json", list[str]()
    path.write_text(json.dumps({"results": [{"alternatives": each} for each in (sure, unsure)]}))
    charlm.score(path, scorer=scorer, write="kaldi", out=pieces.append)
    assert "".join(pieces) == "1 a\n2 b\n"


def test_a_users_function_says_what_hypotheses_are_worth(
    lists: Path, saved_run: Callable[..., Path]
) -> None:
    scorer = charlm.FunctionScorer(
        lambda sentences: [[0.0] * len(words) + [-len(words)] for words in sentences], name="short"
    )
    pieces: list[str] = []
    charlm.score(lists, scorer=scorer, weight=["am=0"], write="kaldi", out=pieces.append)
    assert "".join(pieces) == "u c\nv d\n"
    result = charlm.score(lists, model=saved_run("zeros"), scorer=scorer)
    assert result.scorers.keys() == {"nn", "short"}
