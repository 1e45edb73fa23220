"""Tests which failures indicate a host problem, on which host, and for how long the problem is reported."""

from __future__ import annotations

import pytest

from sparkfuse_rules.knowledge import hosts
from sparkfuse_rules.knowledge.hosts import (
    HostIndex,
    HostObservations,
    HostProblem,
    host_columns,
    observe,
    problem_of_failure,
    problem_of_loss,
    problem_of_stage,
    problem_of_task,
    recent_only,
)

NOW = 1_795_226_400_000
FAILURE = {"host": "h1", "failure_kind": "infrastructure", "failure": "node_lost", "failure_reason": "gone"}
STAGE = {
    "slowest_task_host": "h1", "slowest_task_bytes_ratio": 1.9, "slowest_task_lost_ms": 30_000,
    "slowest_task_lost_share": 0.25, "succeeded_tasks": 3,
}  # fmt: skip
TASK = {
    "host": "h1", "activity": "idle", "stalled_ms": 60_000,
    "stack": "java.io.FileInputStream.readBytes(Native Method)\norg.apache.hadoop.fs.RawLocalFileSystem.read",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, HostProblem("h1", "node_lost", failing=True), id="infrastructure"),
        pytest.param(
            {"failure": "disk_full"}, HostProblem("h1", "disk_full", failing=True, storage=True), id="disk of the host"
        ),
        pytest.param({"failure_kind": "user_code"}, None, id="user code"),
        pytest.param({"failure_kind": "configuration"}, None, id="memory of the job"),
        pytest.param({"failure_kind": "benign"}, None, id="removed on request"),
        pytest.param(
            {
                "failure_kind": "unknown",
                "failure": "unknown",
                "failure_reason": "IOException: Input/output error",
            },
            HostProblem("h1", "storage_error", storage=True),
            id="unclassified read error",
        ),
        pytest.param({"host": None}, None, id="no host"),
    ],
)
def test_failed_tasks_indicate_a_host_problem(change, expected):
    """Only failures of infrastructure or storage indicate a host problem."""
    assert problem_of_failure({**FAILURE, **change}) == expected


@pytest.mark.parametrize(
    ("kind", "counts"), [("infrastructure", True), ("unknown", True), ("configuration", False), ("benign", False)]
)
def test_lost_executor_indicates_a_host_problem(kind, counts):
    """A lost executor indicates a host problem if its failure class is infrastructure or unknown."""
    found = problem_of_loss({"host": "h1", "failure_kind": kind, "failure": "process_killed"})

    assert found == (HostProblem("h1", "process_killed", failing=True) if counts else None)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        pytest.param({}, True, id="exactly at"),
        pytest.param({"slowest_task_bytes_ratio": 2.0}, False, id="twice the data"),
        pytest.param({"slowest_task_bytes_ratio": None}, True, id="no data at all"),
        pytest.param({"slowest_task_lost_ms": 29_999}, False, id="no more than a cold start costs"),
        pytest.param({"slowest_task_lost_share": 0.249}, False, id="a small share"),
        pytest.param({"succeeded_tasks": 2}, False, id="no median yet"),
        pytest.param({"slowest_task_host": None}, False, id="no host"),
    ],
)
def test_slow_task_with_usual_data_indicates_a_host(change, counts):
    """A slow task indicates a host problem if its data is not larger than that of other tasks."""
    assert (problem_of_stage({**STAGE, **change}) == HostProblem("h1", "slow_task", slow=True)) is counts


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        pytest.param({}, True, id="reads a file"),
        pytest.param({"stack": "org.apache.hadoop.hdfs.DFSInputStream.read"}, True, id="reads HDFS"),
        pytest.param({"stack": "com.shop.Client.get\njava.net.SocketInputStream.read"}, False, id="calls a service"),
        pytest.param({"stack": None}, False, id="no stack"),
        pytest.param({"stalled_ms": 59_999}, False, id="too short"),
        pytest.param({"activity": "busy"}, False, id="uses CPU"),
    ],
)
def test_stalled_storage_call_indicates_storage(change, counts):
    """A task whose stack shows a call to storage indicates a storage problem."""
    assert (problem_of_task({**TASK, **change}) == HostProblem("h1", "storage_stalled", storage=True)) is counts


def failing(host: str, word: str = "node_lost") -> HostProblem:
    return HostProblem(host, word, failing=True)


def test_applications_are_counted_once_per_host():
    """A host row counts each application once, both on this host and on other hosts.

    The row also has the most frequent failure, and at most eight sorted application ids.
    """
    everyone = [
        observe(
            HostObservations("app-1"), NOW, ["h1", "h2"], [failing("h1"), HostProblem("h1", "slow_task", slow=True)]
        ),
        observe(HostObservations("app-2"), NOW, ["h1"], [HostProblem("h1", "disk_full", failing=True, storage=True)]),
        observe(HostObservations("app-3"), NOW, ["h1"], [failing("h1"), failing("h2")]),
        observe(HostObservations("app-4"), NOW, ["h1"], [HostProblem("h1", "slow_task", slow=True)]),
        observe(HostObservations("app-5"), NOW, ["h1", "h3"], []),
        observe(HostObservations("app-6"), NOW, ["h3"], [failing("h3")]),
    ]

    assert host_columns("h1", HostIndex(everyone)) == {
        "host": "h1", "applications": 5, "failing_applications": 3, "slow_applications": 1, "storage_applications": 1,
        "elsewhere_applications": 2, "failure": "node_lost", "application_ids": "app-1, app-2, app-3, app-4",
        # Four or five of the six problems in nine runs of an application on a host, for each of three hosts.
        "chance_hosts": pytest.approx(3 * (5 * 6 + 4) / 84),
    }  # fmt: skip
    assert host_columns("h9", HostIndex(everyone))["elsewhere_applications"] == 5
    assert "failure" not in host_columns("h9", HostIndex(everyone))
    many = [observe(HostObservations(f"app-{n:02}"), NOW, [], [failing("h1")]) for n in range(20)]
    assert host_columns("h1", HostIndex(many))["application_ids"].count("app-") == 8


def test_observations_expire_after_ten_minutes():
    """An observation expires after ten minutes, unless it is repeated within that time."""
    early = observe(HostObservations("app-1"), NOW, ["h1"], [failing("h1")])
    later = observe(early, NOW + 599_999, ["h2"], [])
    over = observe(early, NOW + 600_000, ["h2"], [])

    assert set(later.failing) == {"h1"}
    assert (set(over.failing), set(over.ran)) == (set(), {"h2"})
    assert recent_only(over, NOW + 1_200_000).ran == {}


def test_hosts_of_one_application_are_bounded(monkeypatch):
    """The number of hosts per application is limited; the hosts with the newest observations are kept."""
    monkeypatch.setattr(hosts, "MOST_HOSTS", 3)
    found = observe(HostObservations("app-1"), NOW, [f"h{n}" for n in range(9)], [failing(f"h{n}") for n in range(9)])

    assert list(found.ran) == list(found.failing) == ["h6", "h7", "h8"]


def on_each(hosts: range, applications: int, bad: int, name: str) -> list[HostObservations]:
    """Return applications that each ran on one host; ``bad`` of them on each host have a problem."""
    return [
        observe(HostObservations(f"{name}-{host}-{n}"), NOW, [f"h{host}"], [failing(f"h{host}")] if n < bad else [])
        for host in hosts
        for n in range(applications)
    ]


@pytest.mark.parametrize(
    ("here", "elsewhere", "bad_elsewhere", "expected"),
    [
        pytest.param(3, 1, 0, 2 / 20, id="three of three, none of three elsewhere: 1 of C(6, 3) for each of two hosts"),
        pytest.param(3, 1, 3, 2.0, id="all applications everywhere"),
        pytest.param(2, 1, 0, None, id="too few problems"),
        pytest.param(3, 0, 0, None, id="no other host"),
    ],
)
def test_share_of_problems_is_compared_with_other_hosts(here, elsewhere, bad_elsewhere, expected):
    """The number of hosts that look this bad by chance comes from the shares here and elsewhere."""
    index = HostIndex(
        on_each(range(1), 3, here, "here") + on_each(range(1, 1 + elsewhere), 3, bad_elsewhere, "elsewhere")
    )

    assert index.chance_hosts("h0") == (None if expected is None else pytest.approx(expected))


def test_problems_elsewhere_do_not_hide_a_bad_host():
    """Ten applications with problems on a hundred other hosts do not hide a host on which all six have one."""
    everyone = (
        on_each(range(1), 6, 6, "here") + on_each(range(1, 11), 6, 1, "few") + on_each(range(11, 101), 6, 0, "ok")
    )
    spread = on_each(range(100), 6, 3, "spread")

    assert host_columns("h0", HostIndex(everyone))["chance_hosts"] < 1e-6
    assert host_columns("h0", HostIndex(spread))["chance_hosts"] > 10
