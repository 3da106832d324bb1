"""Processes that can all do the same work: the first hands out tasks, and has the answers.

Only the first reads, decides and writes; the others answer until they are dismissed. So a task must
be what pickle takes, and an answer hang on nothing but the task and those that came before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from charlm.errors import CharlmError
from charlm.processes.group import Group

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Refusal:
    """The answer to a task that cannot be done; whoever gave it may have others that can."""

    error: CharlmError


class Crew(Generic[Task, Answer]):
    """This process and those that work beside it; alone it does the one task that there is."""

    def __init__(self, group: Group, work: Callable[[Task], Answer]) -> None:
        self.group = group
        self.work = work

    @property
    def size(self) -> int:
        """How many tasks are done at once."""
        return self.group.size

    def do(self, tasks: Sequence[Task]) -> list[Answer]:
        """The answers to as many tasks as there are processes; only the first process calls this.

        Raises:
            CharlmError: what the first of them to refuse its task says; all are ready for the next.
            RankLostError: another process is gone.
        """
        assert len(tasks) == self.size
        own = self.group.handed_out(tasks)
        assert own is not None
        answers = []
        for answer in self.group.collected(self._answer(own)):
            if isinstance(answer, _Refusal):
                raise answer.error
            answers.append(answer)
        return answers

    def dismiss(self) -> None:
        """There will be no more tasks."""
        if self.size > 1:
            self.group.handed_out([None] * self.size)

    def follow(self) -> None:
        """Do what the first process asks for, until it dismisses its crew.

        Raises:
            RankLostError: another process is gone; the first one says why.
        """
        while True:
            task: Task | None = self.group.handed_out(None)
            if task is None:
                return
            self.group.collected(self._answer(task))

    def _answer(self, task: Task) -> Answer | _Refusal:
        """An error, too, is an answer: the others wait for one."""
        try:
            return self.work(task)
        except CharlmError as error:
            return _Refusal(error)


def shared_out(costs: Sequence[float], *, loads: Sequence[float]) -> list[list[int]]:
    """Which of some pieces of work is whose, by number: the costliest first, to who has least.

    `loads[k]` is what k has to do besides, in the unit of the costs.
    """
    totals, owned = list(loads), [list[int]() for _ in loads]
    for piece in sorted(range(len(costs)), key=lambda i: -costs[i]):
        owner = min(range(len(totals)), key=totals.__getitem__)
        owned[owner].append(piece)
        totals[owner] += costs[piece]
    return owned
