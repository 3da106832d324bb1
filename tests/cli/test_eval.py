"""`charlm eval`: the whole output in every layout, for a model that gives each of 10 words 1/10."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.eval import eval_command
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import inventory_of

SaveRun = Callable[..., Path]

TRAIN = [["a", "b", "c", "d", "e", "f", "g", "h"], ["<unk>"]]  # with </s> and <unk>: V = 10
TEXT = "a B\nzz\n"
BLOCK = """\
              carried    sentence  over
ppl             10.00       10.00  5 tokens, each </s> one of them
ppl1            46.42       46.42  3 words
ppl-known       10.00       10.00  4 tokens, without <unk>
bits/char      2.3728      2.3728  7 characters
bits/byte      2.3728      2.3728  7 bytes
first figures: one stream, the state carried over sentence ends, as the model was trained
<unk> as target: 1 of 3 words (33.33%); the bits leave their spelling out
0 OOVs: SRILM's count, of words without a probability; <unk> has one
normalised: 1 of 3 words (33.33%) stand otherwise in the text
signature: SIGNED|streams:1|state:carried|MADE
signature: SIGNED|state:sentence|MADE
"""
TOTAL = """\
file a.txt: 2 sentences, 3 words, 0 OOVs
0 zeroprobs, logprob= -5 ppl= 10 ppl1= 46.41589
"""
DEBUG_1 = """\
a b
1 sentences, 2 words, 0 OOVs
0 zeroprobs, logprob= -3 ppl= 10 ppl1= 31.62278

zz
1 sentences, 1 words, 0 OOVs
0 zeroprobs, logprob= -2 ppl= 10 ppl1= 100

"""
DEBUG_2 = """\
a b
\tp( a | <s> ) \t= [nn] 0.1 [ -1 ]
\tp( b | a ...) \t= [nn] 0.1 [ -1 ]
\tp( </s> | b ...) \t= [nn] 0.1 [ -1 ]
1 sentences, 2 words, 0 OOVs
0 zeroprobs, logprob= -3 ppl= 10 ppl1= 31.62278

zz
\tp( <unk> | <s> ) \t= [nn] 0.1 [ -1 ]
\tp( </s> | <unk> ...) \t= [nn] 0.1 [ -1 ]
1 sentences, 1 words, 0 OOVs
0 zeroprobs, logprob= -2 ppl= 10 ppl1= 100

"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save_uniform: SaveRun) -> None:
    """A working folder with a text, a corpus and a uniform model that lower-cases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHARLM_MODEL", raising=False)
    Path("a.txt").write_text(TEXT)
    Path("corpus").mkdir()
    Path("corpus/test.txt").write_text(TEXT)
    inventory = inventory_of(TRAIN, normalisation=Normalisation(lower=True))
    save_uniform(Path("exp/first"), inventory)


def run_eval(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["eval", *arguments])


def unsigned(printed: str) -> str:
    """The output without the hashes of signatures, which another test reads."""
    signed = r"charlm:\S+?\|model:[0-9a-f]{12}\|vocab:[0-9a-f]{12}\|data:[0-9a-f]{12}"
    printed = re.sub(signed, "SIGNED", printed)
    return printed.replace("start:</s>|oov_input:unk|norm:NFC+lower|precision:fp32", "MADE")


SAID = ("a.txt", "--model", "exp/first", "--device", "cpu")


def test_the_two_lines_of_srilm_stand_before_the_further_perplexities() -> None:
    result = run_eval(*SAID)
    assert (result.exit_code, result.stderr) == (0, "")
    assert unsigned(result.stdout) == f"{TOTAL}\n{BLOCK}\n"


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--debug", "1"], DEBUG_1 + TOTAL),
        (["--debug", "2"], DEBUG_2 + TOTAL),
        (
            ["--format", "kenlm"],
            "a=3 1 -1\tb=4 1 -1\t</s>=2 1 -1\tTotal: -3 OOV: 0\n"
            "zz=0 1 -1\t</s>=2 1 -1\tTotal: -2 OOV: 1\n"
            "Perplexity including OOVs:\t10\nPerplexity excluding OOVs:\t10\n"
            "OOVs:\t1\nTokens:\t5\n",
        ),
        (
            ["--format", "jsonl"],
            '{"log10_prob": -3, "words": ["a", "b"], "known": [true, true], '
            '"log10_probs": [-1, -1, -1]}\n'
            '{"log10_prob": -2, "words": ["zz"], "known": [false], "log10_probs": [-1, -1]}\n',
        ),
        (["--format", "probabilities"], "0.1\tb\n0.1\t</s>\n0.1\t<unk>\n0.1\t</s>\n"),
    ],
)
def test_a_layout_has_stdout_for_itself_and_the_rest_goes_to_stderr(
    options: list[str], printed: str
) -> None:
    result = run_eval(*SAID, *options)
    assert result.exit_code == 0
    # log 10 is not exact in fp32, so that the full output has 1.0000000139 instead of 1.
    rounded = re.sub(r"\d+\.\d{8,}", lambda m: f"{float(m[0]):.6g}", result.stdout)
    assert rounded == printed
    # SRILM's count is explained where it stands.
    told = BLOCK if "--debug" in options else re.sub("0 OOVs: .*\n", "", BLOCK)
    assert unsigned(result.stderr) == told


def test_the_probabilities_of_several_texts_lack_one_token_as_those_of_one_text_do() -> None:
    printed = run_eval("a.txt", *SAID, "--format", "probabilities").stdout
    words = [line.partition("\t")[2] for line in printed.splitlines()]
    assert words == ["b", "</s>", "<unk>", "</s>", "a", "b", "</s>", "<unk>", "</s>"]


def train_for_sentences() -> None:
    """Mark the run as trained by `charlm train --for sentences`."""
    info = json.loads(Path("exp/first/run.json").read_text())
    info["settings"]["recipe"]["batching"] = {"type": "streams", "reset": 0.5}
    Path("exp/first/run.json").write_text(json.dumps(info))


def test_a_model_for_sentences_is_first_measured_sentence_by_sentence() -> None:
    train_for_sentences()
    lines = run_eval(*SAID).stdout.splitlines()
    assert lines[3].split() == ["sentence", "carried", "over"]
    assert "first figures: each sentence on its own, as the model was trained" in lines
    assert "|state:sentence|" in lines[-3] and "|state:carried|" in lines[-2]
    states = list(json.loads(run_eval(*SAID, "--json").stdout)["texts"][0])
    assert states[-3:] == ["trained_state", "sentence", "carried"]


@pytest.mark.parametrize(
    ("state", "is_for_sentences", "told"),
    [
        ("carried", False, "one stream, the state carried over sentence ends, as the model was "),
        ("sentence", True, "each sentence on its own, as the model was trained"),
        (
            "sentence",
            False,
            "each sentence on its own; the model was trained with its state carried over their ends"
            " (train --for sentences is for them)",
        ),
        (
            "carried",
            True,
            "one stream, the state carried over sentence ends; the model was trained for single "
            "sentences",
        ),
    ],
)
def test_one_state_says_whether_the_model_was_trained_for_it(
    state: str, is_for_sentences: bool, told: str
) -> None:
    if is_for_sentences:
        train_for_sentences()
    assert f"bytes\n{told}" in run_eval(*SAID, "--state", state).stdout


def test_one_state_has_one_column_and_one_signature() -> None:
    result = run_eval(*SAID, "--state", "sentence")
    assert "\n             sentence  over\nppl             10.00  5 tokens" in result.stdout
    assert result.stdout.count("signature: ") == 1
    assert "carried|" not in result.stdout


def test_several_texts_have_a_block_each() -> None:
    Path("b.txt").write_text("a\n")
    result = run_eval("b.txt", *SAID)
    assert result.stdout.startswith("file b.txt: 1 sentences, 1 words, 0 OOVs\n")
    assert unsigned(result.stdout).endswith(f"\n\n{TOTAL}\n{BLOCK}\n")
    assert result.stdout.count("bits/char") == 2


def test_a_raw_text_says_nothing_of_normalising() -> None:
    result = run_eval(*SAID, "--raw")
    assert "\n<unk> as target: 2 of 3 words" in result.stdout  # B is not in the vocabulary
    assert "normalised" not in result.stdout


def test_a_literal_unk_is_a_target_that_is_unk() -> None:
    Path("a.txt").write_text("a <unk> zz <unk>:b\n")
    result = run_eval(*SAID)
    assert "\n<unk> as target: 3 of 4 words (75.00%); the bits leave" in result.stdout
    assert "\nmost words are <unk>, so the perplexities say little: " in result.stdout


def test_json_is_one_object_with_what_the_library_returns() -> None:
    result = run_eval(*SAID, "--json")
    evaluation = charlm.evaluate("exp/first", files=["a.txt"], device="cpu")[0]
    assert json.loads(result.stdout) == {"model": "exp/first", "texts": [evaluation.to_dict()]}
    assert result.stderr == ""


def test_without_a_model_the_newest_run_is_taken_and_named() -> None:
    result = run_eval("a.txt", "--device", "cpu")
    assert unsigned(result.stdout) == f"{TOTAL}\n{BLOCK}\n"
    assert result.stderr == "model: exp/first\n"


@pytest.mark.parametrize(
    "example", re.findall(r"^ *charlm eval (.*)$", eval_command.__doc__ or "", re.M)
)
def test_the_examples_in_the_help_work(example: str) -> None:
    result = run_eval(*shlex.split(example), "--device", "cpu")
    assert result.exit_code == 0
    assert "|split:test|" in result.stdout


def test_adaptation_is_told_with_its_rates_and_what_the_figures_depend_on() -> None:
    result = run_eval(*SAID, "--adapt", "both", "--adapt-rates", "theta=0")
    shown = "both(segment=20,rate=0.3,decay=0.001,size=500,theta=0,lambda=0.1,squares=none)"
    told = f"\nadapted to the text as it was read, {shown}: the figures depend on the order of its "
    assert f"{told}sentences\nsignature: " in result.stdout
    assert result.stdout.count(f"|adapt:{shown}\n") == 2
    assert result.stderr == (
        "exp/first: no mean squared gradients (mean-squares.safetensors): plain gradient steps; "
        "charlm eval --adapt dynamic --data DIR makes them once, of the train.txt of the training\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [*SAID, "--debug", "1", "--format", "kenlm"],
            "charlm: --debug and --format kenlm: expected one of them; drop either\n",
        ),
        (
            [*SAID, "--debug", "1", "--json"],
            "charlm: --json and a layout of words: expected one of them; drop either\n",
        ),
        ([*SAID, "--debug", "3"], "charlm: --debug 3: expected 0 to 2\n"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_1(arguments: list[str], message: str) -> None:
    result = run_eval(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)
