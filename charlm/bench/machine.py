"""The machine's limit: the speed of one large matrix product, in the precision that is compared.

It is measured in turns with the paths themselves, since a machine's speed changes while it is used.
"""

import platform
from collections.abc import Callable

import torch

from charlm.runtime import CPU_INFO

LIMIT = "matrix product"
SIZE = 2048  # larger ones were no faster on a CPU
PRODUCTS = 4
FLOPS = 2 * SIZE**3 * PRODUCTS


def product(device: torch.device, precision: str) -> Callable[[], None]:
    """Something to time that computes FLOPS floating-point operations."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.ones(SIZE, SIZE, dtype=dtype, device=device) for _ in range(2))
    out = torch.empty_like(left)

    def run() -> None:
        for _ in range(PRODUCTS):
            torch.mm(left, right, out=out)
        finished(device)

    return run


def finished(device: torch.device) -> None:
    """Wait until a GPU has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def description(device: torch.device) -> str:
    """What runs the computation: the GPU, or the processor and torch's number of threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    name = platform.processor() or platform.machine()
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    threads = torch.get_num_threads()
    return f"{name}, {threads} {'thread' if threads == 1 else 'threads'}"
