"""No command overwrites its own inputs."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import charlm
from charlm.cli import app
from charlm.errors import ConfigError
from charlm.insight.report_options import ReportOptions
from charlm.insight.vectors.measures.word2vec import write_vectors
from charlm.insight.vectors.nn_options import WriteVectorsOptions

KEPT = b"the cat sat\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, names in {
        ".": ["a", "b"],
        "c": ["train.txt"],
        "r": ["model.safetensors", "run.json"],
    }.items():
        Path(folder).mkdir(exist_ok=True)
        for name in names:
            (Path(folder) / name).write_bytes(KEPT)
    Path("link").symlink_to("a")


def refused(*args: str) -> str:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 1
    return result.stderr


@pytest.mark.parametrize(
    ("args", "out", "reader"),
    [
        (["ngram", "--train", "a", "--out", "a"], "a", "train"),
        (["ngram", "--train", "a", "--out", "link"], "link", "train"),
        (["ngram", "--data", "c", "--out", "c/train.txt"], "c/train.txt", "data"),
        (["ngram", "--lm", "b", "a", "--out", "a"], "a", "files"),
        (["score", "a", "--refs", "b", "--model", "r", "--out", "b"], "b", "refs"),
        (["score", "a", "--lm", "kn=b", "--out", "b"], "b", "lm"),
        (["score", "a", "--weights", "b", "--out", "b"], "b", "weights"),
        (["score", "a", "--lm", "b", "--out", "a"], "a", "lists"),
        (["score", "c", "--lm", "b", "--out", "c"], "c", "lists"),
        (["score", "a", "--lm", "b", "--features", "x=c", "--out", "c"], "c", "features"),
        (["tune", "b", "--refs", "a", "--out", "b"], "b", "lists"),
        (["tune", "b", "--refs", "a", "--out", "a"], "a", "refs"),
        (["mix", "r", "a", "--text", "b", "--out", "b"], "b", "text"),
        (["report", "r", "--out", "a", "--data-out", "a"], "a", "data_out"),
        (
            ["nn", "--model", "r", "--vectors", "r/model.safetensors"],
            "r/model.safetensors",
            "model",
        ),
        (["report", "r", "--out", "r/run.json"], "r/run.json", "runs"),
        (
            ["export", "--model", "r", "--data", "c", "--arpa", "c/train.txt"],
            "c/train.txt",
            "data",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_output_that_is_an_input_is_refused_and_kept(
    args: Sequence[str], out: str, reader: str
) -> None:
    assert refused(*args) == (
        f"charlm: {out}: would be overwritten, but is also read ({reader}); expected "
        "another file; choose a new name\n"
    )
    for path in map(Path, ("a", "b", "c/train.txt", "r/model.safetensors")):
        assert path.read_bytes() == KEPT


def test_a_folder_of_the_lists_is_refused_where_they_would_have_the_same_name() -> None:
    assert refused("score", "a", "--lm", "b", "--out", "./") == (
        "charlm: --out ./: a would be overwritten; expected another folder\n"
    )
    assert Path("a").read_bytes() == KEPT


def test_references_in_the_folder_of_the_output_are_kept_where_they_have_the_lists_name() -> None:
    Path("refs").mkdir()
    Path("refs/a").write_bytes(KEPT)
    assert refused("score", "a", "--refs", "refs/a", "--lm", "b", "--out", "refs/") == (
        "charlm: --out refs/: refs/a would be overwritten; expected another folder\n"
    )
    assert Path("refs/a").read_bytes() == KEPT


def test_functions_refuse_it_too() -> None:
    with pytest.raises(ConfigError, match="b: would be overwritten, but is also read"):
        charlm.score("a", features={"am": "b"}, out="b", weight=["am=1"])
    with pytest.raises(ConfigError, match="a: would be overwritten, but is also read"):
        charlm.ngram_baseline(train=Path("a"), out="./a")


def test_functions_refuse_it_too_where_their_options_are_one_object() -> None:
    with pytest.raises(ConfigError, match=r"model\.safetensors: would be overwritten"):
        write_vectors(WriteVectorsOptions("r/model.safetensors", model="r"))
    with pytest.raises(ConfigError, match=r"r/run\.json: would be overwritten"):
        charlm.report(ReportOptions("r", out="r/run.json"))


def test_an_older_output_is_replaced() -> None:
    Path("kn.arpa").write_text("older")
    args = ["ngram", "--train", "a", "--order", "1", "--out", "kn.arpa"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.stderr
    assert Path("kn.arpa").read_text().startswith("\\data\\")
