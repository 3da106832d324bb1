"""What the program does about errors, interrupts, and a closed or full output.

The processes started here run the real program with one command added.
"""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from charlm.cli.printing import output
from charlm.cli.program.boundary import boundary
from charlm.cli.program.usage import Commands
from charlm.errors import ConfigError, DataError, TrainingError

BIDI = "\u202e"


def command_line(command: Callable[[], None]) -> typer.Typer:
    app = typer.Typer(cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command("try")(command)
    return app


def test_what_ends_well_ends_nothing() -> None:
    with boundary():
        done = True
    assert done


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


TORCH_CPU = (
    "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 8000000000000 bytes. Error code 12 (Cannot allocate memory)"
)
TORCH_CUDA = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 9 GiB"
NUMPY = "Unable to allocate 7.28 TiB for an array with shape (1000000000000,) and data type float64"
LESS = "a smaller batch, model or vocabulary needs less"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DataError("a.txt:3: found a NUL byte"), "a.txt:3: found a NUL byte"),
        (ConfigError("no preset 'x'"), "no preset 'x'"),
        (TrainingError("loss is NaN"), "loss is NaN"),
        (DataError("word 'a\x1b[31m\x07b\x9b'"), r"word 'a\x1b[31m\x07b\x9b'"),
        (DataError(f"word '{BIDI}abc\t'"), r"word '\u202eabc\x09'"),
        (DataError("first\n   second\r\nthird\n"), "first second third"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "ptb/train.txt"),
            "ptb/train.txt: no such file or directory",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "run/log.jsonl"),
            "run/log.jsonl: no space left on device",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on device"),
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
            "no usable temporary directory found in ['/tmp']; TMPDIR names a folder that may be "
            "written to",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "a", None, "b"),
            "a -> b: permission denied",
        ),
        (OSError("not a gzipped file"), "not a gzipped file"),
        (
            ImportError("libtorch_cpu.so: failed to map segment from shared object"),
            "out of memory (libtorch_cpu.so cannot be loaded); give the program more (ulimit -v)",
        ),
        (
            ModuleNotFoundError("No module named 'scipy'", name="scipy"),
            f"found no Python package 'scipy' beside {sys.executable}; expected all that charlm "
            "depends on; install it again with them (pip install ., in its source folder)",
        ),
        (
            RuntimeError("Could not determine home directory."),
            "HOME: not set, and this user has no home folder; expected one; set HOME",
        ),
        (MemoryError(), f"out of memory; {LESS}"),
        (MemoryError(NUMPY), f"out of memory (7.28 TiB asked for); {LESS}"),
        (RuntimeError(TORCH_CPU), f"out of memory (8000000000000 bytes asked for); {LESS}"),
        (RuntimeError(TORCH_CUDA), f"out of memory (20.00 GiB asked for); {LESS}"),
    ],
)
def test_what_a_user_can_cause_is_one_line_and_status_1(error: Exception, line: str) -> None:
    result = CliRunner().invoke(command_line(raising(error)), ["try"])
    assert result.stdout == ""
    assert result.stderr == f"charlm: {line}\n"
    assert result.exit_code == 1


@pytest.mark.parametrize(
    "mistake",
    [
        ValueError("ours"),
        AssertionError(),
        RuntimeError("ours"),
        ImportError("no module 'ours'"),
        ModuleNotFoundError("No module named 'charlm.x'", name="charlm.x"),
    ],
)
def test_a_mistake_of_ours_keeps_its_traceback(mistake: Exception) -> None:
    result = CliRunner().invoke(command_line(raising(mistake)), ["try"])
    assert result.exception is mistake
    assert result.stderr == ""


def test_the_environment_can_ask_for_the_traceback_of_any_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHARLM_TRACEBACK", "1")
    error = DataError("a.txt: empty")
    assert CliRunner().invoke(command_line(raising(error)), ["try"]).exception is error


def test_an_interrupt_is_one_line_and_status_130() -> None:
    result = CliRunner().invoke(command_line(raising(KeyboardInterrupt())), ["try"])
    assert (result.exit_code, result.stderr) == (130, "charlm: interrupted\n")


def test_a_command_that_ends_well_has_status_0_and_an_untouched_stdout() -> None:
    result = CliRunner().invoke(command_line(lambda: output.write("[noise] é")), ["try"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "[noise] é\n", "")


IMPORTED = (
    "class Finder:\n    def find_spec(self, name, *_):\n"
    "        if name == 'charlm.cli': raise KeyboardInterrupt\n"
    "sys.meta_path.insert(0, Finder())\n"
)
BUILT = (
    "import signal, typer.main\n"
    "typer.main.get_command = lambda _: signal.raise_signal(signal.SIGINT)\n"
)


@pytest.mark.parametrize("comes", [IMPORTED, BUILT])
def test_ctrl_c_while_the_commands_are_imported_or_built_is_one_line(comes: str) -> None:
    script = f"import sys, charlm.__main__ as program\n{comes}program.main()\n"
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (130, "charlm: interrupted\n")


def test_the_end_of_a_command_looks_for_no_cycles() -> None:
    script = (
        "import atexit, gc, sys, charlm.cli\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # the first runs last
        "sys.argv = ['charlm', '--version']\ncharlm.cli.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True"


def start(body: str, **options: Any) -> "subprocess.Popen[str]":
    """The real program with a command `try` that runs `body`."""
    program = (
        "import signal, sys, time\nimport charlm.cli\nfrom charlm.cli import output\n"
        f"def command():\n    {body}\n"
        "charlm.cli.COMMANDS = ('try',)\ncharlm.cli.command_named = lambda _: command\n"
        "sys.argv = ['charlm', 'try']\ncharlm.cli.main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        **{
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": {**os.environ, "LC_ALL": "C", "PYTHONUNBUFFERED": ""},
            **options,
        },
        text=True,
        encoding="utf-8",
        cwd=Path(__file__).parents[2],
    )


def test_ctrl_c_ends_the_program_with_status_130_and_one_line() -> None:
    process = start("output.write('ready'); output.flush(); time.sleep(60)")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (130, "charlm: interrupted\n")


# A temporary folder, which must be removed however the program ends.
HOLDS = (
    "import tempfile; folder = tempfile.TemporaryDirectory(dir={folder!r})\n"
    "    with folder: output.write('ready'); output.flush(); time.sleep(60)"
)
ENDS = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]


@pytest.mark.parametrize("number", ENDS)
def test_a_program_that_is_ended_leaves_nothing_behind(
    number: signal.Signals, tmp_path: Path
) -> None:
    process = start(HOLDS.format(folder=str(tmp_path)))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors, list(tmp_path.iterdir())) == (-number, "", [])


def test_a_second_signal_ends_what_takes_long_to_tidy_up() -> None:
    process = start(
        "try: output.write('ready'); output.flush(); time.sleep(60)\n"
        "    finally: output.write('tidying'); output.flush(); time.sleep(60)"
    )
    assert process.stdout is not None
    for line in ("ready\n", "tidying\n"):
        assert process.stdout.readline() == line
        process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGTERM, -signal.SIGTERM, ""),
        (signal.SIGHUP, -signal.SIGHUP, ""),
        (signal.SIGINT, 130, "charlm: interrupted\n"),
    ],
)
def test_an_error_that_a_signal_has_become_is_no_mistake_of_ours(
    number: int, status: int, said: str
) -> None:
    process = start(
        f"try: signal.raise_signal({int(number)})\n"
        "    finally: raise RuntimeError('trying to pop from empty mode stack')"
    )
    written, errors = process.communicate(timeout=300)
    assert (process.returncode, written, errors) == (status, "", said)


def test_one_of_several_processes_ends_at_once(tmp_path: Path) -> None:
    process = start(HOLDS.format(folder=str(tmp_path)), env={**os.environ, "RANK": "1"})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=300)
    assert (process.returncode, len(list(tmp_path.iterdir()))) == (-signal.SIGTERM, 1)


def test_a_program_under_nohup_goes_on_when_its_terminal_closes() -> None:
    process = start(
        "output.write('ready'); output.flush(); sys.stdin.readline(); output.write('done')",
        preexec_fn=partial(signal.signal, signal.SIGHUP, signal.SIG_IGN),
        stdin=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    results, _ = process.communicate("\n", timeout=300)
    assert (process.returncode, results) == (0, "done\n")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_stream_that_the_caller_closed_does_not_become_the_first_file(
    number: int, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    body = f"import os; number = os.open({str(told)!r}, 65); os.write(number, b'%d' % number)"
    process = start(body, preexec_fn=partial(os.close, number))
    process.communicate(timeout=300)
    assert (process.returncode, int(told.read_text()) > 2) == (0, True)


@pytest.mark.parametrize("stderr", ["full", "closed pipe"])
def test_a_note_that_nobody_can_be_told_ends_no_command(stderr: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full:
        process = start(
            "signal.signal(signal.SIGPIPE, signal.SIG_IGN); "
            "[output.say('note') for _ in range(9)]; output.write('result')",
            stderr=full.fileno() if stderr == "full" else writer,
        )
    os.close(writer)
    results, _ = process.communicate(timeout=300)
    assert (process.returncode, results) == (0, "result\n")


@pytest.mark.parametrize(
    ("before", "status"),
    [("", -signal.SIGPIPE), ("signal.signal(signal.SIGPIPE, signal.SIG_IGN); ", 1)],
)
def test_a_closed_pipe_ends_the_program_silently(before: str, status: int) -> None:
    process = start(before + "[output.write('line ' * 100) for _ in range(10**6)]")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("line line")
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    assert (process.wait(timeout=300), errors) == (status, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("n_lines", [1, 10_000])
def test_a_full_disk_behind_stdout_is_one_line_and_status_1(n_lines: int) -> None:
    with open("/dev/full", "w") as full:
        process = start(f"[output.write('word') for _ in range({n_lines})]", stdout=full.fileno())
        _, errors = process.communicate(timeout=300)
    assert errors == "charlm: standard output: no space left on device\n"
    assert process.returncode == 1


def test_results_are_utf_8_with_plain_line_ends_whatever_the_locale() -> None:
    process = start("output.write('é 語 \\udc80')")
    written, errors = process.communicate(timeout=300)
    assert (written, errors) == ("é 語 \\udc80\n", "")


def test_a_result_without_a_stdout_is_an_error() -> None:
    process = start("sys.stdout = None; output.write('word')")
    _, errors = process.communicate(timeout=300)
    assert errors == "charlm: standard output: bad file descriptor\n"
    assert process.returncode == 1


def test_out_of_memory_of_the_installed_torch_is_one_line() -> None:
    torch = pytest.importorskip("torch")

    def command() -> None:
        torch.empty(1 << 60, dtype=torch.uint8)

    result = CliRunner().invoke(command_line(command), ["try"])
    assert result.stderr == f"charlm: out of memory ({1 << 60} bytes asked for); {LESS}\n"
