"""Messages between several processes, seen from one of them, with torch's calls replaced."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import torch
from torch import distributed

from charlm.processes.group import (
    EVALUATION,
    PATIENCE,
    SCORING,
    SILENCE,
    TRAINING,
    Group,
    RankLostError,
    Work,
)
from charlm.runtime import ProcessPlace


@pytest.mark.parametrize(
    ("name", "call", "work"),
    [
        ("scatter_object_list", lambda group: group.handed_out(None), TRAINING),
        ("gather_object", lambda group: group.collected(7), EVALUATION),
        ("broadcast_object_list", lambda group: group.receive(), SCORING),
    ],
)
def test_a_connection_that_is_lost_is_one_line(
    name: str, call: Callable[[Group], object], work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer")

    monkeypatch.setattr(distributed, name, lost)
    with pytest.raises(RankLostError) as caught:
        call(Group(1, 2, work=work))
    assert str(caught.value) == (
        f"process 1 of 2: another process of {work.name} ended or gives no answer; expected all "
        f"to go on to the end; {work.advice}"
    )


def test_each_has_its_share_and_the_first_everyones_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def scatter(own: list[Any], given: list[Any], **_: object) -> None:
        own[0] = given[1]

    def gather(own: Any, everyones: list[Any] | None, **_: object) -> None:
        if everyones is not None:
            everyones[:] = [own, "other"]

    monkeypatch.setattr(distributed, "scatter_object_list", scatter)
    monkeypatch.setattr(distributed, "gather_object", gather)
    assert Group(1, 2).handed_out(["a", "b"]) == "b"
    assert Group(0, 2).collected("own") == ["own", "other"]
    assert Group(1, 2).collected("own") == []


class Limits:
    """In the place of torch's group: the time limits of the calls that follow."""

    def __init__(self) -> None:
        self.now, self.seen = PATIENCE, list[timedelta]()

    def set_timeout(self, limit: timedelta) -> None:
        self.now = limit

    def see(self, *_: object, group: "Limits", **__: object) -> None:
        self.seen.append(group.now)


@pytest.mark.parametrize(("rank", "sends"), [(0, SILENCE), (1, PATIENCE)])
def test_only_who_sends_to_others_that_wait_does_not_wait_for_ever(
    rank: int, sends: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits()
    for name in ("broadcast_object_list", "scatter_object_list", "gather_object"):
        monkeypatch.setattr(distributed, name, limits.see)
    group = Group(rank, 2, patient=limits)  # type: ignore[arg-type]
    with suppress(RankLostError):  # nothing was received
        group.from_first(lambda: 1)
    group.handed_out([1, 2])
    group.collected(3)
    assert limits.seen == [sends, sends, PATIENCE]
    assert limits.now == PATIENCE


def test_alone_nobody_is_asked() -> None:
    assert Group().handed_out([3]) == 3
    assert Group().collected(3) == [3]
    assert Group().from_first(lambda: 5) == 5


def test_others_that_do_not_come_are_one_line() -> None:
    store = distributed.HashStore()  # type: ignore[attr-defined]  # torch exports it
    waiting = Group().connected(ProcessPlace(0, 2), store=store, within=timedelta(seconds=1))
    with pytest.raises(RankLostError) as caught, waiting:
        raise AssertionError("it is alone")
    assert re.fullmatch(
        r"process 0 of 2: did not find the others \(.+\); expected all to come within 1 seconds; "
        "start them again",
        str(caught.value),
    )


@pytest.fixture
def unconnected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """torch puts itself between an error and its traceback."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    yield
    if distributed.is_initialized():
        distributed.destroy_process_group()


def test_a_torch_made_for_gpus_connects_processes_where_there_is_none(
    unconnected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "is_nccl_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    store = distributed.HashStore()  # type: ignore[attr-defined]  # torch exports it
    with Group().connected(ProcessPlace(0, 1), store=store) as group:
        assert group.summed(2.0) == (2.0,)
        assert "nccl" not in distributed.get_backend_config()


@pytest.mark.parametrize("is_launched", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_who_met_by_the_environment_stay_together_and_all_others_part(
    is_launched: bool, fails: bool, unconnected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "0")  # any
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")
    store = distributed.HashStore() if is_launched else None  # type: ignore[attr-defined]
    error, hook = ZeroDivisionError if fails else None, sys.excepthook
    for _ in range(2):  # an existing group is used again
        try:
            with Group().connected(ProcessPlace(0, 1), store=store) as group:
                assert distributed.is_initialized()
                assert group.from_first(lambda: 5) == 5
                if error:
                    raise error
        except ZeroDivisionError:
            pass
    assert distributed.is_initialized() == (not is_launched and not fails)
    assert (sys.excepthook is hook) == (not distributed.is_initialized())
