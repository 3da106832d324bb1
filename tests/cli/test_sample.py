"""The output of `charlm sample`: sentences on stdout, everything else on stderr."""

import json
import re
import shlex
from pathlib import Path

from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.sample import sample


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["sample", "--device", "cpu", "--threads", "1", *arguments])


def test_sentences_stand_one_a_line_and_cut_ones_are_counted(run: Path) -> None:
    result = ask("-n", "20", "--max-length", "6", "--batch-size", "3", "--seed", "5")
    drawn = charlm.sample(run, n=20, max_length=6, seed=5, device="cpu", threads=1)
    assert result.exit_code == 0
    assert result.stdout == "".join(" ".join(each.words) + "\n" for each in drawn.sentences)
    assert result.stderr == (
        f"model: exp/first\n{drawn.n_cut} of 20 sentences were cut at 6 words (--max-length)\n"
    )


def test_json_is_one_object_with_what_the_library_returns(run: Path) -> None:
    options = ["--temperature", "0.8", "--top-k", "7", "--top-p", "0.9", "--no-unk"]
    result = ask("-n", "4", *options, "--prefix", "the cat", "--model", str(run), "--json")
    drawn = charlm.sample(
        run,
        n=4,
        temperature=0.8,
        top_k=7,
        top_p=0.9,
        no_unk=True,
        prefix="the cat",
        device="cpu",
        threads=1,
    )
    value = json.loads(result.stdout)
    assert (value, result.stderr) == (drawn.to_dict(), "")
    assert list(value) == ["model", "seed", "n_cut", "sentences"]
    assert list(value["sentences"][0]) == ["words", "log10_prob", "log10_probs", "is_finished"]
    assert all(each["words"][:2] == ["the", "cat"] for each in value["sentences"])


def test_the_examples_in_the_help_work(run: Path, corpus_dir: Path) -> None:
    example, of_ngrams = re.findall(r"^ *charlm sample (.*)$", sample.__doc__ or "", re.M)
    arguments = [word.replace("the company", "the cat") for word in shlex.split(example)]
    result = ask(*arguments)
    assert result.exit_code == 0
    assert len(re.findall(r"^the cat ?", result.stdout, re.M)) == 3
    charlm.ngram_baseline(data=corpus_dir, order=2, out=run.parent / "kn2.arpa")
    result = ask(*(word.replace("kn2", str(run.parent / "kn2")) for word in of_ngrams.split()))
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (0, "", 3)
