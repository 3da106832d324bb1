"""Tasks and their answers, with the other processes replaced by recorded ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from charlm.errors import DataError
from charlm.processes.group import Group
from charlm.processes.worker_pool import WorkerPool, shared_out


@dataclass(frozen=True)
class Written(Group):
    """A process that is given a list of tasks, one after another, and records its answers."""

    tasks: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def handed_out(self, shares: Sequence[Any] | None) -> Any:
        assert shares is None
        return self.tasks.pop(0)

    def collected(self, own: Any) -> list[Any]:
        self.answers.append(own)
        return []


def test_a_process_answers_until_it_is_dismissed() -> None:
    group = Written(1, 2, tasks=[3, 0, None, 5])
    WorkerPool(group, lambda number: number * 10).follow()
    assert group.answers == [30, 0]
    assert group.tasks == [5]


@dataclass(frozen=True)
class Pair(Group):
    """The first of two processes; the other gives recorded answers."""

    others: list[Any] = field(default_factory=list)

    def handed_out(self, shares: Sequence[Any] | None) -> Any:
        assert shares is not None
        return shares[0]

    def collected(self, own: Any) -> list[Any]:
        return [own, self.others.pop(0)]


def tenfold(number: int) -> int:
    if number < 0:
        raise DataError(f"{number}: below 0")
    return number * 10


def test_a_refused_task_is_the_firsts_to_tell_and_all_go_on_to_the_next() -> None:
    other = Written(1, 2, tasks=[-1, 2, 3, -5, None])
    WorkerPool(other, tenfold).follow()
    first = WorkerPool(Pair(0, 2, others=other.answers), tenfold)
    with pytest.raises(DataError, match="^-1: below 0$"):
        first.do([1, -1])
    assert first.do([1, 2]) == [10, 20]
    with pytest.raises(DataError, match="^-3: below 0$"):
        first.do([-3, 3])
    with pytest.raises(DataError, match="^-4: below 0$"):
        first.do([-4, -5])
    assert other.answers == []


def test_alone_the_one_task_is_done_and_nobody_dismissed() -> None:
    pool: WorkerPool[int, int] = WorkerPool(Group(), lambda number: number + 1)
    assert pool.size == 1
    assert pool.do([4]) == [5]
    pool.dismiss()
    with pytest.raises(AssertionError):
        pool.do([4, 5])


@pytest.mark.parametrize(
    ("costs", "loads", "owned"),
    [
        ([], [0, 0], [[], []]),
        ([1, 5, 2, 2], [0, 0], [[1], [2, 3, 0]]),
        ([1, 5, 2, 2], [20, 0, 0], [[], [1], [2, 3, 0]]),
        ([3, 3, 3], [4, 0], [[2], [0, 1]]),
        ([1, 2], [0], [[1, 0]]),
    ],
)
def test_the_costliest_goes_first_to_who_has_least(
    costs: list[int], loads: list[int], owned: list[list[int]]
) -> None:
    assert shared_out(costs, loads=loads) == owned
