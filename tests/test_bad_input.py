"""Every mistake of a user gives one line on stderr and an exit status, in every command.

A row is a command line and what follows `charlm: `; a `…` stands for another library's words. The
files that the rows name are made below.
"""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from charlm.cli import app

NO_UTF_8 = "utf/train.txt:2: invalid UTF-8 (byte 0xff at column 3); expected UTF-8 text;"
PREP = "let `charlm prep` read it (--encoding), or clean it (--invalid replace or drop)"
SAY = "say what it is by --encoding, or"
NO_CUDA = (
    "--device 'cuda': this machine shows 0 CUDA devices; use --device cpu, or install a torch "
    "built for CUDA"
)
NO_RUN = "no such folder or file; expected a run, which `charlm train` writes"
NO_FOLDER = "no such folder; expected one that holds train.txt, valid.txt, test.txt"
NO_TEXT = "no such file; expected one sentence a line, words between blanks"
GZIP = "broken compressed file (…); expected a whole one"
BINARY = "found a NUL byte; expected text, not a binary file"
CLEAN = "`charlm prep --invalid replace` or `drop` cleans it"
ESCAPED = r"'\x1b[31mx\x1b[0m y'"  # the repr, without control characters

TRAIN = [
    ("--data nowhere", f"nowhere: {NO_FOLDER}"),
    ("--data no-train", f"no-train/train.txt: {NO_TEXT}"),
    ("--data no-valid", f"no-valid/valid.txt: {NO_TEXT}"),
    ("--data empty", "empty/train.txt: no word in it; expected text, one sentence a line, words …"),
    ("--data corpus --epochs 0", "--epochs 0: expected 1 or more"),
    ("--data corpus --lr nan", "--lr nan: expected 0 or more"),
    ("--data corpus --max-tokens 1", "corpus/train.txt: --max-tokens 1 leaves no word of it; …"),
    (
        "--data corpus --out utf/train.txt",
        "utf/train.txt: is a file; expected a folder or a new name",
    ),
    ("--data empty-valid", "empty-valid/valid.txt: no sentence; expected one a line"),
    ("--data binary", f"binary/train.txt:1: {BINARY}; {CLEAN}"),
    ("--data utf", f"{NO_UTF_8} {PREP}"),
    ("--data nul", f"nul/train.txt:2: {BINARY}; {CLEAN}"),
    ("--data inside", "inside/train.txt:1: found </s> within a line; expected one sentence a line"),
    ("--data made", "made/corpus.json: not what `charlm prep` writes; expected an object"),
    (
        "--data corpus --arch char-huge",
        "unknown preset 'char-huge'; did you mean char-large? `charlm train --list` shows all",
    ),
    (
        "--data corpus --arch char-small --set encoder.dmi=3",
        "encoder 'highway' has no option 'dmi'; did you mean encoder.encoder.dim? it takes …",
    ),
    (
        "--data corpus --set context.dim=1000000000",
        "option 'dim' of context 'lstm' is 1000000000; expected 1 to 65536",
    ),
    (
        "--data corpus --set dim",
        "--set 'dim': expected PART.OPTION=VALUE, as encoder.widths=1,2,3",
    ),
    ("--data corpus --arch ''", "unknown preset ''; `charlm train --list` shows all"),
    ("--data corpus --max-time soon", "--max-time 'soon': expected a time as 90s, 30m or 2h"),
    ("--data corpus --max-time ''", "--max-time '': expected a time as 90s, 30m or 2h"),
    ("--data corpus --device cuda", NO_CUDA),
    ("--data corpus --device tpu", "--device 'tpu': expected auto, cpu, cuda or cuda:N"),
    ("--data corpus --vocab no.json", "no.json: no such file; expected what `charlm vocab` writes"),
    ("--data corpus --vocab deep.json", "deep.json: JSON nested too deep; expected a file of …"),
    (
        "--data corpus --out run",
        "run: holds a run already; add --resume to go on, or choose another --out",
    ),
    (
        "--data corpus --out run --resume --seed 3",
        "--seed 3 disagrees with the run, which has 3435; leave it out",
    ),
    ("--data corpus --out cut --resume", "cut/run.json: not valid JSON (…"),
    (
        "--data corpus --out cut-checkpoint --resume",
        "cut-checkpoint/resume.safetensors: cut or damaged (…",
    ),
]
RUN = [
    ("--model nowhere", f"nowhere: {NO_RUN}"),
    ("--model cut", "cut/run.json: not valid JSON (…"),
    ("--model cut-weights", "cut-weights/model.safetensors: cut or damaged (…"),
    ("--model run --device cuda", NO_CUDA),
    ("--model run --device tpu", "--device 'tpu': expected auto, cpu, cuda or cuda:N"),
    (
        "",
        "no model was given and exp/ holds no finished one; train one, or use --model RUN or "
        "set CHARLM_MODEL",
    ),
]
EVAL = [
    ("no.txt", "no.txt: no such file; expected a text"),
    ("corpus", "corpus: is a folder; expected a file; of a corpus directory: --data corpus"),
    ("empty/train.txt", "empty/train.txt: no sentence; expected one a line"),
    ("binary/train.txt", f"binary/train.txt:1: {BINARY}; {CLEAN}"),
    ("utf/train.txt", f"{NO_UTF_8} {SAY} convert the file; `charlm prep --invalid …` …"),
    ("broken.gz", f"broken.gz: {GZIP}"),
    ("--data nowhere", f"nowhere: {NO_FOLDER}"),
    ("", "found neither files nor --data; expected one of them; give either"),
    (
        "corpus/test.txt --split test",
        "--split test: expected --data DIR, of which it is a part; drop it",
    ),
]
NN = [
    ("cat --at top", "--at: found 'top'; expected one of char-cnn, transform, highway, output"),
    ("''", "word '': is read as nothing; expected one word"),
    (
        "'\x1b[31mx\x1b[0m y'",
        f"word {ESCAPED}: is read as 2 words (" + r"\x1b[31mx\x1b[0m, y); expected one word",
    ),
]
VOCAB = [
    ("--data nowhere", f"nowhere: {NO_FOLDER}"),
    ("--data empty", "empty/train.txt: no word in it; expected text, one sentence a line, words …"),
    ("--data utf", f"{NO_UTF_8} {PREP}"),
    ("--data nul", f"nul/train.txt:2: {BINARY}; {CLEAN}"),
    ("--data corpus --against nul/train.txt", f"nul/train.txt:2: {BINARY}; {CLEAN}"),
    (
        "--data corpus --out nowhere/v.json",
        "--out nowhere/v.json: no folder nowhere; expected one; make it first",
    ),
]
PREP = [
    ("no.txt", "no.txt: no such file; expected a text"),
    ("corpus", "corpus: is a folder; expected raw text; it is a corpus already, which …"),
    ("binary/train.txt", f"binary/train.txt:1: {BINARY}; --invalid replace or drop cleans it"),
    ("utf/train.txt", f"{NO_UTF_8} {SAY} let --invalid replace or drop clean it"),
    ("broken.gz", f"broken.gz: {GZIP}"),
]
ROWS = [
    *((f"train --out new {row}", line) for row, line in TRAIN),
    *((f"eval corpus/test.txt {row}", line) for row, line in RUN),
    *((f"eval --model run {row}", line) for row, line in EVAL),
    *((f"nn --model run {row}", line) for row, line in NN),
    *((f"vocab {row}", line) for row, line in VOCAB),
    *((f"prep --out new {row}", line) for row, line in PREP),
]


@pytest.fixture
def world(
    corpus_dir: Path, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A working folder with a corpus and a run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    shutil.copytree(corpus_dir, "corpus")
    shutil.copytree(tiny_run, "run")
    return tmp_path


TEXTS: dict[str, dict[str, bytes | None]] = {
    "no-train": {"train.txt": None},
    "no-valid": {"valid.txt": None},
    "empty": {"train.txt": b""},
    "empty-valid": {"valid.txt": b""},
    "binary": {"train.txt": b"\x7fELF\x02\x01\0\0"},
    "utf": {"train.txt": b"a b\nc \xff d\n"},
    "nul": {"train.txt": b"a b\nc\0d\n"},
    "inside": {"train.txt": b"a </s> b\n"},
    "made": {"corpus.json": b"[]"},
}


def cut(path: str) -> None:
    Path(path).write_bytes(Path(path).read_bytes()[:200])


RUNS: dict[str, Callable[[str], object]] = {
    "cut": lambda run: cut(f"{run}/run.json"),
    "cut-weights": lambda run: cut(f"{run}/model.safetensors"),
    "cut-checkpoint": lambda run: cut(f"{run}/resume.safetensors"),
}
FILES = {"deep.json": b'{"a":' * 100_000, "broken.gz": b"\x1f\x8b\x08\0cut"}


def make(command: str) -> None:
    """What the command line names and the world does not hold."""
    for name in re.split(r"[ /]", command):
        if name in TEXTS:
            shutil.copytree("corpus", name)
            for file, content in TEXTS[name].items():
                if content is None:
                    Path(name, file).unlink()
                else:
                    Path(name, file).write_bytes(content)
        elif name in RUNS:
            shutil.copytree("run", name)
            RUNS[name](name)
        elif name in FILES:
            Path(name).write_bytes(FILES[name])


@pytest.mark.parametrize(("command", "line"), ROWS)
def test_bad_input_is_one_line_and_status_1(world: Path, command: str, line: str) -> None:
    make(command)
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 1, result.exception
    assert result.stdout == ""
    pattern = ".*".join(re.escape(part) for part in f"charlm: {line}".split("…"))
    assert re.fullmatch(pattern + "\n", result.stderr), result.stderr
    assert "\x1b" not in result.stderr
    assert not Path("new", "run.json").exists()


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("trian", "No such command 'trian'. Did you mean 'train'?"),
        ("train", "Missing option '--data'."),
        ("train --data corpus --precision fp8", "Invalid value for '--precision': …"),
        ("nn", "Invalid value: nothing is asked; give a WORD, or one of the options."),
        ("eval --state all", "Invalid value for '--state': …"),
        ("vocab --size many", "Invalid value for '--size': …"),
    ],
)
def test_what_is_not_understood_is_a_usage_error_and_status_2(command: str, error: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: charlm ")
    pattern = ".*".join(re.escape(part) for part in f"Error: {error}".split("…"))
    assert re.fullmatch(pattern, result.stderr.splitlines()[-1])
