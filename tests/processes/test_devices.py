"""How many processes are asked for, and the device of each."""

import os

import pytest

from charlm.errors import ConfigError
from charlm.processes.devices import asked_devices
from charlm.runtime import ProcessPlace, place_of_process

PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACE:
        monkeypatch.delenv(name, raising=False)


def test_a_device_for_each_process_that_is_asked_for(two_gpus: None) -> None:
    assert asked_devices(None, None, device="auto") == ["auto"]
    assert asked_devices(None, 3, device="auto") == ["cpu", "cpu", "cpu"]
    assert asked_devices("1,0", None, device="auto") == ["cuda:1", "cuda:0"]
    assert asked_devices("1", None, device="cuda") == ["cuda:1"]


@pytest.mark.parametrize(
    ("gpus", "processes", "device", "message"),
    [
        (
            "0,1",
            2,
            "auto",
            "--gpus 0,1: found --processes 2 beside it; expected one of them; --gpus starts a "
            "process for each GPU, --processes as many on the CPU",
        ),
        (
            "0,x",
            None,
            "auto",
            "--gpus '0,x': expected numbers of GPUs, each once; write --gpus 0,1,2",
        ),
        ("", None, "auto", "--gpus '': expected numbers of GPUs, each once; write --gpus 0,1,2"),
        (
            "1,01",
            None,
            "auto",
            "--gpus '1,01': expected numbers of GPUs, each once; write --gpus 0,1,2",
        ),
        ("0,1", None, "cpu", "--gpus 0,1: found --device cpu beside it; leave one out"),
        (
            "0,2",
            None,
            "auto",
            "--gpus 0,2: CUDA devices of this machine: 2; expected numbers from 0 to 1",
        ),
        (None, 2, "cuda", "--processes 2: is for the CPU, found --device cuda; use --gpus 0,1"),
        (None, 0, "auto", "--processes 0: expected 1 to 24, 8 a core"),
        (None, 25, "auto", "--processes 25: expected 1 to 24, 8 a core"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(
    gpus: str | None,
    processes: int | None,
    device: str,
    message: str,
    two_gpus: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    with pytest.raises(ConfigError) as caught:
        asked_devices(gpus, processes, device=device)
    assert str(caught.value) == message


def in_place(monkeypatch: pytest.MonkeyPatch, *numbers: str) -> None:
    for name, number in zip(PLACE, numbers, strict=False):
        monkeypatch.setenv(name, number)


def test_torchruns_processes_start_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    in_place(monkeypatch, "1", "4", "1")
    assert place_of_process() == ProcessPlace(1, 4, 1)
    with pytest.raises(ConfigError) as caught:
        asked_devices(None, 2, device="auto")
    assert str(caught.value) == (
        "--processes 2: torchrun has started the processes already; leave it out"
    )


@pytest.mark.parametrize("numbers", [("2", "2", "0"), ("x", "2", "0"), ("0", "2"), ("0", "0", "0")])
def test_a_place_that_torchrun_does_not_give_is_one_line(
    numbers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place(monkeypatch, *numbers)
    rank, size, local = (*numbers, "None")[:3]
    with pytest.raises(ConfigError) as caught:
        place_of_process()
    assert str(caught.value) == (
        f"environment: found RANK={rank}, WORLD_SIZE={size}, LOCAL_RANK={local}; expected a rank "
        "below the number of processes, as torchrun sets them; unset them to use one process"
    )


def test_the_single_pod_of_a_kubeflow_job_is_a_single_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_place(monkeypatch, "0", "1")
    assert place_of_process() == ProcessPlace()


def test_a_process_takes_the_gpu_of_its_place_unless_told_another(two_gpus: None) -> None:
    second = ProcessPlace(3, 4, 1)
    assert [second.device_name(n) for n in ("auto", "cuda")] == ["cuda:1", "cuda:1"]
    assert [second.device_name(n) for n in ("cpu", "cuda:0")] == ["cpu", "cuda:0"]
    assert [ProcessPlace().device_name(n) for n in ("auto", "cuda")] == ["auto", "cuda"]
