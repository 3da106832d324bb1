"""The rescoring benchmark: its counts against a hand count, and equal scores on all paths."""

import json
from pathlib import Path

import pytest

from charlm.bench.score import APART, BF16, SHARED, bench_score
from charlm.errors import DataError

LISTS = "u\tthe cat\nu\tthe dog\nu\tthe cat\nu\t\nv\tthe cat sat\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.tsv"
    path.write_text(LISTS)
    return path


def test_sharing_is_tokens_over_distinct_prefixes(tiny_run: Path, lists: Path) -> None:
    found = bench_score(lists, model=tiny_run, repetitions=1, threads=1, device="cpu")
    assert (found.n_lists, found.n_hypotheses) == (2, 5)
    assert found.n_tokens == 3 + 3 + 3 + 1 + 4
    # Prefixes: the start, the, the cat, the dog, the cat sat.
    assert found.sharing == pytest.approx(14 / 5)
    assert found.sharing_of_distinct == pytest.approx((3 + 3 + 1 + 4) / 5)
    assert found.largest_difference < 1e-4
    assert set(found.timings) == {SHARED, APART, BF16}
    speed = found.paths()[SHARED]["tokens_per_second"]
    assert speed == pytest.approx(14 / found.timings[SHARED].median)
    assert found.speed_up == pytest.approx(
        found.timings[APART].median / found.timings[SHARED].median
    )


def test_a_result_is_json(tiny_run: Path, lists: Path) -> None:
    found = bench_score(lists, model=tiny_run, repetitions=2, threads=1, device="cpu").to_dict()
    paths = json.loads(json.dumps(found))["paths"]
    assert [len(paths[name]["seconds"]) for name in (SHARED, APART, BF16)] == [2, 2, 2]
    assert len(paths[SHARED]["processor_seconds"]) == 2


def test_whole_lists_are_taken_until_there_are_enough(tiny_run: Path, lists: Path) -> None:
    found = bench_score(lists, model=tiny_run, repetitions=1, threads=1, max_hypotheses=2)
    assert (found.n_lists, found.n_hypotheses) == (1, 4)


def test_a_list_without_hypotheses_cannot_be_measured(tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text("\n")
    with pytest.raises(DataError) as caught:
        bench_score(path, model=tiny_run, format="jsonl", threads=1)
    assert str(caught.value) == f"{path}: no hypothesis; expected a list of some"
