"""Options of a mixture that are invalid, and options that would have no effect."""

from pathlib import Path

import pytest

from charlm.errors import CharlmError
from charlm.scoring.evaluation.mix import mix

ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-1\t</s>\n\n\\end\\\n"
SCORES = "\tp( </s> | <s> ) \t= [2gram] 0.5 [ -0.30103 ]\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uniform: Path) -> None:
    """A working folder with a text, a corpus, two files of scores, a run and a unigram model."""
    monkeypatch.chdir(tmp_path)
    uniform.rename("run")
    for name, content in (("lm", ARPA), ("text", "a b\n"), ("x", SCORES), ("y", SCORES)):
        Path(name).write_text(content)
    Path("corpus").mkdir()
    for split in ("valid", "test"):
        Path(f"corpus/{split}.txt").write_text("a b\n")


NO_TEXT = "a model, and no text to score; expected --data DIR or --text FILE"

NO_PARTS = "chooses a part of --data DIR, and none is given; drop it"
NO_RUN = "is for runs, and no stream is one; drop it"


@pytest.mark.parametrize(
    ("streams", "options", "message"),
    [
        (["x"], {}, "mix: found fewer than two streams; expected two or more; name another"),
        ("xy", {}, "mix: found fewer than two streams; expected two or more; name another"),
        (["run", "lm"], {}, f"run: {NO_TEXT}"),
        (["x", "lm"], {}, "lm: a model, and no text to score; expected --text FILE"),
        (["lm", "lm"], {"weights": ".5,.5"}, f"lm: {NO_TEXT}"),
        (["lm", "lm"], {"arpa": "both"}, f"lm: {NO_TEXT}, or --weights beside --arpa"),
        (
            ["lm", "lm"],
            {"arpa": "both", "weights": ".5,.5", "out": "scores"},
            f"lm: {NO_TEXT}, or no --out",
        ),
        (
            ["x", "y"],
            {"data": "corpus", "bands": True, "split": "valid"},
            "--split valid: chooses a part of --data DIR, which is here for --bands alone; drop",
        ),
        (
            ["run", "lm"],
            {"text": "text", "data": "corpus"},
            "found both --data and --text; expected one of them; drop either",
        ),
        (
            ["x", "y"],
            {"text": "text"},
            "--text: found no model to score it, all streams are files of scores; expected "
            "neither --text nor --data; drop it",
        ),
        (
            ["x", "y"],
            {"data": "corpus"},
            "--data: found no model to score it, all streams are files of scores; expected "
            "neither --text nor --data; drop it",
        ),
        (
            ["run", "x"],
            {"data": "corpus"},
            "x: holds the scores of one text; expected --text FILE, not --data, beside it",
        ),
        (["run", "lm"], {"text": "-"}, "--text -: 2 models cannot read one pipe; expected a file"),
        (
            ["-", "lm"],
            {"text": "-"},
            "standard input: named twice; expected it once, since it is read once",
        ),
        (["run", "lm"], {"text": "none"}, "none: no such file"),
        (["x", "none"], {}, "none: no such file; expected scores of words, a run or an n-gram"),
        (["x", "y"], {"out": "-"}, "--out -: nothing goes to standard output; expected a file"),
        (["x", "y"], {"split": "test"}, f"--split test: {NO_PARTS}"),
        (["x", "y"], {"tune": "valid"}, f"--tune valid: {NO_PARTS}"),
        (["run", "lm"], {"text": "text", "split": "test"}, f"--split test: {NO_PARTS}"),
        (["run", "lm"], {"text": "text", "tune": "test"}, f"--tune test: {NO_PARTS}"),
        (
            ["run", "lm"],
            {"data": "corpus", "tune": "valid", "weights": "1,0"},
            "--tune valid: there is nothing to tune with --weights; drop it",
        ),
        (["x", "y"], {"state": "carried"}, f"--state carried: {NO_RUN}"),
        (["lm", "lm"], {"text": "text", "state": "sentence"}, f"--state sentence: {NO_RUN}"),
        (["x", "y"], {"bands": True}, "--bands: counts words in train.txt; expected --data DIR b"),
        (
            ["x", "y"],
            {"add": "x", "weights": "1,0,0"},
            "--add: tells a gain of weights that are tuned; drop it, or --weights",
        ),
        (["x", "y"], {"weights": "1"}, "--weights 1: 1 for 2 to be mixed; expected one for each"),
        (
            ["x", "y"],
            {"weights": "0.5;0.5"},
            "--weights 0.5;0.5: expected numbers with commas, as 0.6,0.4",
        ),
        (
            ["x", "y"],
            {"weights": "0.5,0.6"},
            "--weights 0.5,0.6: sum 1.1; expected numbers of 0 or above that sum to 1",
        ),
        (["x", "y"], {"weights": [1.5, -0.5]}, "--weights 1.5,-0.5: sum 1; expected numbers of 0"),
        (["x", "y"], {"device": "cuda:7"}, "--device cuda:7: is for runs, and no stream is one;"),
        (["x", "y"], {"weights": "nan,1"}, "--weights nan,1: expected numbers with commas, as"),
        (["x", "y"], {"weights": ".6,.4_0"}, "--weights .6,.4_0: expected numbers with commas, as"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    streams: list[str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(CharlmError) as caught:
        mix(streams, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def test_a_file_that_is_called_as_standard_input_is_does_not_make_it_one() -> None:
    Path("-").write_text("a b\n")
    with pytest.raises(CharlmError, match=r"^--text -: 2 models cannot read one pipe"):
        mix(["run", "lm"], text="-")


def test_a_folder_in_the_place_of_the_text_is_no_pipe() -> None:
    with pytest.raises(CharlmError, match=r"^corpus: is a folder; expected a file"):
        mix(["lm", "lm"], text="corpus")


def test_bands_without_a_training_text_are_refused_before_anything_is_scored() -> None:
    stages: list[str] = []
    with pytest.raises(CharlmError, match=r"^corpus/train.txt: no such file; expected one sent"):
        mix(["lm", "lm"], data="corpus", bands=True, on_stage=stages.append)
    assert stages == []
