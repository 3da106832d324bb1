"""Two real processes, connected by gloo, against one: the same losses, weights and resuming.

One pair of processes runs all trainings of this file, since starting it costs the most.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.run.folder import LOG, MODEL, RESUME
from charlm.run.stored_weights import read_tensors

PROGRAM = """
import json, os, sys
import torch
from torch import distributed
from charlm import runtime
from charlm.model.kernels import sparse_rows
from charlm.training import session
from charlm.training.train import train

sparse_rows.LARGE = 1  # gradients are row-sparse where they can be, and in one process they are not
runtime.require_fp32_as_default = lambda: None
session.save_curve = lambda *_, **__: None  # which takes longer than the rest
os.fsync = lambda descriptor: None
rank, folder = int(sys.argv[1]), sys.argv[2]
os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
)
to_single = torch.Tensor.float
for number_format, options in json.load(sys.stdin):
    torch.set_default_dtype(getattr(torch, number_format))
    torch.Tensor.float = torch.Tensor.double if number_format == "float64" else to_single
    result = train(**options)
    print(json.dumps(result.to_dict()))
distributed.destroy_process_group()
"""
NO_DROPOUT = ("context.dropout=0",)
EXACT: dict[str, dict[str, Any]] = {  # 30 steps each, except for the sentences
    "streams": {"overrides": ("recipe.clip=0.3",), "bptt": 3},
    "penalties": {
        "overrides": (
            "recipe.activation_penalty=2",
            "recipe.temporal_penalty=1",
            "recipe.past_decode_penalty=0.5",
            "recipe.divisor=tokens",
            "recipe.clip=0.5",
            "recipe.batching.reset=0.5",
            "recipe.batching.shuffle=partial",
            "context.initial_state=learned",
            "recipe.averaging.type=ema",
        ),
        "bptt": 3,
    },
    "sentences": {  # 25 of them, so that the last batch has one, and one process none
        "overrides": (
            "recipe.batching.type=sentences",
            "recipe.batching.max_words=7",
            "recipe.activation_penalty=2",
            "recipe.temporal_penalty=1",
        ),
        "epochs": 3,
    },
    "rows": {
        "overrides": ("output.type=class", "output.classes=6", "recipe.clip=0.3"),
        "bptt": 3,
    },
    "rows, sentences": {  # here a process without a sentence has no rows either
        "overrides": (
            "output.type=class",
            "output.classes=6",
            "recipe.clip=0.3",
            "recipe.batching.type=sentences",
        ),
        "epochs": 3,
    },
    "tied": {
        "overrides": ("output.type=composed", "output.project=true", "recipe.oov_input=spelling"),
        "bptt": 3,
    },
}
STOPPED = "0.000001s"  # --max-time that ends after the first step

Alone = Callable[..., Any]


@pytest.fixture(scope="module")
def asked(toy_corpus: Path, tiny: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    def options(*, overrides: tuple[str, ...] = (), **others: Any) -> dict[str, Any]:
        common = {"epochs": 2, "batch_size": 4, "threads": 1, "precision": "fp32", "device": "cpu"}
        model = {"arch": "char-small", "overrides": [*tiny, *overrides]}
        return {**common, "data": str(toy_corpus), **model, **others}

    return options


@pytest.fixture(scope="module")
def pairs(
    asked: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder with runs that two processes trained together, by name."""
    folder = tmp_path_factory.mktemp("pairs")
    jobs: list[tuple[str, dict[str, Any]]] = []
    for name, job in EXACT.items():
        overrides = NO_DROPOUT + job["overrides"]
        out = str(folder / name)
        jobs.append(("float64", asked(**{**job, "out": out, "overrides": overrides})))
    dropout = {"bptt": 5, "epochs": 6}
    jobs.append(("float32", asked(out=str(folder / "dropout"), **dropout)))
    whole = {"bptt": 15}
    jobs.append(("float32", asked(out=str(folder / "whole"), **whole)))
    jobs.append(("float32", asked(out=str(folder / "resumed"), max_time=STOPPED, **whole)))
    jobs.append(("float32", asked(out=str(folder / "resumed"), resume=True, **whole)))
    jobs.append(("float32", asked(out=str(folder / "stopped"), max_time=STOPPED, **whole)))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
        )
        for rank in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(json.dumps(jobs))
        process.stdin.close()
        process.stdin = None
    told = [process.communicate(timeout=300) for process in processes]
    for process, (_, errors) in zip(processes, told, strict=True):
        assert process.returncode == 0, errors
    results = [[json.loads(line) for line in printed.splitlines()] for printed, _ in told]
    for first, second in zip(*results, strict=True):  # both have the result
        assert {**first, "seconds": 0} == {**second, "seconds": 0}
    yield folder


def log_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / LOG).read_text().splitlines()]


@pytest.mark.parametrize("name", EXACT)
def test_two_processes_equal_one_to_1e_8_in_float64(
    name: str,
    pairs: Path,
    train_toy: Alone,
    asked: Callable[..., dict[str, Any]],
    in_float64: None,
    tmp_path: Path,
) -> None:
    job = EXACT[name]
    options = asked(**{**job, "overrides": NO_DROPOUT + job["overrides"]})
    train_toy("alone", **options)
    for file in (MODEL, RESUME):
        alone, meta = read_tensors(tmp_path / "alone" / file)
        together, meta_together = read_tensors(pairs / name / file)
        own = {key for key in together if key.startswith("generator.")}
        compared = sorted(together.keys() - own)
        assert compared == sorted(key for key in alone if not key.startswith("generator."))
        assert sum(alone[key].dtype == torch.float64 for key in compared) > 10
        for key in compared:
            assert alone[key].shape == together[key].shape
            assert float((alone[key] - together[key]).abs().max()) <= 1e-8, key
    counts = ("epoch", "rate", "n_tokens", "clipped")
    for one, two in zip(log_of(tmp_path / "alone"), log_of(pairs / name), strict=True):
        assert [one[key] for key in counts] == [two[key] for key in counts]
        for ppl in ("train_ppl", "valid_ppl"):
            assert two[ppl] == pytest.approx(one[ppl], rel=1e-8)


def test_training_moved_the_weights_by_far_more(pairs: Path) -> None:
    tensors, _ = read_tensors(pairs / "streams" / MODEL)
    assert float(tensors["output.words.weight"].abs().max()) > 0.051  # at most 0.05 at the start


def test_with_dropout_the_validation_perplexity_agrees_within_the_noise_of_seeds(
    pairs: Path, train_toy: Alone, asked: Callable[..., dict[str, Any]]
) -> None:
    ppls = []
    for seed in range(5):
        result = train_toy(f"seed-{seed}", **asked(bptt=5, epochs=6, seed=seed))
        ppls.append(result.valid_ppl)
    found = min(record["valid_ppl"] for record in log_of(pairs / "dropout"))
    margin = max(ppls) - min(ppls)
    assert min(ppls) - margin < found < max(ppls) + margin
    assert max(ppls) < 1.05 * min(ppls)  # else the margin would prove nothing


def test_processes_draw_other_dropout_masks(pairs: Path) -> None:
    tensors, _ = read_tensors(pairs / "dropout" / RESUME)
    assert not torch.equal(tensors["generator.cpu"], tensors["generator.cpu.1"])


def test_two_processes_that_were_stopped_go_on_to_the_same_bits(
    pairs: Path, bits: Callable[[Path], dict[str, object]]
) -> None:
    assert bits(pairs / "resumed") == bits(pairs / "whole")
    assert "resume.safetensors:generator.cpu.1" in bits(pairs / "whole")


def test_one_process_goes_on_with_the_state_of_two_and_says_so(
    pairs: Path, train_toy: Alone, asked: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    notes: list[str] = []
    before, _ = read_tensors(pairs / "stopped" / RESUME)
    assert before["state.0"].shape[0] == 4 and before["state.0"].any(dim=-1).all()
    shutil.copytree(pairs / "stopped", tmp_path / "run")
    result = train_toy(**asked(bptt=15, resume=True), notes=notes)
    assert result.is_finished
    assert notes == [
        "other number of processes than the run's (2, now 1): dropout may draw other masks; "
        "without it, results agree closely, not to the bit"
    ]
