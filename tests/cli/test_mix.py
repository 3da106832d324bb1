"""The whole output of `charlm mix`, and its help's example on a run and an n-gram model."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.cli.mix import mix
from charlm.ngram.estimation import estimate
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.word_ids import WordIds, encode, words_of
from charlm.run.folder import VOCABULARY
from charlm.scoring.evaluation.mix import mix as mixed
from charlm.text.corpus.sentences import read_sentences
from charlm.text.vocabulary.vocabulary import load_inventory

Save = Callable[..., Path]

# Two streams, each twice as good at one of four tokens, and a token unknown to both.
X = """\
a b
\tp( a | <s> ) \t= [2gram] 0.2 [ -0.69897 ]
\tp( b | a ...) \t= [2gram] 0.1 [ -1 ]
\tp( </s> | b ...) \t= [2gram] 0.1 [ -1 ]
<unk>
\tp( <unk> | <s> ) \t= [OOV] 0 [ -inf ]
\tp( </s> | <unk> ...) \t= [2gram] 0.1 [ -1 ]
"""
Y = X.replace("| <s> ) \t= [2gram] 0.2 [ -0.69897 ]", "| <s> ) \t= [2gram] 0.1 [ -1 ]")
Y = Y.replace("| a ...) \t= [2gram] 0.1 [ -1 ]", "| a ...) \t= [2gram] 0.2 [ -0.69897 ]")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with two files of scores."""
    monkeypatch.chdir(tmp_path)
    Path("x.ppl").write_text(X)
    Path("y.ppl").write_text(Y)


def run_mix(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["mix", *arguments])


def test_the_table_has_a_row_a_stream_and_the_mixture_last() -> None:
    result = run_mix("x.ppl", "y.ppl")
    assert (result.exit_code, result.stderr) == (0, "")
    # 2^(-1/4) and 1.5^(-1/2) of 10
    assert result.stdout == (
        "source   weight  left-out   ppl\n"
        "x.ppl    0.5000         1  8.41\n"
        "y.ppl    0.5000         1  8.41\n"
        "mixture       -         1  8.16\n"
        "\n"
        "ppl: 5 tokens, each </s> one of them\n"
        "left-out: tokens to which a row gives nothing; its ppl is over the others, and over "
        "different tokens ppl do not compare\n"
        "weights: tuned on the same text\n"
    )


def test_nothing_is_said_of_tokens_left_out_where_none_is() -> None:
    for name, text in (("x.ppl", X), ("y.ppl", Y)):
        Path(name).write_text(text.partition("<unk>\n")[0])
    # 2^(-1/3) and 1.5^(-2/3) of 10
    assert run_mix("x.ppl", "y.ppl").stdout == (
        "source   weight   ppl\n"
        "x.ppl    0.5000  7.94\n"
        "y.ppl    0.5000  7.94\n"
        "mixture       -  7.63\n"
        "\n"
        "ppl: 3 tokens, each </s> one of them\n"
        "weights: tuned on the same text\n"
    )


def test_each_row_tells_what_its_perplexity_leaves_out() -> None:
    Path("x.ppl").write_text(X.replace("0.2 [ -0.69897 ]", "0 [ -inf ]"))
    lines = run_mix("x.ppl", "y.ppl", "--weights", "0.5,0.5").stdout.splitlines()
    assert [line.split()[2] for line in lines[:4]] == ["left-out", "2", "1", "1"]


def test_a_gain_over_streams_that_leave_out_more_is_told_to_be_none() -> None:
    Path("x.ppl").write_text(X.replace("0.2 [ -0.69897 ]", "0 [ -inf ]"))
    result = run_mix("x.ppl", "--add", "y.ppl")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith(
        "\ngain: no number, since without what is new 2 tokens are left out, and with it 1\n"
    )


def test_given_weights_are_called_so() -> None:
    result = run_mix("x.ppl", "y.ppl", "--weights", "1,0")
    assert result.stdout.splitlines()[1] == "x.ppl    1.0000         1  8.41"
    assert result.stdout.endswith("\nweights: as given\n")


def test_json_is_what_the_library_returns() -> None:
    result = run_mix("x.ppl", "y.ppl", "--json")
    assert json.loads(result.stdout) == mixed(["x.ppl", "y.ppl"]).to_dict()


def test_the_mixture_goes_to_a_file_that_mixes_again() -> None:
    assert run_mix("x.ppl", "y.ppl", "--out", "z.ppl").exit_code == 0
    result = run_mix("x.ppl", "z.ppl", "--weights", "0,1")
    assert result.stdout.splitlines()[3] == "mixture       -         1  8.16"


def test_an_arpa_file_of_the_mixture_is_told_with_its_perplexity(save_unigrams: Save) -> None:
    save_unigrams(Path("one.arpa"), end=-0.1549, a=-0.69897)
    save_unigrams(Path("two.arpa"), end=-0.69897, a=-0.1549)
    Path("text").write_text("a\n")
    result = run_mix("one.arpa", "two.arpa", "--text", "text", "--arpa", "both.arpa")
    assert result.stdout.splitlines()[3].split() == ["mixture", "-", "2.22"]  # 1 / .45
    assert "both.arpa: 4 n-grams, ppl 2.22" in result.stdout.splitlines()


def test_words_that_an_arpa_file_lacks_are_told_of(save_unigrams: Save) -> None:
    save_unigrams(Path("one.arpa"), end=-0.1549, a=-0.69897)
    save_unigrams(Path("two.arpa"), end=-0.1549, b=-0.69897)
    Path("text").write_text("b\n")
    result = run_mix("one.arpa", "two.arpa", "--text", "text", "--weights", ".5,.5")
    rows = [line.split() for line in result.stdout.splitlines()[1:4]]
    assert [row[2] for row in rows] == ["1", "0", "0"]
    assert rows[2] == ["mixture", "-", "0", "3.78"]  # (.1 · .7)^(−1/2)
    assert (
        "\none.arpa: lacks 1 of the words of all n-gram models together, and gives them nothing; "
        "they are not its <unk>\n"
    ) in result.stdout


def test_nothing_to_divide_by_is_undefined() -> None:
    Path("x.ppl").write_text("\tp( </s> | <s> ) \t= [OOV] 0 [ -inf ]\n")
    result = run_mix("x.ppl", "x.ppl", "--weights", "1,0")
    assert "undefined" in result.stdout.splitlines()[3]


def test_an_ngram_model_of_more_words_than_the_runs_is_told_of(
    tiny_run: Path, save_unigrams: Save
) -> None:
    shutil.copytree(tiny_run, "run")
    words = load_inventory(Path("run", VOCABULARY)).words[2:]
    save_unigrams(Path("lm"), end=-2, unk=-2, **dict.fromkeys([*words, "qqq"], -2))
    Path("text").write_text("qqq other\nqqq\n")
    result = run_mix("run", "lm", "--text", "text", "--device", "cpu")
    assert result.exit_code == 0
    assert (
        "\nlm: knows the words of 2 tokens that are <unk> to the runs; its <unk> was asked for, "
        "and what it gives to these words is lost; estimate it with --vocab RUN\n"
    ) in result.stdout
    assert "\nrun: knows" not in result.stdout


def test_the_examples_in_the_help_work(corpus_dir: Path, tiny_run: Path) -> None:
    shutil.copytree(corpus_dir, "corpus")
    shutil.copytree(tiny_run, "exp/first")
    words = words_of(load_inventory(Path("exp/first") / VOCABULARY))
    ids = encode(read_sentences("corpus/train.txt"), WordIds(words, closed=True))
    write_arpa(estimate(ids, words=words, order=3).model, "kn5.arpa")
    for split in ("valid", "test"):
        tokens = " </s> ".join(Path(f"corpus/{split}.txt").read_text().splitlines()).split()[1:]
        Path("release", split).mkdir(parents=True)
        lines = [f"0.01\t{word if word in words else '<unk>'}\n" for word in [*tokens, "</s>"]]
        Path("release", split, "doc.txt").write_text("".join(lines))
    for name in ("own.arpa", "large.arpa"):
        shutil.copy("kn5.arpa", name)
    examples = re.findall(r"^ *charlm mix (.*)$", mix.__doc__ or "", re.M)
    example, with_release, to_arpa, by_weights = examples
    assert run_mix(*shlex.split(to_arpa)).exit_code == 0
    assert Path("both.arpa").is_file()
    lines = run_mix(*shlex.split(by_weights)).stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["source", "weight"],
        ["own.arpa", "0.6000"],
        ["large.arpa", "0.4000"],
    ]
    assert lines[4] == "weights: as given"
    assert re.fullmatch(r"both.arpa: [\d+ ]+ n-grams", lines[5])
    result = run_mix(*shlex.split(with_release), "--device", "cpu")
    assert result.exit_code == 0
    assert "\nthe first token is left out, as the probabilities leave it out; " in result.stdout
    result = run_mix(*shlex.split(example), "--device", "cpu")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["exp/first", "kn5.arpa", "mixture"]
    assert "ppl: 14 tokens in corpus/test.txt, each </s> one of them" in lines
    assert "weights: tuned on corpus/valid.txt" in lines
    signed = [line.split(":")[0] for line in lines if line.startswith("signature of ")]
    assert signed == ["signature of exp/first", "signature of kn5.arpa"]
    assert result.stderr.splitlines() == [
        "scoring corpus/valid.txt and corpus/test.txt with kn5.arpa",
        "scoring corpus/valid.txt and corpus/test.txt with exp/first",
    ]


def test_published_probabilities_are_told_with_bands_and_what_a_new_stream_gains() -> None:
    for split in ("train", "valid", "test"):
        Path("corpus").mkdir(exist_ok=True)
        Path(f"corpus/{split}.txt").write_text("a b\n")
    for split in ("valid", "test"):
        Path(split).mkdir()
        Path(f"words_{split}.txt").write_text("b\n</s>\n")
        for name, content in (("m", "0.5\n0.1\n"), ("n", "0.1\n0.5\n")):
            Path(split, name).write_text(content)
    result = run_mix("test/m", "--add", "test/n", "--data", "corpus", "--bands")
    assert (result.exit_code, result.stderr) == (0, "")
    # √20, and 1 / 0.3 with both
    assert result.stdout == (
        "source                       weight   ppl\n"
        "test/m                       0.5000  4.47\n"
        "test/n                       0.5000  4.47\n"
        "mixture                           -  3.33\n"
        "mixture without what is new       -  4.47\n"
        "\n"
        "ppl by how often the predicted word stands in train.txt\n"
        "source    </s>    1-9\n"
        "tokens       1      1\n"
        "test/m   10.00   2.00\n"
        "test/n    2.00  10.00\n"
        "mixture   3.33   3.33\n"
        "\n"
        "ppl: 2 tokens in corpus/test.txt, each </s> one of them\n"
        "weights: tuned on corpus/valid.txt\n"
        "gain: what is new changes the mixture's ppl by -1.14 (95 % interval -1.14 to -1.14: 1000 "
        "draws of sentences)\nsentences: 1; intervals from fewer than 10 say nothing\n"
        "the first token is left out, as the probabilities leave it out; all words behind fit\n"
    )


def test_a_band_that_a_row_leaves_tokens_out_of_is_said_to_be_undefined() -> None:
    for place in ("corpus", "valid", "test"):
        Path(place).mkdir()
    for split in ("train", "valid", "test"):
        Path(f"corpus/{split}.txt").write_text("a b\n")
    for split in ("valid", "test"):
        Path(split, "m").write_text("0\tb\n0.1\t</s>\n")
        Path(split, "n").write_text("0.1\tb\n0.5\t</s>\n")
    result = run_mix("test/m", "test/n", "--data", "corpus", "--bands")
    assert [line.split() for line in result.stdout.splitlines()[7:9]] == [
        ["tokens", "1", "1"],
        ["test/m", "10.00", "undefined"],
    ]
    assert "do not compare; of a band that holds such tokens it is undefined\n" in result.stdout
