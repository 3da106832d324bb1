"""`charlm.score(write="errors")`: which texts it compares, with which references, and where to."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.nbest.metrics.rates_report import Rate, RecordingRates
from charlm.scoring.rescoring.answers.result import ScoreResult

LISTS = """\
id\tam\ttext
s-1\t0\tx y
s-1\t-.1\ta c
s-1\t-.1\ta b
s-1\t-.1\td b
s-2\t0\tso
t-1\t0\tit is
"""
REFS = "s-1 a b\ns-2 oh so\nt-1 it\n"


def table(lists: Path, **options: object) -> tuple[list[list[str]], ScoreResult]:
    pieces: list[str] = []
    chosen = {"weight": ["am=1"], "write": "errors", "out": pieces.append, **options}
    result = charlm.score(lists, **chosen)  # type: ignore[arg-type]
    header, *rows = "".join(pieces).splitlines()
    assert header.split("\t")[:2] == ["id", "recording"]
    return [row.split("\t") for row in rows], result


def test_the_best_hypotheses_are_compared_whatever_chose_them(lists: Path, refs: Path) -> None:
    rows, _ = table(lists, refs=refs)
    assert rows == [
        ["s-1", "s", "2", "0", "2", "0", "0", "a b", "x y"],
        ["s-2", "s", "2", "1", "0", "1", "0", "oh so", "*** so"],
        ["t-1", "t", "1", "1", "0", "0", "1", "it ***", "it is"],
    ]
    by_risk, _ = table(lists, refs=refs, mbr="wer", posterior_scale=1.0)
    assert by_risk[0] == ["s-1", "s", "2", "2", "0", "0", "0", "a b", "a b"]


def test_recordings_have_rates_of_their_own(lists: Path, refs: Path) -> None:
    _, result = table(lists, refs=refs, mbr="wer", posterior_scale=1.0)
    assert result.report is not None
    assert result.report.recordings == {
        "s": RecordingRates(2, Rate(3 / 4, 2, 1, 0, 4), Rate(1 / 4, 0, 1, 0, 4)),
        "t": RecordingRates(1, Rate(1.0, 0, 0, 1, 1), Rate(1.0, 0, 0, 1, 1)),
    }
    assert json.loads(json.dumps(result.to_dict()["report"]))["recordings"]["t"]["n_lists"] == 1


@pytest.mark.parametrize(
    "options", [{"write": "tsv"}, {"recordings": "(-)"}, {"recordings": "(.*)"}]
)
def test_recordings_have_no_rates_if_not_asked_for_if_all_lists_are_of_one_or_each_its_own(
    lists: Path, refs: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    chosen = {"write": "errors", "weight": "am=1", "out": tmp_path / "out", **options}
    result = charlm.score(lists, refs=refs, **chosen)
    assert result.report is not None
    assert result.report.recordings == {}


def test_the_pattern_for_recordings_is_that_of_the_column(lists: Path, refs: Path) -> None:
    rows, _ = table(lists, refs=refs, recordings="-(.)$")
    assert [row[1] for row in rows] == ["1", "2", "1"]


def test_lists_without_a_reference_have_no_row(lists: Path, refs: Path) -> None:
    refs.write_text("s-2 oh so\n")
    rows, result = table(lists, refs=refs, allow_missing=True)
    assert [row[0] for row in rows] == ["s-2"]
    assert result.n_without_reference == 2


def test_a_file_appears_once_references_fit_and_is_packed_by_its_ending(
    lists: Path, refs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "errors.tsv.gz"
    options = {"weight": ["am=1"], "write": "errors", "out": out}
    refs.write_text("s-1 a b\n")
    with pytest.raises(charlm.DataError, match="no reference for 2 of 3 lists"):
        charlm.score(lists, refs=refs, **options)
    assert not out.exists()
    refs.write_text(REFS)
    charlm.score(lists, refs=refs, **options)
    assert gzip.decompress(out.read_bytes()).count(b"\n") == 4


def test_a_model_may_score_lists_that_come_through_a_pipe(
    run: Path, refs: Path, set_stdin: Callable[[bytes], None]
) -> None:
    set_stdin(LISTS.encode())
    rows, _ = table(Path("-"), refs=refs, model=run, weight=["am=1", "nn=0"])
    assert [row[-1] for row in rows] == ["x y", "*** so", "it is"]


def test_best_paths_of_lattices_are_compared(tmp_path: Path, texts: dict[str, str]) -> None:
    path, refs = tmp_path / "lattices", tmp_path / "refs"
    path.write_text(texts["kaldi-lattice"])
    refs.write_text("utt-A a [noise] c d\nutt-B\nutt-C g h\n")
    rows, result = table(path, refs=refs, weight=())
    assert [row[0] for row in rows] == ["utt-A", "utt-B", "utt-C"]
    assert rows[1][2:] == ["0", "0", "0", "0", "1", "***", "a"]
    assert result.report is not None
    assert sum(int(row[2]) for row in rows) == result.report.rescored.n_tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refs": None}, "--write errors: found no references; expected --refs FILE, the words"),
        ({"metric": "bleu"}, "--write errors --metric bleu: found no words that are right or"),
        ({"line_buffered": True}, "--write errors --line-buffered: rows are written when all"),
        ({"sort": True}, "--sort: --write errors has no list to sort; expected one of scored"),
        ({"posterior_scale": 0.5}, "--posterior-scale 0.5: --write errors has no posteriors"),
    ],
)
def test_what_has_no_errors_to_show_is_refused(
    lists: Path, refs: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(charlm.ConfigError) as caught:
        table(lists, **{"refs": refs, **options})
    assert str(caught.value).startswith(message)
