"""What control groups say, from copies of their files."""

import os
from pathlib import Path

import pytest

from charlm.limits import limit_of_cores, memory_there


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"cpu.max": "150000 100000"}, 2),  # `docker run --cpus 1.5`
        ("0::/\n", {"cpu.max": "20000 100000"}, 1),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {}, None),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2),
        ("0::/../x\n", {"cpu.max": "300000 100000"}, 3),  # the mount is of another group
        ("0::/\n", {"cpu.max": "99999900000 100000"}, None),  # more than there is
        (
            "5:cpuset:/\n4:cpuacct,cpu:/docker/c\n1:name=systemd:/a:b\n0::/\n",
            {
                "cpu/cpu.cfs_quota_us": "100000\n",
                "cpu/cpu.cfs_period_us": "50000\n",
                "cpuset/cpu.max": "1 100000",
            },
            2,
        ),
        (
            "4:cpu,cpuacct:/\n",
            {
                "cpu/cpu.cfs_quota_us": "-1\n",
                "cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        (None, {}, None),
    ],
)
def test_a_containers_limit_of_time_counts_as_cores(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    groups: str | None,
    files: dict[str, str],
    limit: int | None,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    if groups is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert limit_of_cores(tmp_path) == limit


@pytest.mark.parametrize(
    ("groups", "files", "amount"),
    [
        ("0::/a\n", {"a/memory.max": "1000\n", "memory.max": "max\n"}, 1000),
        ("0::/a\n", {"a/memory.max": "2000\n", "memory.max": "1000\n"}, 1000),
        ("4:memory:/docker/c\n0::/\n", {"memory/memory.limit_in_bytes": "1000\n"}, 1000),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 12288),
        ("4:cpu:/\n", {}, 12288),
    ],
)
def test_a_containers_limit_of_memory_is_all_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str], amount: int
) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}.__getitem__)
    texts = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in {"proc/self/cgroup": groups, **texts}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert memory_there(tmp_path) == amount
