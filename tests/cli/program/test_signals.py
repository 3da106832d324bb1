"""What a training does on a signal, and what is left after one has ended it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from charlm.cli.program.signals import ENDING, EndedBySignal, StopRequest
from charlm.run.folder import CARD
from charlm.training import session
from charlm.training.train import TrainResult, train

SIZES = ["encoder.encoder.dim=3", "encoder.encoder.widths=1,2", "encoder.encoder.filters=3,4"]
SIZES += ["context.dim=5", "context.layers=1"]
EPOCHS = 4  # of half a second each
COUNTED = r"[123] epochs?( and \d+ steps?)?, \d+ s of training"
STOPPED = rf"{{run}}: stopped by {{name}} after {COUNTED}; go on with --resume.*"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    text = "the cat sat\na dog ran far\nthe dogs sit\na cat is a cat\n"
    for split, n in (("train", 12), ("valid", 1)):
        (folder / f"{split}.txt").write_text(text * n)
    return folder


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights of a training that nobody interrupts."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    trained(corpus, run)
    return (run / "model.safetensors").read_bytes()


def trained(corpus: Path, run: Path, **more: object) -> TrainResult:
    """The same training in this process, without drawing its curve."""
    sizes = {"epochs": EPOCHS, "batch_size": 2, "bptt": 1, "overrides": SIZES}
    machine = {"precision": "fp32", "threads": 1, "device": "cpu"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "save_curve", lambda *_, **__: None)
        return train(arch="char-small", data=corpus, out=run, **sizes, **machine, **more)


@pytest.fixture
def start(corpus: Path, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts a training into tmp_path/run; the process is killed at the end if it still runs."""
    started = []
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    environment["TMPDIR"] = str(temporary)
    environment.pop("TORCHINDUCTOR_CACHE_DIR", None)  # torch's compiler sets it

    def begin(*more: str) -> "subprocess.Popen[str]":
        words = ["--arch", "char-small", "--data", str(corpus), "--out", str(tmp_path / "run")]
        words += ["--epochs", str(EPOCHS), "--batch-size", "2", "--bptt", "1"]
        words += ["--precision", "fp32", "--threads", "1", "--device", "cpu"]
        sizes = [word for size in SIZES for word in ("--set", size)]
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "charlm", "train", *words, *sizes, *more],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[2],
                env=environment,
                start_new_session=True,
            )
        )
        return started[-1]

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def await_epoch(process: "subprocess.Popen[str]", run: Path) -> None:
    limit = time.monotonic() + 300
    while not (run / CARD).exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.002)
    time.sleep(0.05)  # it is in the next epoch by now


@pytest.mark.parametrize(
    ("number", "name", "status"),
    [
        (signal.SIGTERM, "SIGTERM", -signal.SIGTERM),  # 143 as a shell sees it
        (signal.SIGINT, "Ctrl-C", 130),
    ],
)
def test_a_training_stopped_by_a_signal_says_where_and_goes_on_to_the_same_bits(
    number: int,
    name: str,
    status: int,
    start: Callable[..., "subprocess.Popen[str]"],
    corpus: Path,
    whole: bytes,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    process = start()
    await_epoch(process, run)
    process.send_signal(number)
    printed, errors = process.communicate(timeout=300)
    assert (process.returncode, printed) == (status, "")
    last = errors.splitlines()[-1]
    assert re.fullmatch(STOPPED.format(run=re.escape(str(run)), name=name), last), errors
    assert list((tmp_path / "temporary").iterdir()) == []
    assert trained(corpus, run, resume=True).epochs == EPOCHS
    assert (run / "model.safetensors").read_bytes() == whole


def test_two_processes_stop_together_when_their_terminal_says_so(
    start: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = start("--processes", "2")
    await_epoch(process, run)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    last = errors.splitlines()[-1]
    assert re.fullmatch(STOPPED.format(run=re.escape(str(run)), name="Ctrl-C"), last), errors
    assert (run / "resume.safetensors").exists()


def handlers() -> Sequence[object]:
    return [signal.getsignal(number) for number in ENDING]


def test_the_first_signal_is_a_request_and_the_second_one_ends_the_process() -> None:
    before = handlers()
    with StopRequest(is_rank_0=True) as request:
        assert not request()
        signal.raise_signal(signal.SIGTERM)
        assert (request(), request.name) == (True, "SIGTERM")
        assert handlers() == [signal.SIG_DFL] * len(ENDING)
    assert handlers() == before


def test_before_anything_can_be_saved_a_signal_ends_the_work() -> None:
    before = handlers()
    with pytest.raises(EndedBySignal), StopRequest(is_rank_0=True):
        signal.raise_signal(signal.SIGHUP)
    with pytest.raises(KeyboardInterrupt), StopRequest(is_rank_0=True):
        signal.raise_signal(signal.SIGINT)
    assert handlers() == before


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopRequest(is_rank_0=True) as request:
            signal.raise_signal(signal.SIGHUP)
            assert not request()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_rank_leaves_signals_to_rank_0() -> None:
    with StopRequest(is_rank_0=False) as request:
        assert handlers() == [signal.SIG_IGN] * len(ENDING)
        signal.raise_signal(signal.SIGTERM)
        assert not request()


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGTERM, -signal.SIGTERM, ""),
        (signal.SIGHUP, -signal.SIGHUP, ""),
        (signal.SIGINT, 130, "charlm: interrupted\n"),
    ],
)
@pytest.mark.parametrize(
    "begins", ["tidy_up_when_ended()", "StopRequest(is_rank_0=True).__enter__()"]
)
def test_a_signal_ends_an_import_that_makes_an_error_of_its_own_of_it(
    number: int, status: int, said: str, begins: str, tmp_path: Path
) -> None:
    (tmp_path / "numerical.py").write_text(
        f"import signal\ntry:\n    signal.raise_signal({int(number)})\n"
        "except BaseException:\n    raise ImportError('cannot load module more than once')\n"
    )
    code = f"from charlm.cli.program.signals import *\n{begins}\nimport numerical\nprint('loaded')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, "", said)
