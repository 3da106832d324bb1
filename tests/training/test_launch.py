"""Processes that `charlm train` starts itself: what they must see, and what ends them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from charlm.errors import DataError
from charlm.run.folder import LOG, MODEL
from charlm.text.vocabulary.encoding import EncodedText
from charlm.training.planning.plan import Plan
from charlm.training.ranks import Ranks
from charlm.training.recipe.recipe import build_recipe
from charlm.training.session import TrainingStart, follow


def test_a_machine_that_does_not_see_the_run_is_one_line(tmp_path: Path) -> None:
    plan = Plan(
        data=tmp_path,
        folder=tmp_path / "run",
        arch="char-small",
        settings={},
        changes={},
        recipe=build_recipe({})[0],
        vocab=None,
        max_tokens=0,
        seed=1,
        threads=1,
        device=torch.device("cpu"),
        precision="fp32",
        stored=None,
    )
    text = EncodedText(np.empty(0, np.int32), (), 1, "")

    begun = TrainingStart(plan, {"train": text}, is_resumed=False)
    with pytest.raises(DataError) as caught:
        follow(Ranks(1, 2), begun, device=torch.device("cpu"))
    assert str(caught.value) == (
        f"{tmp_path / 'run' / 'encoded' / 'train.ids'}: process 1 of 2 does not see it; expected "
        "the run directory that the first process writes; give an --out that all machines share"
    )


EPOCHS = 3
TOGETHER = [
    *("--epochs", str(EPOCHS), "--batch-size", "2", "--bptt", "3"),
    *("--precision", "fp32", "--processes", "2"),
]


def started_by(process: int) -> list[int]:
    """The processes that a process has started, as Linux tells them."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(number) for number in text.split()]


def n_epochs(run: Path) -> int:
    return len((run / LOG).read_text().splitlines()) if (run / LOG).exists() else 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc who was started")
def test_a_killed_process_ends_the_run_with_one_line_and_it_goes_on(
    start_training: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    first = start_training(run, *TOGETHER)
    limit = time.monotonic() + 300
    while not (run / MODEL).exists():  # an epoch is done
        assert first.poll() is None, first.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.002)
    (other,) = started_by(first.pid)
    os.kill(other, signal.SIGKILL)
    printed, errors = first.communicate(timeout=300)
    assert (first.returncode, printed) == (1, "")
    assert [line for line in errors.splitlines() if line.startswith("charlm: ")] == [
        "charlm: process 1 of 2 ended before the training did: it was killed by SIGKILL; what was "
        "saved before is kept; go on with --resume"
    ]
    assert "Traceback" not in errors
    assert 1 <= n_epochs(run) < EPOCHS
    second = start_training(run, *TOGETHER, "--resume", "--json")
    printed, errors = second.communicate(timeout=300)
    assert second.returncode == 0, errors
    assert json.loads(printed)["epochs"] == n_epochs(run) == EPOCHS
