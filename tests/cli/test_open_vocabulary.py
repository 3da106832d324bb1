"""The commands' output with an open vocabulary, for a uniform model and a uniform speller."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.text.vocabulary.vocabulary import inventory_of

SaveRun = Callable[..., Path]

TRAIN = [["a", "b", "c", "d", "e", "f", "g", "h"], ["<unk>"]]  # with </s> and <unk>: V = 10
# zz is two escapes and the end: at first one symbol of 9 (no end), then of 10; 8 known letters.
ESCAPED = 1_112_064 - 8
ZZ = 1 / 9 / 10 / 10 / ESCAPED**2 / (1 - 8 / 90)
BITS = 5 * math.log2(10) - math.log2(ZZ)
OVER = "their 3 characters, the blank behind each one of them"
OPEN_ROWS = f"""\
bits/byte           2.3728      2.3728  7 bytes
ppl-open      {2 ** (BITS / 5):>11.2f} {2 ** (BITS / 5):>11.2f}  5 tokens, each </s> one of them
bits/char-open {BITS / 7:>11.4f} {BITS / 7:>11.4f}  7 characters
bits/byte-open {BITS / 7:>11.4f} {BITS / 7:>11.4f}  7 bytes
first figures: one stream, the state carried over sentence ends, as the model was trained
<unk> as target: 1 of 3 words (33.33%); the bits leave their spelling out
0 OOVs: SRILM's count, of words without a probability; <unk> has one
spelled: 1 word, {-math.log2(ZZ) / 3:.4f} bits/char over {OVER}
"""


@pytest.fixture(autouse=True)
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save_uniform: SaveRun, add_speller: SaveRun
) -> None:
    """A working folder with a text and a run that gives all words and all letters alike."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a b\nzz\n")
    Path("train.txt").write_text("a b c d\nb <unk> e a\n" * 4)
    run = save_uniform(Path("run"), inventory_of(TRAIN, min_char_count=1))
    add_speller(run, fill=torch.nn.init.zeros_)


def run_charlm(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


SAID = ("eval", "a.txt", "--model", "run", "--device", "cpu", "--open-vocabulary")


def squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_eval_prints_what_words_cost_with_their_spelling() -> None:
    result = run_charlm(*SAID)
    assert (result.exit_code, result.stderr) == (0, "")
    assert squeezed(OPEN_ROWS) in squeezed(result.stdout)
    assert result.stdout.count("|open-vocabulary:") == 2


def test_json_holds_the_same_figures() -> None:
    value = json.loads(run_charlm(*SAID, "--json").stdout)["texts"][0]
    told = value["open_vocabulary"]
    assert told["obstacle"] is None
    assert told["sentence"]["ppl"] == pytest.approx(2 ** (BITS / 5), rel=1e-4)
    assert told["carried"]["bits_per_byte"] == pytest.approx(BITS / 7, rel=1e-5)
    assert told["spelling"]["n_words"] == 1
    assert value["sentence"]["ppl"] == pytest.approx(10, rel=1e-5)


def test_eval_says_why_there_is_no_figure() -> None:
    Path("a.txt").write_text("a <unk>\n")
    result = run_charlm(*SAID)
    line = "no open-vocabulary figures: unspelled words, <unk> in the text itself: 1"
    assert line in result.stdout.splitlines()
    assert "-open " not in result.stdout


def test_eval_says_that_no_word_was_to_be_spelled() -> None:
    Path("a.txt").write_text("a b\n")
    result = run_charlm(*SAID)
    assert "spelled: no word, since none is outside the vocabulary" in result.stdout
    assert "ppl-open" in result.stdout


def test_kneser_ney_prints_figures_of_the_same_speller() -> None:
    result = run_charlm(
        "ngram", "a.txt", "--train", "train.txt", "--order", "2", "--speller", "run"
    )
    assert result.exit_code == 0
    rows = [line.split()[0] for line in result.stdout.splitlines() if "-open" in line.split(" ")[0]]
    assert rows == ["ppl-open", "bits/char-open", "bits/byte-open"]
    (spelled,) = (line for line in OPEN_ROWS.splitlines() if line.startswith("spelled"))
    assert spelled in result.stdout.splitlines()


def test_train_takes_a_speller_and_a_text_of_spellings() -> None:
    Path("c").mkdir()
    Path("c/train.txt").write_text("xyz a\n" + "a b\n" * 6)
    Path("c/valid.txt").write_text("a b\n")
    small = ("--set", "encoder.encoder.widths=1,2", "--set", "encoder.encoder.filters=3,4")
    tiny = (*small, "--set", "context.dim=4", "--epochs", "1", "--batch-size", "2", "--bptt", "4")
    asked = ("--arch", "char-small", "--data", "c", "--threads", "1", "--device", "cpu")
    base = ("train", *asked, *tiny)
    result = run_charlm(*base, "--out", "first", "--speller")
    assert result.exit_code == 0
    assert "learning the 1 words of train.txt outside the vocabulary" in result.stderr
    result = run_charlm(*base, "--out", "second", "--spellings", "a.txt")
    assert "learning the 1 words of a.txt outside the vocabulary" in result.stderr
