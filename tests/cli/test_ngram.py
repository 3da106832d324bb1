"""The output of `charlm ngram`: perplexities on stdout, remarks on the model on stderr."""

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.text.vocabulary.vocabulary import inventory_of

TRAIN = "a b\nb c\n"
TEST = "a b\nc zz\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.txt").write_text(TRAIN)
    (tmp_path / "test.txt").write_text(TEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ngram(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["ngram", *arguments])


def test_a_text_of_two_lines_is_enough_and_one_warning_says_what_was_missing() -> None:
    result = ngram("--data", ".", "--order", "3")
    assert result.exit_code == 0
    warnings = [line for line in result.stderr.splitlines() if "warning" in line]
    assert warnings == [
        "warning: too little text, or too few words, for Kneser-Ney discounts of order 1, 2, 3: "
        "took .5, 1, 1.5 there"
    ]
    assert re.match(r"train.txt: order 3, 6 \+ 6 \+ 4 n-grams, [0-9.]+ s\n", result.stderr)
    assert "ppl          " in result.stdout
    assert "signature: charlm:" in result.stdout


def test_a_long_text_of_few_words_is_not_called_too_small() -> None:
    """Each of 12 words has all 12 before it, and a text of any length adds no rarer ones."""
    words = "abcdefghijkl"
    Path("train.txt").write_text("".join(f"{x} {y}\n" for x in words for y in words) * 100)
    result = ngram("--data", ".", "--order", "1")
    assert "warning: too little text, or too few words, for" in result.stderr


def test_lmplzs_model_of_two_lines_gives_the_sum_by_hand() -> None:
    result = ngram("--train", "train.txt", "--order", "3", "test.txt")
    logprob = float(result.stdout.split("logprob= ")[1].split(" ")[0])
    # a, b after <s> a, </s> after a b; c, zz, </s> after nothing that is known: lmplz's figures.
    by_hand = -0.4663974 - 0.08795518 - 0.16010317 - 0.30103 - 0.7367586 - 0.30103 - 1 - 0.57403123
    assert logprob == pytest.approx(by_hand, abs=1e-5)


def test_words_of_a_limit_that_the_model_lacks_are_named() -> None:
    ngram("--train", "train.txt", "--out", "a.arpa", "--order", "2")
    Path("words.txt").write_text("a\nZZ\nb\nowl\n")
    result = ngram("--lm", "a.arpa", "--limit-vocab", "words.txt", "--out", "b.arpa")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[1] == (
        "note: --limit-vocab words.txt: words that a.arpa lacks (2): ZZ, owl"
    )
    value = json.loads(
        ngram("--lm", "a.arpa", "test.txt", "--limit-vocab", "words.txt", "--json").stdout
    )
    assert value["model"]["lacking"] == ["ZZ", "owl"]


def test_debug_2_tells_the_lengths_of_ngrams_and_keeps_the_rest_off_stdout() -> None:
    result = ngram("--train", "train.txt", "--order", "3", "test.txt", "--debug", "2")
    lines = result.stdout.splitlines()
    assert lines[0] == "a b"
    assert lines[1].startswith("\tp( a | <s> ) \t= [2gram] 0.3416667 [ -0.46639")
    assert lines[2].startswith("\tp( b | a ...) \t= [3gram] 0.81666")
    assert lines[-2].startswith("file test.txt: 2 sentences, 4 words, 0 OOVs")
    assert "signature: charlm:" in result.stderr


def test_kenlms_layout_has_ids_and_lengths() -> None:
    result = ngram("--train", "train.txt", "--order", "3", "test.txt", "--format", "kenlm")
    first = result.stdout.splitlines()[0].split("\t")
    assert [field.rsplit(" ", 1)[0] for field in first[:3]] == ["a=3 2", "b=4 3", "</s>=2 3"]
    assert result.stdout.splitlines()[-1] == "Tokens:\t6"


def test_a_model_is_kept_and_its_size_said(folder: Path) -> None:
    result = ngram("--train", "train.txt", "--out", "a.arpa", "--order", "2")
    assert result.exit_code == 0
    assert result.stdout == ""
    size = (folder / "a.arpa").stat().st_size
    assert result.stderr.splitlines()[-1] == f"a.arpa: {size} bytes"


def test_of_a_pipe_no_size_is_said() -> None:
    reader, writer = os.pipe()
    result = ngram("--train", "train.txt", "--out", f"/dev/fd/{writer}", "--order", "2")
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read().endswith(b"\\end\\\n")
    assert result.exit_code == 0
    assert " bytes" not in result.stderr


def test_json_is_one_object() -> None:
    result = ngram("--data", ".", "--order", "3", "--json")
    value = json.loads(result.stdout)
    assert list(value) == ["model", "out", "n_bytes", "texts"]
    assert value["model"]["n_ngrams"] == [6, 6, 4]
    assert value["model"]["fallback_orders"] == [1, 2, 3]
    assert value["texts"][0]["n_tokens"] == 6


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--lm", "x.arpa", "test.txt"],
            "charlm: x.arpa: no such file; expected an ARPA file or KenLM's binary\n",
        ),
        (
            ["--lm", "x.arpa", "--out", "y.arpa"],
            "charlm: x.arpa: no such file; expected an ARPA file or KenLM's binary\n",
        ),
        (
            ["--lm", ".", "test.txt"],
            "charlm: .: is a folder; expected an ARPA file or KenLM's binary; runs go to --model "
            "of eval, score, tune, serve, surprisal, next or sample\n",
        ),
        (
            ["--train", "train.txt", "--out", "x.arpa", "--no-sentence-marks"],
            "charlm: --no-sentence-marks: found no text to measure; expected one; drop it\n",
        ),
        (
            ["--train", "train.txt", "--out", "x.arpa", "--debug", "2"],
            "charlm: --debug 2: found no text to measure; expected one; drop it\n",
        ),
        (
            ["--train", "train.txt", "--out", "x.arpa", "--format", "jsonl"],
            "charlm: --format jsonl: found no text to measure; expected one; drop it\n",
        ),
        (
            ["--lm", "a.arpa", "--out", "x.arpa", "--vocab", "words.txt"],
            "charlm: --vocab: found no text to measure; expected one; drop it, or take "
            "--limit-vocab, the words of the model\n",
        ),
        (
            ["--data", ".", "--debug", "1", "--json"],
            "charlm: --json and a layout of words: expected one of them; drop either\n",
        ),
    ],
)
def test_what_is_impossible_is_one_line(arguments: list[str], line: str) -> None:
    result = ngram(*arguments)
    assert (result.exit_code, result.stderr) == (1, line)


NO_UNK = """\\data\\
ngram 1=3

\\1-grams:
-1\t<s>
-1\t</s>
-1\ta

\\end\\
"""


def test_denominators_leave_out_what_gets_no_probability_and_one_line_says_so(
    folder: Path,
) -> None:
    (folder / "a.arpa").write_text(NO_UNK)
    result = ngram("--lm", "a.arpa", "test.txt")
    assert result.stderr.startswith("a.arpa: order 1, ")
    lines = [re.sub(" +", " ", line) for line in result.stdout.splitlines()]
    assert "ppl 10.00 3 tokens, each </s> one of them" in lines
    assert "ppl1 1000.00 1 word" in lines
    assert "ppl-known 10.00 3 tokens, without <unk>" in lines
    assert (
        "left out, having no probability: 3 of 6 tokens; the bits count their characters all the "
        "same"
    ) in lines
    totals = ngram("--lm", "a.arpa", "test.txt", "--format", "kenlm").stdout.splitlines()[-4:]
    assert [line.split("\t")[1] for line in totals] == ["10.0", "10.0", "3", "3"]
    value = json.loads(ngram("--lm", "a.arpa", "test.txt", "--json").stdout)
    assert value["texts"][0]["sentence"]["n_left_out"] == 3


def test_where_nothing_is_left_out_nothing_is_said_of_it() -> None:
    assert "left out" not in ngram("--train", "train.txt", "test.txt").stdout


def test_words_that_a_smaller_vocabulary_hides_from_a_model_are_named(folder: Path) -> None:
    (folder / "big.txt").write_text("a b c d e f g h\n" * 3)
    (folder / "test.txt").write_text("g a zz g f h e\nd f c f\n")
    assert ngram("--train", "big.txt", "--order", "2", "--out", "big.arpa").exit_code == 0
    inventory_of([["a", "b"]] * 2).save(folder / "v.json")
    result = ngram("--lm", "big.arpa", "--vocab", "v.json", "test.txt")
    assert (
        "the model knows the words of 9 tokens that are <unk> to the vocabulary ('f' 3, 'g' 2, "
        "'h' 1, 'e' 1, 'd' 1 and 1 more); its <unk> was asked for, and what it gives to these "
        "words is lost; estimate it with --vocab RUN"
    ) in result.stdout.splitlines()
    assert "is lost" not in ngram("--lm", "big.arpa", "test.txt").stdout
    assert "is lost" not in ngram("--train", "big.txt", "--vocab", "v.json", "test.txt").stdout


def test_sentences_without_marks_have_their_words_as_denominator() -> None:
    ngram("--train", "train.txt", "--out", "a.arpa", "--order", "2")
    result = ngram("--lm", "a.arpa", "test.txt", "--no-sentence-marks")
    lines = [re.sub(" +", " ", line).strip() for line in result.stdout.splitlines()]
    (ppl,) = (line for line in lines if line.startswith("ppl "))
    assert ppl.endswith(" 4 words, without <s> and </s>")
    totals = ngram("--lm", "a.arpa", "test.txt", "--no-sentence-marks", "--format", "kenlm")
    assert totals.stdout.splitlines()[-1] == "Tokens:\t4"
    value = json.loads(ngram("--lm", "a.arpa", "test.txt", "--no-sentence-marks", "--json").stdout)
    assert (value["texts"][0]["n_tokens"], value["texts"][0]["n_sentences"]) == (4, 2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            [],
            "words: all types of c/train.txt; a run that reads rare ones as <unk> has fewer, and ",
        ),
        (
            ["--prune", "1"],
            "words: all types of c/train.txt that stand there at least 2 times; a run that reads ",
        ),
        (["--vocab", "v.json"], "words: those of v.json; comparable with runs that have them"),
        (["--vocab", "-"], "words: those of standard input; comparable with runs that have them"),
        (
            ["--limit-vocab", "words.txt"],
            "words: those of words.txt that c/train.txt has; comparable with runs that have just ",
        ),
        (
            ["--vocab", "words.txt"],
            "note: words.txt: labels of noise that c/train.txt lacks are left out (1), so that no "
            "model reads them: !SIL",
        ),
    ],
)
def test_it_is_told_in_which_words_a_perplexity_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c").mkdir()
    for split in ("train", "valid", "test"):
        Path(f"c/{split}.txt").write_text("a b a b c\n" * 4 + "d\n")
    assert CliRunner().invoke(app, ["vocab", "--data", "c", "--out", "v.json"]).exit_code == 0
    Path("words.txt").write_text("a 1\nb 2\n!SIL 3\n")
    result = CliRunner().invoke(
        app, ["ngram", "--data", "c", "--order", "1", *options], input="a\nb\n"
    )
    assert [line for line in result.stderr.splitlines() if line.startswith(told)]
