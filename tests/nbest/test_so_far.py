"""When it is said how much is done."""

from charlm.nbest.so_far import counted


def test_lists_are_told_after_ten_seconds_and_then_each_minute() -> None:
    told: list[str] = []
    seconds = iter([0, 9, 10, 10, 69, 70, 70, 71])

    lists = list(counted("abcde", "scoring f", tell=told.append, clock=lambda: next(seconds)))

    assert lists == list("abcde")
    assert told == ["scoring f: 2 lists so far", "scoring f: 4 lists so far"]
