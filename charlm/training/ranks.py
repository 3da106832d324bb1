"""The processes that train one model together, and what they tell each other.

All hold the same weights and make the same updates; each reads streams of its own. Whatever is
called here is called by every process, in the same order: one that leaves a call out lets the
others wait. Alone, a process tells nobody anything, and not a bit is other than without this file.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn

from charlm.errors import ConfigError, TrainingError

BUCKET = 1 << 22  # gradients that are sent at once: a copy of 16 MB
PATIENCE = timedelta(days=2)  # while the first process encodes a text or validates

Told = TypeVar("Told")


class RankLostError(TrainingError):
    """Another process of a training is gone, or stands still."""


@dataclass(frozen=True)
class Ranks:
    """This process, number `rank` of `size`; the first is 0 and writes the run."""

    rank: int = 0
    size: int = 1
    patient: distributed.ProcessGroup | None = None  # for waits that have no natural end

    @classmethod
    def of_group(cls, *, rank: int, size: int) -> "Ranks":
        """Those of the process group that exists."""
        if size == 1:
            return cls()
        return cls(rank, size, distributed.new_group(backend="gloo", timeout=PATIENCE))

    @property
    def is_first(self) -> bool:
        """Whether this process writes the run and talks to the user."""
        return self.rank == 0

    @property
    def columns(self) -> slice:
        """Which streams or sentences of a batch are this process's."""
        return slice(self.rank, None, self.size)

    def seed(self, seed: int) -> int:
        """The seed of this process's dropout, which must not be that of another."""
        return int(np.random.default_rng((seed, self.rank)).integers(2**63))

    def from_first(self, make: Callable[[], Told]) -> Told:
        """What the first process makes, told to all; it may take any time.

        Raises:
            RankLostError: it made nothing, by an error that it tells itself.
        """
        if self.size == 1:
            return make()
        told: list[Told | None] = [None]
        try:
            if self.is_first:
                told = [make()]
        finally:  # an error, too, is something that the others wait for
            with self._together():
                distributed.broadcast_object_list(told, src=0, group=self.patient)
        if told[0] is None:
            raise self._ended()
        return told[0]

    def decided(self, *answers: bool) -> tuple[bool, ...]:
        """The first process's answers, for what its clock decides."""
        if self.size == 1:
            return answers
        told = torch.tensor(answers)
        with self._together():
            distributed.broadcast(told, src=0)
        return tuple(told.tolist())

    def summed(self, *values: float) -> tuple[float, ...]:
        """Each number summed over the processes, in float64."""
        if self.size == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64)
        with self._together():
            distributed.all_reduce(sums)
        return tuple(sums.tolist())

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Give every parameter its gradient summed over the processes; None where none has one."""
        if self.size == 1:
            return
        for bucket in _buckets(parameters):
            has_B = torch.tensor([p.grad is not None for p in bucket], dtype=bucket[0].dtype)
            pieces = [p.grad if p.grad is not None else torch.zeros_like(p) for p in bucket]
            flat = torch.cat([each.reshape(-1) for each in (*pieces, has_B.to(pieces[0].device))])
            with self._together():
                distributed.all_reduce(flat)
            sizes = [p.numel() for p in bucket]
            *summed, has_B = flat.split([*sizes, len(bucket)])
            for parameter, piece, has in zip(bucket, summed, has_B.tolist(), strict=True):
                parameter.grad = piece.view_as(parameter) if has else None

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite these tensors by the first process's."""
        if self.size == 1:
            return
        for tensor in tensors:
            with self._together():
                distributed.broadcast(tensor, src=0)

    def gathered(self, tensor: Tensor) -> list[Tensor]:
        """The tensor of each process, by rank, on the CPU; all are of one shape."""
        if self.size == 1:
            return [tensor]
        own = tensor.detach().cpu().contiguous()
        all_of_them = [torch.empty_like(own) for _ in range(self.size)]
        with self._together():
            distributed.all_gather(all_of_them, own)
        return all_of_them

    def whole(self, rows: Tensor) -> Tensor:
        """The rows of all processes in the order of the batch: the inverse of `columns`."""
        return rows if self.size == 1 else torch.stack(self.gathered(rows), 1).flatten(0, 1)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Around one call of torch's, which knows no better error for a lost connection."""
        try:
            yield
        except RuntimeError:
            raise self._ended() from None

    def _ended(self) -> RankLostError:
        return RankLostError(
            f"process {self.rank} of {self.size}: another process of the training ended or gives "
            "no answer; expected all to go on to the end; the last checkpoint is kept; go on with "
            "--resume"
        )


ALONE = Ranks()


def check_batch_size(batch_size: int, n_processes: int) -> None:
    """Raises ConfigError where the processes would have unequal shares."""
    if batch_size % n_processes:
        lower = batch_size // n_processes * n_processes
        sizes = f"{lower} or {lower + n_processes}" if lower else str(n_processes)
        raise ConfigError(
            f"option 'batch_size' of recipe is {batch_size} for {n_processes} processes; expected "
            f"a multiple, so that all have the same share; use --batch-size {sizes}"
        )


def _buckets(parameters: Iterable[nn.Parameter]) -> Iterator[Sequence[nn.Parameter]]:
    bucket: list[nn.Parameter] = []
    for parameter in parameters:
        if bucket and sum(p.numel() for p in bucket) + parameter.numel() > BUCKET:
            yield bucket
            bucket = []
        bucket.append(parameter)
    if bucket:
        yield bucket
