"""Saves a trainer to resume.safetensors and restores it, and writes the files of an epoch.

resume.safetensors is written last, by one rename. If a crash leaves newer files beside it, the
steps repeated from the checkpoint write them again, bit for bit.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from charlm.errors import DataError, TrainingError
from charlm.model.contract import State, state_leaves, with_leaves
from charlm.run.folder import LOG, RESUME, wrong_field
from charlm.run.history import WARNING, is_record
from charlm.run.stored_weights import (
    check_header,
    check_values,
    digest_of,
    read_tensors,
    save_best,
    write_tensors,
)
from charlm.text.io.files import write_bytes
from charlm.training.loop.progress import Position
from charlm.training.loop.trainer import Trainer

MAX_COUNT = (1 << 63) - 1
MAX_FLOAT = sys.float_info.max
MAX_RATE = 1e6  # the limit of every optimiser's `lr`
WRITTEN = {"rate", "clipped"}  # in a record, besides the fields that are read from a log


def save_position(trainer: Trainer, folder: Path) -> None:
    """Write everything that the next step depends on.

    Raises:
        TrainingError: a weight is NaN or infinite; the files in the folder are kept.
    """
    _refuse_broken(trainer)
    _write_position(trainer, folder)


def _write_position(trainer: Trainer, folder: Path) -> None:
    tensors = trainer.objective.modules.state_dict()
    for number, leaf in enumerate(state_leaves(trainer.progress.state)):
        tensors[f"state.{number}"] = trainer.ranks.whole(leaf)
    for number, average in enumerate(trainer.averages.values):
        tensors[f"average.{number}"] = average
    for name, value in trainer.generator_states().items():
        for rank, each in enumerate(trainer.ranks.gathered(value)):
            tensors[f"generator.{_numbered(name, rank)}"] = each
    trainer.progress.has_checkpoint = True
    if not trainer.ranks.is_first:
        return
    optimiser = trainer.optimiser.state_dict()["state"]
    for index, slots in optimiser.items():
        for slot, value in slots.items():
            if value is not None:  # all others are tensors
                tensors[f"optimiser.{index}.{slot}"] = value
    meta = {"position": asdict(trainer.position), "sha256": digest_of(tensors)}
    write_tensors(folder / RESUME, tensors, meta=meta)


def _numbered(name: str, rank: int) -> str:
    """A generator's name in the checkpoint; rank 0 uses plain names, like a single process."""
    return f"{name}.{rank}" if rank else name


def _refuse_broken(trainer: Trainer) -> None:
    trainer.stepping.settle()
    for name, tensor in trainer.objective.modules.state_dict().items():
        if not bool(tensor.isfinite().all()):
            position, what = trainer.position, name.removeprefix("model.")
            raise TrainingError(
                f"{what} holds NaN or infinity after {position.epoch} epochs and {position.step} "
                f"steps; {trainer.progress.kept}; try a lower --lr"
            )


def restore_position(trainer: Trainer, folder: Path) -> int:
    """Restore a trainer from `save_position`; returns the number of processes that trained then.

    If the number is another now, each process still has the state of its streams, but the dropout
    masks of some differ.

    Raises:
        DataError: the checkpoint is damaged, or that of another model.
    """
    path = folder / RESUME
    tensors, meta = read_tensors(path)
    for name, module in trainer.objective.modules.items():
        check_header(module, path, prefix=f"{name}.")
        weights = _under(f"{name}.", tensors)
        check_values(module, weights, path=path)
        module.load_state_dict(weights)
    try:
        trainer.model.output.check_loaded()
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    try:
        position = _position(meta["position"], n_steps=len(trainer.batches))
        trainer.progress.state = _state(trainer, tensors)
        averaged = trainer.parameters if position.n_averaged else []
        trainer.averages.values = _numbered_as("average", tensors, like=averaged)
        _restore_generators(trainer, _under("generator.", tensors))
        _restore_optimiser(trainer, _under("optimiser.", tensors))
    except (KeyError, TypeError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{path}: not a checkpoint of this run ({first}); it is damaged") from None
    if "sha256" in meta and meta["sha256"] != digest_of(tensors):  # charlm 0.1 wrote none
        raise DataError(
            f"{path}: its numbers are not those that were written (SHA-256); it is damaged; copy "
            f"it again, or begin a new run from the best weights with --init {folder}"
        )
    trainer.progress.position = position
    trainer.progress.has_checkpoint = True
    return sum(name.startswith("generator.cpu") for name in tensors)


def _position(value: dict[str, Any], *, n_steps: int) -> Position:
    position = Position(**{"nll_tokens": value["n_tokens"], **value})
    if name := wrong_field(Position, vars(position)):
        raise TypeError(f"{name} is of a wrong type")
    limits: dict[str, float] = {
        "step": n_steps,
        "rate": MAX_RATE,
        "nll": MAX_FLOAT,
        "n_tokens": MAX_COUNT,
        "n_clipped": position.step,
        "nll_tokens": position.n_tokens,
        "n_averaged": MAX_COUNT,
        "seconds": MAX_FLOAT,
    }
    for name, most in limits.items():
        if not 0 <= getattr(position, name) <= most:  # also refuses NaN
            raise ValueError(f"{name} is not between 0 and {most:g}")
    if position.n_tokens < position.step:  # every step predicts something
        raise ValueError("n_tokens is less than its steps")
    epochs = [r["epoch"] for r in position.history if _is_record(r)]
    if len(position.history) != position.epoch or epochs != list(range(1, position.epoch + 1)):
        raise ValueError("its history is not that of its epochs")
    return position


def _is_record(record: Any) -> bool:
    """Whether this is an epoch's record as charlm writes it, perhaps with further numbers."""
    if not is_record(record) or type(record.get(WARNING, "")) is not str:
        return False
    numbers = [value for key, value in record.items() if key != WARNING]
    return (
        record.keys() >= WRITTEN
        and all(type(value) in (int, float) and 0 <= value <= MAX_FLOAT for value in numbers)
        and record["rate"] <= MAX_RATE  # it is drawn, and no axis takes all that a float can be
    )


def _state(trainer: Trainer, tensors: dict[str, Tensor]) -> State:
    whole = trainer.model.context.initial_state(trainer.recipe.batch_size)
    leaves = _numbered_as("state", tensors, like=state_leaves(whole))
    return with_leaves(trainer.progress.state, [leaf[trainer.ranks.columns] for leaf in leaves])


def _numbered_as(name: str, tensors: dict[str, Tensor], *, like: Sequence[Tensor]) -> list[Tensor]:
    """The tensors `name.0`, `name.1` …, one for each of `like` and such as that, on its device."""
    found = []
    for key, wanted in ((f"{name}.{number}", each) for number, each in enumerate(like)):
        tensor = tensors[key]
        if tensor.shape != wanted.shape:
            raise ValueError(f"{key} has another shape")
        if tensor.dtype != wanted.dtype:
            raise ValueError(f"{key} has another number format")
        if not bool(tensor.isfinite().all()):
            raise ValueError(f"{key} holds NaN or infinity")
        found.append(tensor.to(wanted.device))
    return found


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _restore_generators(trainer: Trainer, states: dict[str, Tensor]) -> None:
    """Restore this process's generators; it keeps its own seed if the run had fewer processes."""
    rank = trainer.ranks.rank
    names = {name: _numbered(name, rank) for name in trainer.generator_states()}
    own = {name: states[key] for name, key in names.items() if key in states}
    if own or not rank:
        try:
            trainer.set_generator_states(own)
        except RuntimeError as error:  # of the file; elsewhere memory is lacking
            raise ValueError(str(error)) from None


def _restore_optimiser(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    slots: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, slot = name.partition(".")
        slots.setdefault(int(index), {})[slot] = value
    _check_slots(trainer, slots)
    whole = trainer.optimiser.state_dict()
    trainer.optimiser.load_state_dict({**whole, "state": slots})


def _check_slots(trainer: Trainer, slots: dict[int, dict[str, Tensor]]) -> None:
    """Refuse what torch would take as it is, and then fail at or compute nonsense with."""
    kept, parameters = trainer.recipe.optimiser.slots(), dict(enumerate(trainer.parameters))
    for index, own in slots.items():
        for slot, is_by_weight in kept.items():
            key, found, weights = f"optimiser.{index}.{slot}", own[slot], parameters[index]
            if (found.shape != weights.shape) if is_by_weight else (found.numel() != 1):
                raise ValueError(f"{key} has another shape")
            if found.dtype != weights.dtype:
                raise ValueError(f"{key} has another number format")
            if not is_by_weight and not 0 <= float(found) < math.inf:  # also refuses NaN
                raise ValueError(f"{key} is not a finite number of 0 or above")


def save_epoch(trainer: Trainer, folder: Path, *, with_position: bool = True) -> None:
    """Write the files of a finished epoch: the best weights, the log, then the checkpoint.

    Without the position no checkpoint is written; resuming from an older one repeats the epoch.

    Raises:
        TrainingError: as `save_position`.
    """
    _refuse_broken(trainer)
    position = trainer.position
    if position.best_epoch == position.epoch and trainer.ranks.is_first:
        meta = {"epoch": position.epoch, "valid_ppl": position.history[-1]["valid_ppl"]}
        with trainer.averages.in_place():
            save_best(folder, trainer.model.state_dict(), meta=meta)
    if trainer.ranks.is_first:
        save_log(position, folder)
    if with_position:
        _write_position(trainer, folder)


def save_log(position: Position, folder: Path) -> None:
    """Write log.jsonl: one object per finished epoch; epochs to be repeated are dropped."""
    lines = [json.dumps(record, allow_nan=False) + "\n" for record in position.history]
    write_bytes(folder / LOG, "".join(lines).encode())
