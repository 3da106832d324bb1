"""The whole output of `charlm compare-kn`, for a model that gives each of 10 words 1/10."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.cli.compare_kn import compare_kn
from charlm.cli.printing.perplexities import shown_interval
from charlm.scoring.evaluation.comparison import compare_kn as comparison
from charlm.scoring.evaluation.comparison.bootstrap import Difference
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import inventory_of

Save = Callable[[str, str], Path]

TRAIN = "a a a b b <unk>\n"
# By hand: of 28 parts KN-1 gives 4.5 to a, 10.5 to b, and 6.5 each to <unk> and </s>.
ALONE = """\
corpus test: 2 sentences, 5 tokens, 7 characters; vocabulary of 4 words, HASH

system  params  n-grams   MB  seconds   ppl  bits/char
KN-1         -        5  0.0     TIME  4.21     1.4819
MB: of the ARPA file; seconds: of estimating and scoring

ppl by how often the predicted word stands in train.txt
count  tokens   share   KN-1
</s>        2  40.00%  4.31
<unk>       1  20.00%  4.31
1-9         2  40.00%  4.07

<unk> as target: 1 of 3 words (33.33%); the bits leave their spelling out
signature of KN-1: charlm:SIGNED|state:sentence|start:<s>|norm:NFC|precision:fp64
"""
# Of 7 parts: 0.45 to a, 1.95 to b, 0.95 each to <unk> and </s>. In the mixture each word has
# 0.537 / 10 + 0.463 of its share; the weight is from a grid search in test_comparison_table.py.
# 116 parameters: word vectors 10 x 3, an LSTM from 3 to 2 with 40 + 16, an output of 10 x (2 + 1).
BESIDE = """\
corpus test: 2 sentences, 5 tokens, 7 characters; vocabulary of 10 words, HASH

system      params  n-grams   MB  seconds  weight  ppl:sentence  bits/char
KN-1             -       11  0.0     TIME       -          7.41     2.0639
first          116        -  0.0     TIME       -         10.00     2.3728
first+KN-1     116       11  0.0     TIME   0.537          8.38     2.1912
MB: of weights or ARPA; seconds: of estimating and scoring (sentence), not of training
weight: the model's in the mixture, fitted on valid.txt

difference of ppl, first less second, with its 95 % interval: 1000 draws of sentences, seed 1
first       second  state     difference   from     to  first-better
first       KN-1    sentence       2.590  2.562  2.632          0.0%
first+KN-1  first   sentence       -1.62  -1.74  -1.42        100.0%
first+KN-1  KN-1    sentence        0.97   0.82   1.21          0.0%

ppl by how often the predicted word stands in train.txt, state sentence; * is the best
count  tokens   share   KN-1   first  first+KN-1
</s>        2  40.00%  7.37*  10.00        8.58
<unk>       1  20.00%  7.37*  10.00        8.58
1-9         2  40.00%  7.47*  10.00        8.10

difference of ppl there, first less KN-1, of the same draws
count  difference       from         to  first-better
</s>         2.63       2.63       2.63          0.0%
<unk>   undefined  undefined  undefined          0.0%
1-9     undefined  undefined  undefined          0.0%

<unk> as target: 1 of 3 words (33.33%); the bits leave their spelling out
sentences: 2; intervals from fewer than 10 say nothing
signature of KN-1: charlm:SIGNED|state:sentence|start:<s>|norm:NFC|precision:fp64
signature of first: charlm:SIGNED|state:sentence|start:</s>|oov_input:unk|norm:NFC|precision:fp32
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: Save) -> None:
    """A working folder with a corpus and a uniform model of its words and six more."""
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    for split, text in (("train", TRAIN), ("valid", "b c d e\n"), ("test", "a b\nzz\n")):
        Path(f"corpus/{split}.txt").write_text(text)
    save("exp/first", "abcdefgh")


@pytest.fixture
def save(save_uniform: Callable[..., Path]) -> Save:
    """Saves a run of these words, </s> and <unk>, all equally probable, as if from the corpus."""

    def saved(folder: str, words: str) -> Path:
        inventory = inventory_of([list(words), ["<unk>"]], min_char_count=1)
        corpus = {"train": {"sha256": sha256_of("corpus/train.txt")}, "max_tokens": 0}
        return save_uniform(Path(folder), inventory, corpus=corpus)

    return saved


SEEDS = """
ppl of 2 trainings that differ in their seed alone: first, twin
state     mixed-with   mean  deviation  lowest  highest  averaged
sentence  -           10.00       0.00   10.00    10.00     10.00
sentence  KN-1         8.38       0.00    8.38     8.38      8.38
averaged: of the mean of their probabilities, word by word
"""


def run_compare(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare-kn", *arguments])


def steady(printed: str) -> str:
    """The output, without times and hashes."""
    seconds = r"^(\S+ +[-\d]+ +[-\d]+  0\.0  ) *\d+\.\d(?=  )"
    printed = re.sub(seconds, r"\1   TIME", printed, flags=re.M)
    printed = re.sub(r"words, [0-9a-f]{12}\n", "words, HASH\n", printed)
    return re.sub(r"charlm:\S+?\|split:test", "charlm:SIGNED", printed)


SAID = ("--data", "corpus", "--order", "1")
WITH_MODEL = (*SAID, "--model", "exp/first", "--device", "cpu")


def test_kneser_ney_alone_is_a_row_with_its_bands() -> None:
    result = run_compare(*SAID)
    assert (result.exit_code, steady(result.stdout)) == (0, ALONE)
    assert result.stderr == "KN-1: estimating from corpus/train.txt\n"


def test_a_model_has_a_row_and_its_mixture_another() -> None:
    result = run_compare(*WITH_MODEL, "--state", "sentence")
    assert (result.exit_code, steady(result.stdout)) == (0, BESIDE)
    assert result.stderr == (
        "KN-1: estimating from corpus/train.txt\n"
        "first: scoring corpus/test.txt, state sentence\n"
        "first: scoring corpus/valid.txt, state sentence\n"
        "drawing sentences 1000 times\n"
    )


def test_blocks_that_are_drawn_are_told() -> None:
    result = run_compare(*WITH_MODEL, "--state", "sentence", "--samples", "100", "--block", "2")
    assert ": 100 draws of blocks of 2 sentences, seed 1\n" in result.stdout
    assert result.stderr.endswith("\ndrawing blocks of 2 sentences 100 times\n")


def test_both_states_have_columns_of_their_own() -> None:
    result = run_compare(*WITH_MODEL, "--samples", "100")
    assert "  weight  ppl:carried  bits/char  weight  ppl:sentence  bits/char\n" in result.stdout
    assert "\nKN-1 starts every sentence anew, in either state\n" in result.stdout
    assert re.findall(r"^first +KN-1 +(\w+)", result.stdout, re.M) == ["carried", "sentence"]
    assert re.findall(r"^signature of (.*?): ", result.stdout, re.M) == ["KN-1", "first", "first"]


def test_trainings_with_other_seeds_have_a_table(tmp_path: Path) -> None:
    twin = Path(shutil.copytree("exp/first", tmp_path / "twin"))
    info = json.loads((twin / "run.json").read_text())
    (twin / "run.json").write_text(json.dumps(info | {"seed": info["seed"] + 1}))
    result = run_compare(*WITH_MODEL, "--model", str(twin), "--state", "sentence")
    assert SEEDS in result.stdout


@pytest.mark.parametrize(
    ("difference", "shown"),
    [
        ((-45.0, -46.0, -44.0), ["-45.00", "-46.00", "-44.00"]),
        ((0.0102, 0.0098, 0.0107), ["0.01020", "0.00980", "0.01070"]),
        ((-0.5, -1.0, -0.001), ["-0.50", "-1.00", "-0.0010"]),  # is 0 inside?
        ((-1e-9, -2e-9, 1e-9), ["0.000000"] * 3),
        ((0.0, 0.0, 0.0), ["0.00"] * 3),
        ((None, None, None), ["undefined"] * 3),
    ],
)
def test_a_difference_and_its_interval_show_two_digits_that_tell_something(
    difference: tuple[float | None, ...], shown: list[str]
) -> None:
    assert shown_interval(Difference(*difference, None, None, first_better=0.5)) == shown


def test_other_words_make_other_tables_and_a_note(save: Save) -> None:
    save("exp/second", "abc")
    result = run_compare(*WITH_MODEL, "--model", "exp/second", "--samples", "100")
    sizes = re.findall(r"^corpus test: .* vocabulary of (\d+) words", result.stdout, re.M)
    assert sizes == ["10", "5"]
    assert result.stdout.endswith(
        "\nnote: 2 vocabularies: perplexities compare within a table, not between tables\n"
    )


def test_a_text_too_small_for_discounts_is_warned_of_once() -> None:
    result = run_compare("--data", "corpus", "--order", "3")
    assert result.exit_code == 0
    assert result.stderr == (
        "KN-3: estimating from corpus/train.txt\n"
        "warning: too little text, or too few words, for Kneser-Ney discounts of order 1, 2, 3: "
        "took .5, 1, 1.5 there\n"
    )


def test_json_is_one_object_with_what_the_library_returns() -> None:
    result = run_compare(*WITH_MODEL, "--samples", "100", "--json")
    expected = comparison.compare_kn(
        "corpus", model="exp/first", order=1, samples=100, device="cpu"
    ).to_dict()
    assert without_seconds(json.loads(result.stdout)) == without_seconds(expected)


def without_seconds(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_seconds(each) for key, each in value.items() if key != "seconds"}
    return [without_seconds(each) for each in value] if isinstance(value, list | tuple) else value


def test_the_example_in_the_help_works() -> None:
    (example,) = re.findall(r"^ *charlm compare-kn (.*)$", compare_kn.__doc__ or "", re.M)
    result = run_compare(*shlex.split(example), "--device", "cpu")
    assert result.exit_code == 0
    assert "\nfirst+KN-5 " in result.stdout


def test_a_comparison_begins_with_a_verdict() -> None:
    Path("corpus/test.txt").write_text("a b\nb a a\nzz\n" * 5)
    Path("exp/first/log.jsonl").write_text(
        "".join(
            json.dumps({"epoch": n, "train_ppl": 9, "valid_ppl": ppl, "n_tokens": 9, "seconds": 1})
            + "\n"
            for n, ppl in ((1, 30.0), (2, 20.0))
        )
    )
    first, second = run_compare(*WITH_MODEL).stdout.splitlines()[:2]
    assert first.startswith("verdict, state carried: first is worse than KN-1 by ")
    assert first.endswith("; its validation was still falling: train longer")
    assert second.startswith("corpus test: 15 sentences")
    (group,) = json.loads(run_compare(*WITH_MODEL, "--json").stdout)["groups"]
    assert group["verdict"] == [first]
