"""One table of several comparisons: what shares a column, what does not, per cents by hand."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import ConfigError, DataError
from charlm.scoring.evaluation.comparison import across
from charlm.scoring.evaluation.comparison.across import TableCell, table
from charlm.scoring.evaluation.comparison.compare_kn import compare_kn
from charlm.text.io.lines import MIB

SIGNED = "charlm:0|lm:kn5|train:{train}|vocab:0|data:{data}|split:test|state:sentence"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes what compare-kn would of a data set: ppls by system, differences from the first."""

    def write_one(
        name: str, ppls: dict[str, float | None], *, data: str = "", words: str = "0", **group: Any
    ) -> Path:
        data = data or name
        baseline = next(iter(ppls))
        signature = SIGNED.format(train=data.encode().hex(), data=data.encode().hex())
        both = ("carried", "sentence")
        content = {
            "n_words_of_vocabulary": 10,
            "n_tokens": 7,
            "vocabulary_sha256": words * 64,
            "systems": [
                {"name": n, **{s: {"ppl": p, "signature": signature} for s in both}}
                for n, p in ppls.items()
            ],
            "differences": [
                {
                    "first": n,
                    "second": baseline,
                    **{s: {"ppl": 0.0, "ratio_low": 0.7, "ratio_high": 0.9} for s in both},
                }
                for n in list(ppls)[1:]
            ],
            **group,
        }
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"data": f"sets/{data}", "groups": [content]}))
        return path

    return write_one


def test_a_comparison_comes_by_standard_input_too(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("cs", {"KN-5": 100.0})
    with path.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert table("-") == table(path)


def test_a_model_is_held_against_kneser_ney_in_per_cent_with_its_interval(write: Any) -> None:
    found = table([write("cs", {"KN-5": 100.0, "char": 80.0}), write("de", {"KN-5": 50.0})])
    assert [column.name for column in found.columns] == ["cs", "de"]
    cell = found.columns[0].cells["char"]
    assert (cell.ppl, cell.low, cell.high) == pytest.approx((80.0, -30.0, -10.0))
    assert cell.percent == pytest.approx(-20)
    assert found.columns[0].cells["KN-5"].percent is None
    assert "char" not in found.columns[1].cells


def test_trainings_with_several_seeds_are_a_row_of_their_mean(write: Any) -> None:
    seeds = [{"systems": ["a", "b"], "carried": {"mean": 81.0, "deviation": 1.5}}]
    found = table(write("cs", {"KN-5": 100.0, "a": 80.0, "b": 82.0}, seeds=seeds))
    assert found.systems == ("KN-5", "a", "b", "a…")
    cell = found.columns[0].cells["a…"]
    assert (cell.ppl, cell.deviation, cell.low, cell.signature) == (81.0, 1.5, None, None)
    assert cell.percent == pytest.approx(-19)
    assert found.columns[0].cells["a"].deviation is None


@pytest.mark.parametrize(
    "wrong",
    [
        [{"systems": [], "carried": {"mean": 1.0, "deviation": 1.0}}],
        [{"systems": ["a"], "carried": {"mean": "x", "deviation": 1.0}}],
        [{"systems": ["a"], "carried": {"mean": 1.0, "deviation": "x"}}],
        [{"systems": ["a"], "sentence": {"mean": 1.0, "deviation": 1.0}}],
        [7],
        7,
    ],
)
def test_seeds_that_compare_kn_did_not_write_are_refused(wrong: Any, write: Any) -> None:
    path = write("cs", {"KN-5": 100.0}, seeds=wrong)
    with pytest.raises(DataError, match=r"cs\.json: not what `charlm compare-kn --json` prints"):
        table(path)


def test_a_column_of_another_part_than_the_test_text_says_so(write: Any) -> None:
    test, valid = write("cs", {"KN-5": 100.0}), write("de", {"KN-5": 50.0})
    valid.write_text(valid.read_text().replace('"sets/de"', '"sets/cs", "split": "valid"'))
    assert [column.name for column in table([test, valid]).columns] == ["cs", "cs:valid"]


def test_orders_of_one_set_that_were_compared_apart_stand_in_one_column(write: Any) -> None:
    files = [
        write("models", {"KN-5": 100.0, "char": 80.0}, data="cs"),
        write("alone", {"KN-4": 110.0}, data="cs"),
    ]
    (column,) = table(files).columns
    assert (column.name, column.baseline) == ("cs", "KN-5")
    assert column.cells["KN-4"].percent == pytest.approx(10)
    assert table(files).systems == ("KN-4", "KN-5", "char")


def test_sets_of_one_name_are_told_apart_by_their_folders(write: Any) -> None:
    files = [
        write("a", {"KN-5": 1.5}, data="bible/en"),
        write("b", {"KN-5": 2.5}, data="captions/en"),
    ]
    assert [column.name for column in table(files).columns] == ["bible/en", "captions/en"]


def test_a_run_of_another_vocabulary_does_not_stand_in_the_same_column(write: Any) -> None:
    files = [
        write("a", {"KN-5": 9.0}, data="cs", words="1"),
        write("b", {"KN-5": 8.0}, data="cs", words="2"),
    ]
    with pytest.raises(DataError) as caught:
        table(files)
    assert str(caught.value) == (
        f"{files[1]}: vocabulary 222222222222, and {files[0]} has 111111111111 for the same "
        "texts; perplexities over other words never stand in one column; leave one out"
    )


def test_a_file_of_two_vocabularies_is_refused(write: Any) -> None:
    path = write("a", {"KN-5": 9.0})
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "groups": value["groups"] * 2}))
    with pytest.raises(DataError) as caught:
        table(path)
    assert str(caught.value) == (
        f"{path}: 2 vocabularies; expected one, since perplexities over other words never stand "
        "in one column; compare the runs of each in a file of its own"
    )


def test_a_list_of_comparisons_is_refused(write: Any) -> None:
    path = write("a", {"KN-5": 9.0})
    path.write_text(f"[{path.read_text()}]")
    with pytest.raises(DataError) as caught:
        table(path)
    assert str(caught.value) == (
        f"{path}: a list of 1; expected one object of `charlm compare-kn --json`; give each a "
        "file of its own"
    )


def test_two_models_of_one_name_are_refused(write: Any) -> None:
    files = [
        write("a", {"KN-5": 9.0, "char": 8.0}, data="cs"),
        write("b", {"KN-5": 9.0, "char": 7.0}, data="cs"),
    ]
    with pytest.raises(DataError) as caught:
        table(files)
    assert str(caught.value) == (
        f"{files[1]}: char has 7.0 (carried), and in {files[0]} 8.0; expected a model once a data "
        "set; leave one out, or compare runs of one name in one call, which tells them apart"
    )


@pytest.mark.parametrize("text", ["{}", "[]", '{"data": "a", "groups": []}', '{"data": 1}'])
def test_another_json_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"a\.json: not what `charlm compare-kn --json` prints"):
        table(path)


def test_the_text_for_the_eye_is_sent_back_for_json(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("verdict, state sentence: ...\n")
    with pytest.raises(
        DataError, match="a.txt: no JSON; expected what .* prints; add --json there"
    ):
        table([tmp_path / "a.txt"])


def test_a_file_that_unpacks_to_more_than_any_comparison_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(across, "MOST_BYTES", MIB)
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"{" + b" " * MIB))
    with pytest.raises(DataError, match=r"a\.json\.gz: larger than 1 MiB; expected what"):
        table(path)


def test_a_table_of_no_file_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        table(files=[])
    assert str(caught.value) == (
        "table: found no file; expected what `charlm compare-kn --json` printed"
    )


def test_a_file_whose_perplexities_are_none_is_refused(write: Any) -> None:
    path = write("cs", {"KN-5": 9.0, "char": "8"})
    with pytest.raises(DataError, match=r"both \(no number as 'ppl' of 'char'\);"):
        table(path)
    path.write_text(path.read_text().replace('"ppl"', '"perplexity"'))
    with pytest.raises(DataError, match=r"\(no 'ppl'\)"):
        table(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"name": "char"', '"name": 5'),
        ('{"ppl": 0.0, "ratio_low": 0.7, "ratio_high": 0.9}', "null"),
        ('"ratio_low": 0.7', '"ratio_low": "x"'),
        ('"ratio_low": 0.7', '"ratio_low": null'),
        ('"ppl": 8.0', f'"ppl": {10**400}'),
        (f'"vocabulary_sha256": "{"0" * 64}"', '"vocabulary_sha256": 3'),
    ],
)
def test_a_name_or_a_number_that_is_none_is_refused(write: Any, old: str, new: str) -> None:
    path = write("cs", {"KN-5": 9.0, "char": 8.0})
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DataError, match="not what `charlm compare-kn --json` prints"):
        table(path)


def test_a_perplexity_beyond_measure_has_no_per_cent(write: Any) -> None:
    (column,) = table(write("cs", {"KN-5": 9.0, "char": None}), state="sentence").columns
    assert (column.cells["char"].ppl, column.cells["char"].percent) == (None, None)


def test_what_compare_kn_writes_is_read_with_the_sizes(tmp_path: Path) -> None:
    corpus = tmp_path / "set"
    corpus.mkdir()
    for split, text in (("train", "a a b <unk>\nab b\n"), ("test", "a b\n")):
        (corpus / f"{split}.txt").write_text(text)
    for order in (1, 2):
        found = compare_kn(corpus, order=order, samples=100)
        (tmp_path / f"{order}.json").write_text(json.dumps(found.to_dict()))
    (column,) = table([tmp_path / "1.json", tmp_path / "2.json"]).columns
    assert isinstance(column.cells["KN-1"], TableCell)
    # Words a, b, ab, </s>, <unk>; letters a and b, seen twice, and five marks; 6 words, 2 ends.
    assert (column.n_words, column.n_characters, column.n_morphs) == (5, 7, None)
    assert (column.n_train_tokens, column.n_tokens, column.baseline) == (8, 3, "KN-2")
