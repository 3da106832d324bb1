"""The output of `charlm info`: the card of a run, and which run a command would take."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.info import write_facts

pytestmark = pytest.mark.usefixtures("at_home")


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["info", *arguments])


def test_a_card_is_a_line_a_fact() -> None:
    result = ask("exp/first")
    assert (result.exit_code, result.stderr) == (0, "")
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in result.stdout.splitlines())
    facts = charlm.info("exp/first")
    assert list(rows) == [
        *("what", "run", "preset", "state", "valid ppl", "signature", "test ppl", "parameters"),
        *("V", "C", "taps", "corpus", "train text", "valid text", "text rules"),
        *("encoder", "context", "output", "recipe", "time", "seed, threads"),
        *("precision, device", "versions", "weights", "vocabulary", "command"),
    ]
    assert rows["state"] == "finished, 1 of 1 epoch, the best of epoch 1 kept"
    assert rows["taps"] == "char-cnn (16), transform (16), highway (16), output (8)"
    assert rows["valid ppl"] == f"{facts.perplexities[0].ppl:.2f}, as read in training"
    assert rows["signature"] == facts.perplexities[0].signature
    assert rows["parameters"].startswith(f"{facts.n_parameters:,}: encoder ")
    assert rows["test ppl"] == "charlm eval --model exp/first --data DIR"
    assert rows["encoder"] == (
        "highway (encoder char-cnn (dim 4, widths 1,2,3, filters 4,4,8), layers 1)"
    )


def test_an_empty_list_is_shown_as_it_is_set() -> None:
    value = json.loads(Path("exp/first/run.json").read_text())
    value["settings"]["output"] = {"type": "adaptive", "cutoffs": [], "div_value": 4.0}
    Path("exp/first/run.json").write_text(json.dumps(value))
    Path("exp/first/model.safetensors").unlink()
    assert "  adaptive (cutoffs [], div_value 4.0)\n" in ask("exp/first").stdout


@pytest.mark.parametrize("left", [None, b""])
def test_a_log_that_is_gone_is_no_training_of_no_epochs(left: bytes | None) -> None:
    log = Path("exp/first/log.jsonl")
    log.unlink()
    if left is not None:
        log.write_bytes(left)
    told = "finished, log.jsonl is missing or empty (--verify tells), the best of epoch 1 kept"
    assert f"  {told}\n" in ask("exp/first").stdout


def test_the_hash_of_a_text_that_was_read_in_part_is_said_to_be_that_of_all_of_it() -> None:
    whole = re.search(r"train text +(.*)", ask("exp/first").stdout)
    value = json.loads(Path("exp/first/run.json").read_text())
    value["corpus"]["max_tokens"] = 1000
    Path("exp/first/run.json").write_text(json.dumps(value))
    part = re.search(r"train text +(.*)", ask("exp/first").stdout)
    assert whole is not None and part is not None
    said = " tokens: the first, at most 1,000 (--max-tokens), of the text of sha256 "
    assert part[1] == whole[1].replace(" tokens, sha256 ", said)


def test_a_terminal_gets_long_values_folded_and_controls_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    write_facts([("command", "x" * 30), ("corpus", "\x1b[2J [noise]")])
    plain = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    lines = [line.rstrip() for line in plain.splitlines()]
    assert lines == ["command  " + "x" * 19, " " * 9 + "x" * 11, "corpus   \\x1b[2J [noise]"]


def test_without_a_run_it_is_told_which_one_a_command_takes() -> None:
    shutil.copytree("exp/first", "exp/begun")
    Path("exp/begun/model.safetensors").unlink()
    result = ask()
    assert result.stderr == (
        "score, tune, serve, mix and compare-kn take only runs that are named; export also takes "
        "$CHARLM_MODEL\n"
    )
    first, blank, header, *rows = result.stdout.splitlines()
    assert first == "exp/first: the newest finished run in exp/; $CHARLM_MODEL is not set"
    assert (blank, header.split()) == ("", ["run", "preset", "epochs", "state"])
    assert sorted(row.split() for row in rows) == [
        ["*", "exp/first", "char-small", "1", "finished"],
        ["exp/begun", "char-small", "1", "without", "weights"],
    ]


def test_verify_tells_each_file_and_ends_with_status_1_where_one_fits_no_more() -> None:
    sound = ask("exp/first", "--verify")
    rows = [re.split(r"  +", line) for line in sound.stdout.splitlines()]
    assert (sound.exit_code, sound.stderr) == (0, "")
    assert rows[0] == ["file", "state", "found"]
    assert rows[3] == ["model.safetensors", "fits", "epoch 1, sha256 as recorded"]
    assert rows[-1] == ["curve.png", "not checked", "drawn from the log"]
    with open("exp/first/model.safetensors", "ab") as file:
        file.write(b"\0")
    damaged = ask("exp/first", "--verify")
    row = re.split(r"  +", damaged.stdout.splitlines()[3])
    assert row[:2] == ["model.safetensors", "fits no more"]
    assert (damaged.exit_code, damaged.stderr) == (
        1,
        "charlm: exp/first: model.safetensors: not what the run recorded; put back the files that "
        "it wrote\n",
    )
    value = json.loads(ask("exp/first", "--verify", "--json").stdout)
    assert value == json.loads(json.dumps(charlm.info("exp/first", verify=True).to_dict()))
    assert value["misfits"] == ["model.safetensors"]


def test_json_is_what_the_library_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(ask("exp/first", "--json").stdout) == json.loads(
        json.dumps(charlm.info("exp/first").to_dict())
    )
    monkeypatch.setenv("CHARLM_MODEL", "elsewhere")
    value = json.loads(ask("--json").stdout)
    assert (value["run"], [each["path"] for each in value["known"]]) == ("elsewhere", ["exp/first"])


def test_verify_wants_a_run() -> None:
    message = "charlm: --verify: no run was given; expected the one whose files to check\n"
    result = ask("--verify")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)
