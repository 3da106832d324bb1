"""The machine: device, precision, threads, and the rank of this process among several.

`prepare_torch` must run before torch is imported: torch's libraries read the environment only once.
When two trainings shared two cores, OpenMP's default (threads spin while they wait) ran 25 times
slower than a passive wait, but a training alone lost a quarter of its speed with a passive wait.
Threads therefore spin briefly and then sleep.
On processors not made by Intel, MKL's fp32 products depend on the memory addresses of their
operands unless MKL_CBWR is set, and a resumed training would then end with different bits.
Guides for ARM servers tell oneDNN to make products of fp32 in bf16, those for GPUs tell torch to
make them in TF32; results reported as fp32 must be neither.
"""

import ctypes
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from charlm.errors import ConfigError
from charlm.limits import limit_of_cores

if TYPE_CHECKING:
    import torch

PRECISIONS = ("auto", "fp32", "bf16")
CPU_INFO = Path("/proc/cpuinfo")  # Linux's
# A step of char-small on two cores took 140 ms with this count (the same with ten times more) and
# 210 ms with a passive wait. Beside a busy process it took 330 ms, 190 ms with a passive wait, and
# over 2 s with unlimited spinning.
SPIN_COUNT = "10000"
DEVICE = re.compile(r"cpu|cuda(:[0-9]{1,2})?")
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's mallopt, from malloc.h
ROUNDING = (  # variables that let libraries round the products of fp32
    "DNNL_DEFAULT_FPMATH_MODE",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)
FULL = ("ieee", "none")  # of torch's `fp32_precision`: not rounded
LOST = 69  # exit status of a process that ends because another did; EX_UNAVAILABLE in sysexits.h
GRAPHS = "CHARLM_CUDA_GRAPHS"  # 0: kernels are launched one by one, for when recording fails


def prepare_torch() -> None:
    """Set the variables that torch's libraries read on loading, unless they are set already.

    OpenMP's threads spin briefly and then sleep. MKL gives the same bits for operands at any
    address, at no measurable cost: char-small trained at 3,928 and 3,902 tokens/s with it, at
    3,844 and 3,958 without. What would let libraries round fp32 is removed: --precision says that.
    """
    os.environ.setdefault("MKL_CBWR", "AUTO")
    if limit := limit_of_cores():
        os.environ.setdefault("OMP_NUM_THREADS", str(limit))
    for name in ROUNDING:
        os.environ.pop(name, None)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    _let_forks_compute()


@cache
def _let_forks_compute() -> None:
    os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    """In a forked child: OpenMP's threads exist only in the parent, and waiting would never end."""
    _full_precision.cache_clear()  # its lock may be held by a thread of the parent
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def keep_freed_memory() -> None:
    """Let glibc keep freed memory for later allocations; other C libraries are left alone.

    Each training step frees a hundred megabytes and allocates them again. Returning them to the
    system costs a step of char-large 1,800 page faults; keeping them costs 370.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        if not library.mallopt(MMAP_THRESHOLD, 1 << 30):
            library.mallopt(MMAP_THRESHOLD, 1 << 25)  # the most that glibc before 2.35 takes
        library.mallopt(TRIM_THRESHOLD, (1 << 31) - 1)


def return_freed_memory() -> None:
    """Return kept memory to the system, so that a peak measured afterwards does not include it."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def set_threads(n_threads: int | None) -> int:
    """Use this many threads (None: as many as before) and return how many are used."""
    import torch

    _own_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    return torch.get_num_threads()


@cache
def _own_threads() -> int:
    """Torch's own choice, if it is asked for before another is made."""
    return int(sys.modules["torch"].get_num_threads())


@cache  # one function for each, as pickle wants it
def with_own_threads(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but the number of threads that it sets is that of one call.

    It trains and adapts models within the caller's `no_grad` and `inference_mode`, too.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Another thread of the program may be importing torch, which has the function then or not.
        counted = getattr(sys.modules.get("torch"), "get_num_threads", None)
        before = counted() if counted else None
        with_gradients = getattr(sys.modules.get("torch"), "inference_mode", None)
        try:
            with with_gradients(False) if with_gradients else nullcontext():
                return function(*args, **kwargs)
        finally:
            if sys.modules.get("torch"):
                set_threads(_own_threads() if before is None else before)

    return call


def own_modes() -> ExitStack:
    """Computing as if the caller had set no modes: NumPy raises nothing, no fp32 is rounded.

    What a model keeps from one call to the next must not depend on the modes of the first.
    """
    torch, stack = sys.modules.get("torch"), ExitStack()
    numpy: Any = sys.modules.get("numpy")
    if hasattr(numpy, "errstate"):
        stack.enter_context(numpy.errstate(all="warn", under="ignore"))
    if torch is None or not hasattr(torch, "compile"):  # not yet: another thread is importing it
        return stack
    stack.enter_context(_full_precision())
    if torch.get_default_device().type != "cpu":
        stack.enter_context(torch.device("cpu"))
    if torch.is_inference_mode_enabled():
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.no_grad())  # leaving inference mode turns gradients on
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            stack.enter_context(torch.autocast(kind, enabled=False))
    return stack


class FullPrecision:
    """Products of fp32 are not rounded while any thread is in here.

    torch has these settings once for all threads, so only the last to leave gives them back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._give_back = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._n_inside += 1
            self._by_older_names()
            for part in _rounding_parts():
                if (before := part.fp32_precision) not in FULL:
                    self._give_back.callback(_set_precision, part, before)
                    part.fp32_precision = "ieee"

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._give_back.close()

    def _by_older_names(self) -> None:
        """Undo by torch's older names what was said by them.

        A product on a GPU fails where these say otherwise than the newer ones. torch refuses to
        tell the older ones where the caller uses the newer, which then hold.
        """
        torch: Any = sys.modules["torch"]
        with suppress(RuntimeError):
            if (before := torch.get_float32_matmul_precision()) != "highest":
                self._give_back.callback(torch.set_float32_matmul_precision, before)
                torch.set_float32_matmul_precision("highest")
        with suppress(RuntimeError):
            if torch.backends.cudnn.allow_tf32:  # its default
                self._give_back.callback(setattr, torch.backends.cudnn, "allow_tf32", True)
                torch.backends.cudnn.allow_tf32 = False


def _set_precision(part: Any, precision: str) -> None:
    part.fp32_precision = "none"  # as all parts, if the caller set it for all
    if part.fp32_precision != precision:
        part.fp32_precision = precision


@cache
def _full_precision() -> FullPrecision:
    return FullPrecision()


def _rounding_parts() -> tuple[Any, ...]:
    """The parts of torch that round the products of fp32 if they are told to."""
    backends = sys.modules["torch"].backends
    onednn, cudnn = backends.mkldnn, backends.cudnn
    on_cpu = (onednn.matmul, onednn.conv, onednn.rnn)
    if not backends.cuda.is_built():
        return on_cpu
    return (*on_cpu, backends.cuda.matmul, cudnn.conv, cudnn.rnn)


@contextmanager
def without_cudnn() -> Iterator[None]:
    """Computing without cuDNN, which has no gradients of a recurrence in evaluation mode.

    `torch.backends.cudnn.flags` reads `allow_tf32`, and ends in an error where the caller has set
    the precision of fp32 by torch's newer names.
    """
    cudnn = sys.modules["torch"].backends.cudnn
    before, cudnn.enabled = cudnn.enabled, False
    try:
        yield
    finally:
        cudnn.enabled = before


def pick_device(name: str) -> "torch.device":
    """The device that `name` means: auto, cpu, cuda or cuda:N.

    Raises:
        ConfigError: no such device on this machine.
    """
    import torch

    # cuDNN's LSTM rounds to TF32 by default; results reported as fp32 must be fp32. Functions that
    # a Python program calls are in `own_modes`, which gives the program its setting back.
    cudnn: Any = torch.backends.cudnn
    if cudnn.conv.fp32_precision not in FULL:
        cudnn.allow_tf32 = False
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not DEVICE.fullmatch(name):  # torch accepts cuda:99999 and turns its index into -97
        raise ConfigError(f"--device {name!r}: expected auto, cpu, cuda or cuda:N")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        found = torch.cuda.device_count()
        raise ConfigError(
            f"--device {name!r}: this machine shows {found} CUDA devices; use --device cpu, "
            "or install a torch built for CUDA"
        )
    return device


def require_fp32_as_default() -> None:
    """Raise ConfigError if torch's default dtype, and so the dtype of our models, is not fp32."""
    import torch

    if torch.get_default_dtype() != torch.float32:
        raise ConfigError(
            f"torch's default dtype is {torch.get_default_dtype()}; expected torch.float32, in "
            "which runs are trained and kept; say torch.set_default_dtype(torch.float32)"
        )


def pick_precision(name: str, device: "torch.device") -> Literal["fp32", "bf16"]:
    """The precision that `name` means on a device; `auto` is bf16 where that is faster, else fp32.

    Raises:
        ConfigError: an unknown precision; bf16 on a device without it; a default dtype of torch
            other than fp32, in which a model would be built and stored.
    """
    import torch

    require_fp32_as_default()

    if name not in PRECISIONS:
        raise ConfigError(f"--precision {name!r}: expected one of {', '.join(PRECISIONS)}")
    if name == "fp32":
        return "fp32"
    on_cpu = device.type == "cpu"
    has_bf16 = has_bf16_on_cpu() if on_cpu else torch.cuda.is_bf16_supported()
    if name == "bf16" and not has_bf16:
        raise ConfigError(
            f"--precision bf16: this {device.type} has none that charlm uses; use fp32"
        )
    # GPUs older than NVIDIA's Ampere have bf16 by emulation, at half the speed of fp32.
    is_fast = (
        is_bf16_fast_on_cpu() if on_cpu else torch.cuda.is_bf16_supported(including_emulation=False)
    )
    if name == "auto" and not is_fast:
        return "fp32"
    return "bf16" if has_bf16 else "fp32"


@cache
def has_bf16_on_cpu() -> bool:
    """Whether this processor computes in bf16 and oneDNN supports it here.

    ARM's bf16 is not used: nobody has measured what it gains. A processor flag answers the first
    question. It does not answer the second: oneDNN refuses bf16 if it was built for, or restricted
    to, older instructions. A small product and a small LSTM are therefore tried.
    """
    import torch

    if not torch.cpu._is_avx512_bf16_supported():
        return False
    if not torch.backends.mkldnn.is_available():
        return True  # torch computes the products itself
    numbers = torch.ones(32, 32, dtype=torch.bfloat16)
    state = [numbers[None]] * 2
    weights = [numbers.repeat(4, 1)] * 2 + [numbers.new_ones(128)] * 2
    try:
        torch.ops.mkldnn._reorder_linear_weight(numbers, 32)
        torch._VF.lstm(numbers[None], state, weights, True, 1, 0.0, True, False, False)
    except RuntimeError:
        return False
    return True


@cache
def is_bf16_fast_on_cpu() -> bool:
    """Whether bf16 is faster than fp32 here: with AMX, or with AVX-512 on a non-Intel processor.

    With AVX-512 an Intel core multiplies no more bf16 than fp32 numbers per cycle, since only one
    of its two units supports bf16. On a Sapphire Rapids whose AMX is hidden from virtual machines,
    bf16 reached 83 GFLOP/s and fp32 166, and char-small trained at 1,889 and 2,960 tokens/s. An
    AMD core multiplies twice as many. The speed is not measured here, because on a busy machine
    the answer could differ from one run to the next.
    """
    import torch

    names = CPU_INFO.read_text("utf-8", "replace") if CPU_INFO.exists() else platform.processor()
    return torch.cpu._is_amx_tile_supported() or "GenuineIntel" not in names


def autocast(device: "torch.device", precision: str) -> AbstractContextManager[object]:
    """The context in which a model computes: autocast to bf16 under bf16, else no change."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def versions() -> dict[str, str]:
    """What the bits of a result may depend on: Python, torch and the kind of processor."""
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkl_cbwr": os.environ.get("MKL_CBWR", "unset"),
    }


@dataclass(frozen=True)
class ProcessPlace:
    """The rank of this process among several."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes of its machine

    def device_name(self, name: str) -> str:
        """The device that `name` means here; without a number, each process has its own GPU."""
        import torch

        is_open = name == "cuda" or (name == "auto" and torch.cuda.is_available())
        return f"cuda:{self.local_rank}" if is_open and self.size > 1 else name


def place_of_process() -> ProcessPlace:
    """The rank that torchrun or a charlm process set in the environment; a single process if none.

    Kubeflow numbers the pods of a job, also a single one, but no processes within a pod.

    Raises:
        ConfigError: the variables are not valid numbers.
    """
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    found = [os.environ.get(name) for name in names]
    if found[0] is None or found[1] is None or found == ["0", "1", None]:
        return ProcessPlace()
    numbers = [int(text) if text and text.isdecimal() else -1 for text in found]
    rank, size, local_rank = numbers
    if not 0 <= rank < size or local_rank < 0:
        said = ", ".join(f"{name}={text}" for name, text in zip(names, found, strict=True))
        raise ConfigError(
            f"environment: found {said}; expected a rank below the number of processes, as "
            "torchrun sets them; unset them to use one process"
        )
    return ProcessPlace(rank, size, local_rank)
