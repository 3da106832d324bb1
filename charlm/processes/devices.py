"""Which device each process of a command has, and its share of the cores."""

import os

import torch

from charlm.errors import ConfigError
from charlm.runtime import pick_device, place_of_process, set_threads

MOST_PER_CORE = 8  # processes; more do little but start


def asked_devices(gpus: str | None, processes: int | None, *, device: str) -> list[str]:
    """The device of each process that the options ask for; `device` alone if they ask for none.

    Raises:
        ConfigError: options that do not go together, or no numbers of GPUs.
    """
    if gpus is None and processes is None:
        return [device]
    option = f"--gpus {gpus}" if gpus is not None else f"--processes {processes}"
    if gpus is not None and processes is not None:
        raise ConfigError(
            f"{option}: found --processes {processes} beside it; expected one of them; --gpus "
            "starts a process for each GPU, --processes as many on the CPU"
        )
    if place_of_process().size > 1:
        raise ConfigError(f"{option}: torchrun has started the processes already; leave it out")
    if gpus is not None:
        return _gpus(gpus, device=device)
    if device not in ("auto", "cpu"):
        raise ConfigError(f"{option}: is for the CPU, found --device {device}; use --gpus 0,1")
    most = MOST_PER_CORE * (os.cpu_count() or 1)
    if not 1 <= (processes or 0) <= most:
        raise ConfigError(f"{option}: expected 1 to {most}, {MOST_PER_CORE} a core")
    return ["cpu"] * (processes or 0)


def _gpus(gpus: str, *, device: str) -> list[str]:
    numbers = gpus.split(",")
    are_numbers = all(n.isascii() and n.isdecimal() for n in numbers)
    if not are_numbers or len({*map(int, numbers)}) < len(numbers):
        raise ConfigError(
            f"--gpus {gpus!r}: expected numbers of GPUs, each once; write --gpus 0,1,2"
        )
    if device not in ("auto", "cuda"):
        raise ConfigError(f"--gpus {gpus}: found --device {device} beside it; leave one out")
    found = torch.cuda.device_count()
    if not found:
        instead = "--device cpu"
        if len(numbers) > 1:
            instead = f"--processes {len(numbers)} for as many processes on the CPU"
        raise ConfigError(
            f"--gpus {gpus}: this machine shows no CUDA device; use {instead}, or install a torch "
            "built for CUDA"
        )
    if not all(int(number) < found for number in numbers):
        raise ConfigError(
            f"--gpus {gpus}: CUDA devices of this machine: {found}; expected numbers from 0 to "
            f"{found - 1}"
        )
    return [f"cuda:{int(number)}" for number in numbers]


def threads_of_each(threads: int | None, n_processes: int) -> int | None:
    """CPU threads of each of some processes on this machine; None: torch's own choice."""
    if threads is not None or n_processes == 1:
        return threads
    return max(1, set_threads(None) // n_processes)


def own_device(name: str) -> torch.device:
    """The device that `name` means to one of several processes, which must touch no other GPU.

    Raises:
        ConfigError: no such device on this machine.
    """
    device = pick_device(place_of_process().device_name(name))
    if device.index is not None:
        torch.cuda.set_device(device)
    return device
