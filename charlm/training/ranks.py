"""The processes that train one model together: gradients, weights and shares of batches.

All hold the same weights and make the same updates; each reads its own streams.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, distributed, nn

from charlm.errors import ConfigError
from charlm.model.kernels.sparse_rows import can_be_sparse
from charlm.processes.group import Group

BUCKET = 1 << 22  # numbers of gradients that are sent at once: a copy of 16 MB
NONE, SPARSE, DENSE = range(3)  # the kind of gradient that a process has for a parameter


@dataclass(frozen=True)
class Ranks(Group):
    """This process of a training, number `rank` of `size`."""

    @property
    def columns(self) -> slice:
        """Which streams or sentences of a batch are this process's."""
        return slice(self.rank, None, self.size)

    def seed(self, seed: int) -> int:
        """The seed of this process's dropout, which must differ from the others'."""
        return int(np.random.default_rng((seed, self.rank)).integers(2**63))

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Set every parameter's gradient to the sum over the processes; None if none has one."""
        if self.size == 1:
            return
        listed = list(parameters)
        done = self._sum_rows([p for p in listed if can_be_sparse(p)])
        for bucket in _buckets(p for p in listed if id(p) not in done):
            has_B = torch.tensor([p.grad is not None for p in bucket], dtype=bucket[0].dtype)
            pieces = [p.grad if p.grad is not None else torch.zeros_like(p) for p in bucket]
            flat = torch.cat([each.reshape(-1) for each in (*pieces, has_B.to(pieces[0].device))])
            with self._together():
                distributed.all_reduce(flat)
            sizes = [p.numel() for p in bucket]
            *summed, has_B = flat.split([*sizes, len(bucket)])
            for parameter, piece, has in zip(bucket, summed, has_B.tolist(), strict=True):
                parameter.grad = piece.view_as(parameter) if has else None

    def _sum_rows(self, tables: Sequence[nn.Parameter]) -> set[int]:
        """Sum the gradients that are row-sparse in every process that has one; their tables' ids.

        The gradients of all other tables are dense afterwards.
        """
        if not tables:
            return set()
        gradients = [table.grad for table in tables]
        kinds = torch.tensor(
            [NONE if g is None else SPARSE if g.is_sparse else DENSE for g in gradients]
        )
        with self._together():
            distributed.all_reduce(kinds, op=distributed.ReduceOp.MAX)
        done = set()
        for table, kind in zip(tables, kinds.tolist(), strict=True):
            if kind == SPARSE:
                rows = (_no_rows(table) if table.grad is None else table.grad).coalesce()
                with self._together():
                    distributed.all_reduce(rows)
                table.grad = rows
                done.add(id(table))
            elif table.grad is not None and table.grad.is_sparse:
                table.grad = table.grad.to_dense()
        return done

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite these tensors with those of the first process."""
        if self.size == 1:
            return
        for tensor in tensors:
            with self._together():
                distributed.broadcast(tensor, src=0)

    def gathered(self, tensor: Tensor) -> list[Tensor]:
        """The tensor of each process, by rank, on the CPU; all have the same shape."""
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


ALONE = Ranks()


def check_batch_size(batch_size: int, n_processes: int, *, is_resumed: bool = False) -> None:
    """Raise ConfigError if the processes would have unequal shares."""
    if batch_size % n_processes:
        lower = batch_size // n_processes * n_processes
        sizes = f"{lower} or {lower + n_processes}" if lower else str(n_processes)
        fewer = next(n for n in reversed(range(1, n_processes)) if batch_size % n == 0)
        advice = f"go on with {fewer} of them" if is_resumed else f"use --batch-size {sizes}"
        raise ConfigError(
            f"option 'batch_size' of recipe is {batch_size} for {n_processes} processes; expected "
            f"a multiple, so that all have the same share; {advice}"
        )


def _no_rows(table: Tensor) -> Tensor:
    """A row-sparse gradient without rows; torch's sparse zeros would also index the columns."""
    none = torch.empty(1, 0, dtype=torch.int64, device=table.device)
    return torch.sparse_coo_tensor(none, table.detach()[:0], table.shape, check_invariants=False)


def _buckets(parameters: Iterable[nn.Parameter]) -> Iterator[Sequence[nn.Parameter]]:
    bucket: list[nn.Parameter] = []
    for parameter in parameters:
        if bucket and sum(p.numel() for p in bucket) + parameter.numel() > BUCKET:
            yield bucket
            bucket = []
        bucket.append(parameter)
    if bucket:
        yield bucket
