"""Tasks and their answers, with the other processes replaced by what they would say."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from charlm.processes.crew import Crew, shared_out
from charlm.processes.group import Group


@dataclass(frozen=True)
class Written(Group):
    """A process that is given a list of tasks, one after the other, and notes its answers."""

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
    Crew(group, lambda number: number * 10).follow()
    assert group.answers == [30, 0]
    assert group.tasks == [5]


def test_alone_the_one_task_is_done_and_nobody_dismissed() -> None:
    crew: Crew[int, int] = Crew(Group(), lambda number: number + 1)
    assert crew.size == 1
    assert crew.do([4]) == [5]
    crew.dismiss()
    with pytest.raises(AssertionError):
        crew.do([4, 5])


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
