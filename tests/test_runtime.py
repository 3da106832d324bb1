"""Device, precision and threads, as far as they can be tested without a GPU."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from charlm import runtime
from charlm.errors import ConfigError
from charlm.runtime import (
    autocast,
    pick_device,
    pick_precision,
    set_threads,
    versions,
    with_own_threads,
)

CPU = torch.device("cpu")
PARTS = (  # that round fp32 if told to
    torch.backends.cuda.matmul,
    torch.backends.mkldnn.matmul,
    torch.backends.cudnn.conv,
    torch.backends.cudnn.rnn,
)


@pytest.fixture
def no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_without_a_gpu_the_device_is_the_cpu(no_cuda: None, name: str) -> None:
    assert pick_device(name) == CPU


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:1"])
def test_a_gpu_that_is_not_there_is_one_line(no_cuda: None, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        pick_device(name)
    assert str(caught.value) == (
        f"--device {name!r}: this machine shows 0 CUDA devices; use --device cpu, or install a "
        "torch built for CUDA"
    )


@pytest.mark.parametrize(
    "name", ["tpu", "", "CPU", "mps", "meta", "cpu:1", "cuda:-1", "cuda:x", "cuda:99999", "cuda:"]
)
def test_what_is_no_device_is_one_line(two_gpus: None, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        pick_device(name)
    assert str(caught.value) == f"--device {name!r}: expected auto, cpu, cuda or cuda:N"


def test_a_gpu_is_taken_by_itself_and_by_its_number(two_gpus: None) -> None:
    assert pick_device("auto") == pick_device("cuda") == torch.device("cuda")
    assert pick_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match=r"^--device 'cuda:2': this machine shows 2 CUDA devices"):
        pick_device("cuda:2")


@pytest.mark.parametrize("name", ["auto", "cuda", "cuda:1"])
def test_what_is_called_fp32_is_not_rounded_to_tf32_on_a_gpu(
    two_gpus: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    pick_device(name)
    assert not torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(
    ("has_bf16", "is_fast", "name", "picked"),
    [
        (True, True, "auto", "bf16"),
        (True, False, "auto", "fp32"),
        (False, True, "auto", "fp32"),
        (True, True, "fp32", "fp32"),
        (False, False, "fp32", "fp32"),
        (True, True, "bf16", "bf16"),
        (True, False, "bf16", "bf16"),
    ],
)
def test_auto_is_bf16_where_the_processor_is_faster_with_it(
    monkeypatch: pytest.MonkeyPatch, has_bf16: bool, is_fast: bool, name: str, picked: str
) -> None:
    monkeypatch.setattr(runtime, "has_bf16_on_cpu", lambda: has_bf16)
    monkeypatch.setattr(runtime, "is_bf16_fast_on_cpu", lambda: is_fast)
    assert pick_precision(name, CPU) == picked


@pytest.mark.parametrize(
    ("is_native", "is_emulated", "name", "picked"),
    [
        (True, True, "auto", "bf16"),
        (False, True, "auto", "fp32"),
        (False, True, "bf16", "bf16"),
        (False, False, "auto", "fp32"),
        (True, True, "fp32", "fp32"),
    ],
)
def test_auto_is_not_the_bf16_that_an_older_gpu_emulates(
    monkeypatch: pytest.MonkeyPatch, is_native: bool, is_emulated: bool, name: str, picked: str
) -> None:
    def is_supported(*, including_emulation: bool = True) -> bool:
        return is_native or (including_emulation and is_emulated)

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_supported)
    assert pick_precision(name, torch.device("cuda")) == picked


@pytest.mark.parametrize(
    ("maker", "has_amx", "is_fast"),
    [
        ("GenuineIntel", True, True),
        ("GenuineIntel", False, False),
        ("AuthenticAMD", False, True),
    ],
)
@pytest.mark.parametrize("has_list", [True, False])
def test_bf16_is_fast_with_amx_or_on_a_processor_that_is_not_intels(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    maker: str,
    has_amx: bool,
    is_fast: bool,
    has_list: bool,
) -> None:
    monkeypatch.setattr(runtime, "CPU_INFO", tmp_path / "cpuinfo")
    if has_list:
        # The host of a virtual machine names its model in any bytes.
        names = f"processor : 0\nvendor_id : {maker}\nmodel name : \xff\n"
        (tmp_path / "cpuinfo").write_text(names, encoding="latin-1")
    name = "" if has_list else f"Intel64 Family 6 Model 143 Stepping 8, {maker}"
    monkeypatch.setattr(runtime.platform, "processor", lambda: name)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: has_amx)
    assert runtime.is_bf16_fast_on_cpu.__wrapped__() is is_fast


def test_a_precision_that_the_processor_lacks_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "has_bf16_on_cpu", lambda: False)
    with pytest.raises(ConfigError) as caught:
        pick_precision("bf16", CPU)
    assert str(caught.value) == "--precision bf16: this cpu has none that charlm uses; use fp32"


def test_another_default_of_torch_is_refused_before_a_run_is_kept_in_it() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(ConfigError) as caught:
            pick_precision("auto", CPU)
    finally:
        torch.set_default_dtype(torch.float32)
    assert str(caught.value) == (
        "torch's default dtype is torch.float64; expected torch.float32, in which runs are trained "
        "and kept; say torch.set_default_dtype(torch.float32)"
    )


def test_an_unknown_precision_is_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        pick_precision("fp16", CPU)
    assert str(caught.value) == "--precision 'fp16': expected one of auto, fp32, bf16"


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)]
)
def test_products_are_made_in_the_precision_that_is_asked(
    precision: str, dtype: torch.dtype
) -> None:
    with autocast(CPU, precision):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_threads_are_as_asked_and_stay_where_nothing_is_asked() -> None:
    before = torch.get_num_threads()
    kept = with_own_threads(set_threads)
    assert (kept(before + 1), torch.get_num_threads()) == (before + 1, before)
    assert set_threads(2) == torch.get_num_threads() == 2
    assert set_threads(None) == 2
    assert set_threads(before) == before


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_call_has_gradients_whatever_the_caller_has(mode: Callable[[], Any]) -> None:
    def gradient() -> float:
        weight = torch.ones(1, requires_grad=True)
        (3 * weight).sum().backward()
        assert weight.grad is not None
        return weight.grad.item()

    with mode():
        assert with_own_threads(gradient)() == 3
        assert not torch.is_grad_enabled()


def test_versions_name_what_bits_may_depend_on() -> None:
    assert versions()["torch"] == torch.__version__
    assert set(versions()) == {*("python", "torch", "machine", "cpu_capability", "mkl_cbwr")}


@pytest.mark.parametrize(
    ("environment", "spins", "cbwr"),
    [
        ({}, runtime.SPIN_COUNT, "AUTO"),
        ({"GOMP_SPINCOUNT": "7"}, "7", "AUTO"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "None", "AUTO"),
        ({"MKL_CBWR": "AVX2"}, runtime.SPIN_COUNT, "AVX2"),
    ],
)
def test_what_torchs_libraries_read_is_set_unless_the_environment_says_it(
    environment: dict[str, str], spins: str, cbwr: str
) -> None:
    program = (
        "import os, sys; from charlm.runtime import prepare_torch; prepare_torch();"
        "e = os.environ; print(e.get('GOMP_SPINCOUNT'), e.get('MKL_CBWR'), 'torch' in sys.modules)"
    )
    ours = ("GOMP_", "OMP_WAIT", "MKL_CBWR")
    known = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
        env={**known, **environment},
    )
    assert done.stdout == f"{spins} {cbwr} False\n"


def test_no_variable_lets_a_library_round_what_is_called_fp32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in runtime.ROUNDING:
        monkeypatch.setenv(name, "BF16")
    runtime.prepare_torch()
    assert os.environ.keys().isdisjoint(runtime.ROUNDING)


def say_nothing_of_precision() -> None:
    torch.backends.fp32_precision = "none"
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.fp32_precision = "none"
    torch.backends.mkldnn.matmul.fp32_precision = "none"


@pytest.fixture
def torch_for_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Torch as on a machine with a GPU, with its defaults; it has the settings without one, too."""
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    say_nothing_of_precision()
    yield
    say_nothing_of_precision()


def precisions() -> list[str]:
    return [part.fp32_precision for part in PARTS]


@pytest.mark.parametrize("said", ["highest", "high", "medium"])
def test_a_call_does_not_round_what_is_called_fp32_whatever_the_caller_lets_torch_do(
    torch_for_cuda: None, said: str
) -> None:
    torch.set_float32_matmul_precision(said)
    before = precisions()
    assert not {"tf32", "bf16"}.isdisjoint(before)
    with runtime.own_modes():
        assert set(precisions()) <= {"ieee", "none"}
        # A product on a GPU asks this, and fails where torch's older and newer names disagree.
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
    assert precisions() == before
    assert torch.get_float32_matmul_precision() == said
    assert torch.backends.cudnn.allow_tf32


def test_a_device_picked_within_a_call_leaves_the_callers_convolutions_as_they_were(
    torch_for_cuda: None, two_gpus: None
) -> None:
    with runtime.own_modes():
        pick_device("cuda")
        assert set(precisions()) <= {"ieee", "none"}
    assert torch.backends.cudnn.allow_tf32


def test_what_the_caller_says_for_all_parts_after_a_call_holds_for_them(
    torch_for_cuda: None,
) -> None:
    torch.backends.fp32_precision = "tf32"
    with runtime.own_modes():
        assert set(precisions()) == {"ieee"}
    assert set(precisions()) == {"tf32"}
    torch.backends.fp32_precision = "ieee"
    assert precisions()[:2] == ["ieee", "ieee"]


def test_a_call_does_not_round_where_one_of_another_thread_ends_before_it(
    torch_for_cuda: None,
) -> None:
    torch.set_float32_matmul_precision("medium")
    before = precisions()
    with runtime.own_modes() as first:
        second = runtime.own_modes()
        first.close()
        assert set(precisions()) <= {"ieee", "none"}
        second.close()
    assert precisions() == before


def test_numpy_does_not_end_a_call_in_an_error_where_the_caller_wants_it_to() -> None:
    with np.errstate(all="raise"):
        with runtime.own_modes():
            assert np.exp(np.float64(-1e3)) == 0
        assert set(np.geterr().values()) == {"raise"}


def test_cudnn_is_turned_off_for_a_while_whatever_precision_the_caller_set(
    torch_for_cuda: None,
) -> None:
    torch.backends.fp32_precision = "tf32"
    torch.backends.cudnn.allow_tf32 = False
    with runtime.without_cudnn():
        assert not torch.backends.cudnn.enabled
    assert torch.backends.cudnn.enabled


@pytest.mark.parametrize(("said", "used"), [(None, "3"), ("5", "5")])
def test_a_limit_of_time_sets_the_threads_unless_the_environment_does(
    monkeypatch: pytest.MonkeyPatch, said: str | None, used: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said or "")
    if said is None:
        monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(runtime, "limit_of_cores", lambda: 3)
    runtime.prepare_torch()
    assert os.environ["OMP_NUM_THREADS"] == used


def test_old_glibcs_keep_freed_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {}

    def mallopt(option: int, value: int) -> int:
        if option == runtime.MMAP_THRESHOLD and value > 1 << 25:  # as before glibc 2.35
            return 0
        taken[option] = value
        return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=mallopt))
    runtime.keep_freed_memory()
    assert taken.keys() == {runtime.TRIM_THRESHOLD, runtime.MMAP_THRESHOLD}


def test_a_fork_of_a_process_with_several_threads_computes() -> None:
    program = (
        "import os, signal; from charlm.runtime import prepare_torch; prepare_torch();"
        "import torch; torch.set_num_threads(2); many = torch.ones(1_000_000); many.exp();"
        "child = os.fork(); child or signal.alarm(20); many.exp(); child or os._exit(0);"
        "assert os.wait()[1] == 0"
    )
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1])


@pytest.mark.bf16
def test_bf16_is_not_chosen_where_onednn_refuses_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from charlm import runtime; print(runtime.has_bf16_on_cpu())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
    )
    assert done.stdout == "False\n"
