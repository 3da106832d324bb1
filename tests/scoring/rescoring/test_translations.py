"""Lists of translations, with several references of each, against sacrebleu."""

from pathlib import Path

import pytest
import sacrebleu

import charlm
from charlm.errors import CharlmError
from charlm.scoring.rescoring.answers.advice import advice_on

LISTS = {
    "u1": ["the cat sat on the mat .", "a cat was sitting on a mat .", "the mat"],
    "u2": ["it rains today again .", "today it is raining again .", "it is rain"],
    "u3": ["he has come home at last .", "he came home late .", "he came to his home at last ."],
}
FILES = {
    "a": ["a cat sat on a mat .", "today it rains again .", "at last he came home ."],
    "b": ["the cat was on the mat .", "it is raining again today .", "he came home at last ."],
}
METRICS = {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF(), "ter": sacrebleu.TER()}


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = (f"{id}\t{-n}\t{text}\n" for id, texts in LISTS.items() for n, text in enumerate(texts))
    Path("lists").write_text("id\tam\ttext\n" + "".join(rows))
    ids = zip(LISTS, FILES["a"], strict=True)
    Path("a").write_text("".join(f"{id}\t{text}\n" for id, text in ids))
    Path("b").write_text("".join(f"{text}\n" for text in FILES["b"]))  # another form


@pytest.mark.parametrize("name", METRICS)
def test_rates_are_sacrebleus_whatever_is_chosen(name: str) -> None:
    report = charlm.score("lists", refs=["a", "b"], metric=name, weight={"am": -1}).report
    files = [*FILES.values()]
    for rate, which in ((report.first, 0), (report.rescored, 2)):
        wanted = METRICS[name].corpus_score([texts[which] for texts in LISTS.values()], files)
        found = 100 * (rate.error if name == "ter" else 1 - rate.error)
        assert found == pytest.approx(wanted.score, abs=1e-9)
    assert report.metric.endswith(str(METRICS[name].get_signature()).removeprefix("nrefs:2"))
    assert "|nrefs:2|" in report.metric
    tuned = charlm.tune("lists", refs=["b", "a"], metric=name, folds=2, restarts=0).tuned
    assert (tuned.first_error, tuned.metric) == (pytest.approx(report.first.error), report.metric)
    assert report.oracle.error <= tuned.error <= report.rescored.error


def test_lists_without_a_reference_in_one_of_the_files_are_left_out_and_counted_once() -> None:
    Path("a").write_text("u1\tthe cat\nu2\tit rains\n")
    Path("b").write_text("u1\tthe cat sat\nu4\tyes\n")
    found = charlm.score("lists", refs=["a", "b"], metric="bleu", allow_missing=True)
    assert (found.report.n_lists, found.n_without_reference) == (1, 2)
    passed_over = {"lists without a reference": 2, "references without a list": 1}
    assert found.notices.passed_over == passed_over


def test_references_in_another_order_are_told_in_any_of_the_files(tmp_path: Path) -> None:
    texts = [f"{'abcdefghijkl'[n] * 5} words" for n in range(12)]
    Path("lists").write_text("".join(f"u{n}\t{text}\n" for n, text in enumerate(texts)))
    Path("a").write_text("".join(f"{text}\n" for text in texts))
    Path("b").write_text("".join(f"{text}\n" for text in [*texts[-1:], *texts[:-1]]))
    told = [charlm.score("lists", refs=refs, metric="bleu").notices for refs in (["a"], ["a", "b"])]
    assert [each.share_astray for each in told] == [0, 1]


def test_an_empty_reference_beside_another_one_is_told() -> None:
    Path("b").write_text(f"{FILES['b'][0]}\n\n{FILES['b'][2]}\n")
    (told,) = charlm.score("lists", refs=["a", "b"], metric="bleu").notices.said_otherwise
    assert told.startswith("1 lists have an empty reference in one file and words in another: as i")


@pytest.mark.parametrize(("metric", "n"), [("cer", 1), ("bleu", 0)])
def test_brackets_in_translations_are_no_noise(metric: str, n: int) -> None:
    Path("lists").write_text("id\ttext\nu1\tthe cat [1] sat\nu2\tit rains\nu3\the\n")
    told = advice_on(charlm.score("lists", refs="a", metric=metric))
    assert sum("labels of noise" in each for each in told) == n


@pytest.mark.parametrize(("metric", "n"), [("bleu", 1), ("ter", 0)])
def test_another_case_is_told_unless_it_does_not_count(metric: str, n: int) -> None:
    Path("lists").write_text("".join(f"u{n}\tA CAT SAT ON A MAT .\n" for n in (1, 2, 3)))
    told = advice_on(charlm.score("lists", refs="a", metric=metric))
    assert sum("differ from them in case" in each for each in told) == n


def test_weights_are_known_again_by_any_of_their_references() -> None:
    charlm.tune("lists", refs=["a", "b"], metric="bleu", folds=0, restarts=0, out="w.json")
    with pytest.raises(charlm.ConfigError, match=r"^w.json: tuned on lists that are reported on"):
        charlm.score("lists", refs=["b", "a"], metric="bleu", weights="w.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refs": ["a", "b"]}, "--metric wer: found 2 --refs; expected one, or BLEU, chrF or TE"),
        ({"refs": ["a", "b"], "metric": "counted-bleu"}, "--metric counted-bleu: found 2 --refs; "),
        ({"refs": ["a", "-"], "metric": "bleu"}, "--refs -: expected a file; only the lists may "),
        ({"refs": ["a", "none"], "metric": "bleu"}, "none: no such file"),
        ({"refs": ["a", "short"], "metric": "bleu"}, "short: 2 references for 3 lists, 0 with an "),
        ({"refs": ["a", "twice"], "metric": "bleu"}, "twice:2: a second reference for 'u1'; expec"),
        ({"refs": []}, "--refs: found no file; expected that of the references; name it"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, object], message: str) -> None:
    Path("short").write_text("yes\nno\n")
    Path("twice").write_text("u1\ta\nu1\tb\nu2\tc\nu3\td\n")
    with pytest.raises(CharlmError) as caught:
        charlm.tune("lists", **options)
    assert str(caught.value).startswith(message)
