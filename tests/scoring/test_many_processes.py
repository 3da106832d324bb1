"""Evaluation and scoring by two real processes, connected by gloo, against one.

One pair of processes runs all tests, since starting it costs the most.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import charlm

PROGRAM = """
import json, os, sys
from torch import distributed
import charlm

rank, folder = int(sys.argv[1]), sys.argv[2]
os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
)
for command, options in json.load(sys.stdin):
    if rank:
        options = {"device": "cpu"}
    found = getattr(charlm, command)(**options)
    told = [each.to_dict() for each in found] if command == "evaluate" else found.to_dict()
    print(json.dumps(told))
distributed.destroy_process_group()
"""
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
LISTS = "u\t-1\tthe cat sat\nu\t-2\tthe dog sat\nu\t-3\ta bird\nv\t-1\tdogs looked\nv\t-2\ta mat\n"


def asked(run: Path, corpus: Path, out: Path) -> list[tuple[str, dict[str, Any]]]:
    common = {"model": str(run), "threads": 1, "device": "cpu"}
    texts = [str(corpus / f"{split}.txt") for split in ("train", "test")]
    lists = {**common, "lists": str(out / "lists.tsv"), "format": "tsv"}
    return [
        ("evaluate", {**common, "files": texts}),
        ("evaluate", {**common, "files": texts, "state": "sentence"}),
        ("score", {**lists, "out": str(out / "scored.tsv")}),
        ("score", {**lists, "out": str(out / "ranked.tsv"), "write": "ranked", "weight": ["nn=2"]}),
        (
            "score",
            {**lists, "out": str(out / "errors.tsv"), "write": "errors", "refs": str(out / "refs")},
        ),
    ]


def start(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )


def test_two_processes_find_and_write_what_one_does(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, fields: Callable[[str], list[Any]]
) -> None:
    for name in ("pair", "alone"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lists.tsv").write_text(LISTS)
        (tmp_path / name / "refs").write_text("u the cat sat\nv a dog looked\n")
    pair = [start(["-c", PROGRAM, str(rank), str(tmp_path)]) for rank in range(2)]
    jobs = json.dumps(asked(tiny_run, corpus_dir, tmp_path / "pair"))
    for process in pair:
        assert process.stdin is not None
        process.stdin.write(jobs)
        process.stdin.close()
        process.stdin = None
    told = [process.communicate(timeout=300) for process in pair]
    assert [process.returncode for process in pair] == [0, 0], told
    assert told[0][0] == told[1][0]  # both have the result
    found = [json.loads(line) for line in told[0][0].splitlines()]
    (_, first), (_, second), *scored = asked(tiny_run, corpus_dir, tmp_path / "alone")
    for results, options in zip(found[:2], (first, second), strict=True):
        assert results == [each.to_dict() for each in charlm.evaluate(**options)]
    for result, (_, options) in zip(found[2:], scored, strict=True):
        alone = charlm.score(**options).to_dict()
        assert {k: result[k] for k in ("n_lists", "n_moved", "scorers")} == {
            k: alone[k] for k in ("n_lists", "n_moved", "scorers")
        }
    for name in ("scored.tsv", "ranked.tsv"):
        of_pair, of_one = (tmp_path / which / name for which in ("pair", "alone"))
        assert fields(of_pair.read_text()) == fields(of_one.read_text())
    tables = {(tmp_path / which / "errors.tsv").read_text() for which in ("pair", "alone")}
    assert [table.count("\n") for table in tables] == [3]
