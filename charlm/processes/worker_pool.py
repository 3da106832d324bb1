"""Work in equal shares: the first process reads, decides and writes, and hands out tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from charlm.errors import CharlmError
from charlm.processes.group import Group

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Refusal:
    """The answer to a task that cannot be done; others may still be possible."""

    error: CharlmError


class WorkerPool(Generic[Task, Answer]):
    """Processes that can all do the same work: the first hands out tasks and gets the answers.

    The others answer until they are dismissed. A task must be picklable, and an answer may depend
    on nothing but the task and those before it. Alone, the first does the one task itself.
    """

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
            CharlmError: that of the first process to refuse its task; all are ready for the next.
            RankLostError: another process is gone.
        """
        assert len(tasks) == self.size
        answers = []
        for answer in self.group.collected(self._answer(self.group.handed_out(tasks))):
            if isinstance(answer, _Refusal):
                raise answer.error
            answers.append(answer)
        return answers

    def dismiss(self) -> None:
        """There will be no more tasks."""
        if self.size > 1:
            self.group.handed_out([None] * self.size)

    def follow(self) -> None:
        """Do the first process's tasks until it dismisses this one.

        Raises:
            RankLostError: another process is gone; the first one says why.
        """
        while True:
            task: Task | None = self.group.handed_out(None)
            if task is None:
                return
            self.group.collected(self._answer(task))

    def _answer(self, task: Task) -> Answer | _Refusal:
        """An error is an answer, too: the others wait for one."""
        try:
            return self.work(task)
        except CharlmError as error:
            return _Refusal(error)


def shared_out(costs: Sequence[float], *, loads: Sequence[float]) -> list[list[int]]:
    """The process of each piece of work: the costliest goes first, to the least loaded process.

    `loads[k]` is what process k has to do anyway, in the unit of the costs.
    """
    totals, owned = list(loads), [list[int]() for _ in loads]
    for piece in sorted(range(len(costs)), key=lambda i: -costs[i]):
        owner = min(range(len(totals)), key=totals.__getitem__)
        owned[owner].append(piece)
        totals[owner] += costs[piece]
    return owned
