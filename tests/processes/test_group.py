"""What several processes tell each other, seen from one of them, with torch's calls replaced."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import distributed

from charlm.processes.group import EVALUATION, SCORING, TRAINING, Group, RankLostError, Work


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("scatter_object_list", lambda group: group.handed_out(None)),
        ("gather_object", lambda group: group.collected(7)),
        ("broadcast_object_list", lambda group: group.told()),
    ],
)
@pytest.mark.parametrize("work", [TRAINING, EVALUATION, SCORING])
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


def test_alone_nobody_is_asked() -> None:
    assert Group().handed_out([3]) == 3
    assert Group().collected(3) == [3]
    assert Group().from_first(lambda: 5) == 5
