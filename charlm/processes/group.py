"""The processes that do one thing together, and what they tell each other.

Every process must call the methods of a `Group`, in the same order: if one leaves a call out, the
others wait for it. A single process sends nothing, and its results are the same to the bit as
without this file.
"""

import atexit
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Self, TypeVar

import torch
from torch import distributed
from torch.distributed.distributed_c10d import Store

from charlm.errors import ProcessError
from charlm.runtime import ProcessPlace

# A process that dies is noticed at once, by its connections: this is for one that stands still.
SILENCE = timedelta(minutes=10)
PATIENCE = timedelta(days=100)  # while the first process encodes a text, or waits for a line

Message = TypeVar("Message")


class RankLostError(ProcessError):
    """Another process is gone, or hangs."""


@dataclass(frozen=True)
class Work:
    """What processes do together, for messages."""

    name: str
    command: tuple[str, ...]  # of charlm's, that the further processes are started by
    advice: str  # what to do where one of them is gone


TRAINING = Work(
    "the training",
    ("train", "--data", os.devnull),
    "what was saved before is kept; go on with --resume",
)
EVALUATION = Work("the evaluation", ("eval",), "start it again")
SCORING = Work("the scoring", ("score",), "start it again")


@dataclass(frozen=True)
class Group:
    """This process, number `rank` of `size`; only the first, 0, writes and prints."""

    rank: int = 0
    size: int = 1
    patient: distributed.ProcessGroup | None = None  # for waits that have no natural end
    work: Work = TRAINING

    @contextmanager
    def connected(
        self, place: ProcessPlace, *, store: Store | None = None, within: timedelta = SILENCE
    ) -> Iterator[Self]:
        """The same work in processes that can communicate: by gloo on the CPU, by NCCL on GPUs.

        They meet by `store`, else where the environment says. An existing group is used. NCCL has
        not been run yet: no machine with several GPUs was at hand.

        Raises:
            RankLostError: they do not all come in time.
        """
        with ExitStack() as stack:
            if not distributed.is_initialized():
                stack.callback(_end_group)
                # Torch's own, which it leaves there, names a rank before each line of a traceback.
                stack.callback(setattr, sys, "excepthook", sys.excepthook)
            patient = _patient_group(place, store=store, within=within)
            yield replace(self, rank=place.rank, size=place.size, patient=patient)
            if store is None:
                # Who have met by way of the environment cannot do so again: the addresses that
                # stand there are those of the first time. So they stay for whatever comes next.
                atexit.register(stack.pop_all().close)

    @property
    def is_first(self) -> bool:
        """Whether this process writes, and prints for the user."""
        return self.rank == 0

    def from_first(self, make: Callable[[], Message]) -> Message:
        """The result of `make` in the first process, sent to all; it may take any time.

        Raises:
            RankLostError: `make` failed; the first process reports its error itself.
        """
        if self.size == 1:
            return make()
        message: list[Message | None] = [None]
        try:
            if self.is_first:
                message = [make()]
        finally:  # an error, too, is something that the others wait for
            with self._sending():
                distributed.broadcast_object_list(message, src=0, group=self.patient)
        if message[0] is None:
            raise self._ended()
        return message[0]

    def receive(self) -> Any:
        """In any other process, what the first one sends by `from_first`."""
        assert not self.is_first  # which alone has anything to tell
        return self.from_first(lambda: None)

    def handed_out(self, shares: Sequence[Message] | None) -> Message:
        """This process's part of `shares`, which the first process gives; others pass None."""
        if self.size == 1:
            assert shares is not None
            return shares[0]
        own: list[Any] = [None]  # torch fills it
        given = None if shares is None else list(shares)
        with self._sending():
            distributed.scatter_object_list(own, given, src=0, group=self.patient)
        received: Message = own[0]
        return received

    def collected(self, own: Message) -> list[Message]:
        """At the first process, what each process passes, by rank; nothing at the others."""
        if self.size == 1:
            return [own]
        everyones: list[Any] | None = [None] * self.size if self.is_first else None
        with self._together():
            distributed.gather_object(own, everyones, dst=0, group=self.patient)
        return everyones or []

    def decided(self, *answers: bool) -> tuple[bool, ...]:
        """The first process's answers, for decisions that depend on its clock."""
        if self.size == 1:
            return answers
        sent = torch.tensor(answers)
        with self._together():
            distributed.broadcast(sent, src=0)
        return tuple(sent.tolist())

    def summed(self, *values: float) -> tuple[float, ...]:
        """Each number summed over the processes, in float64."""
        if self.size == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64)
        with self._together():
            distributed.all_reduce(sums)
        return tuple(sums.tolist())

    @contextmanager
    def _sending(self) -> Iterator[None]:
        """As `_together`; the first process, which sends, waits for the others for a limited time.

        They wait for it already. But gloo may overlook that one of them ended just before, and then
        waits for it as long as it may.
        """
        with self._together():
            if not self.is_first or self.patient is None:
                yield
                return
            self.patient.set_timeout(SILENCE)
            yield
            self.patient.set_timeout(PATIENCE)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Turns the errors of one call of torch's for a lost connection into RankLostError."""
        try:
            yield
        except RuntimeError:
            raise self._ended() from None

    def _ended(self) -> RankLostError:
        return RankLostError(
            f"process {self.rank} of {self.size}: another process of {self.work.name} ended or "
            f"gives no answer; expected all to go on to the end; {self.work.advice}"
        )


def _patient_group(
    place: ProcessPlace, *, store: Store | None, within: timedelta
) -> distributed.ProcessGroup:
    """The group of all processes without a time limit; torch's own one is made before it."""
    # A torch that is made for GPUs has NCCL, which does not start on a machine that has none.
    has_nccl = distributed.is_nccl_available() and torch.cuda.is_available()
    backend = "cpu:gloo,cuda:nccl" if has_nccl else "gloo"
    try:
        if not distributed.is_initialized():
            distributed.init_process_group(
                backend, store=store, rank=place.rank, world_size=place.size, timeout=within
            )
            world = distributed.group.WORLD
            assert world is not None
            world.set_timeout(SILENCE)
        patient: distributed.ProcessGroup = distributed.new_group(backend="gloo", timeout=within)
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise RankLostError(
            f"process {place.rank} of {place.size}: did not find the others ({reason}); expected "
            f"all to come within {within.seconds} seconds; start them again"
        ) from None
    patient.set_timeout(PATIENCE)
    return patient


def _end_group() -> None:
    """End torch's group, unless another user of it has done so."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
