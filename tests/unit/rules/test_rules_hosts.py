"""What applications meet on hosts: whose trouble counts, where, and for how long."""

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
            {"failure": "disk_full"}, HostProblem("h1", "disk_full", failing=True, storage=True), id="its disk"
        ),
        pytest.param({"failure_kind": "user_code"}, None, id="the job's own"),
        pytest.param({"failure_kind": "configuration"}, None, id="its memory"),
        pytest.param({"failure_kind": "benign"}, None, id="asked to leave"),
        pytest.param(
            {
                "failure_kind": "unknown",
                "failure": "unknown",
                "failure_reason": "IOException: Input/output error",
            },
            HostProblem("h1", "storage_error", storage=True),
            id="a read error that nobody knows better",
        ),
        pytest.param({"host": None}, None, id="nowhere"),
    ],
)
def test_failed_tasks_tell_of_a_host(change, expected):
    """Only what is of the infrastructure or of storage."""
    assert problem_of_failure({**FAILURE, **change}) == expected


@pytest.mark.parametrize(
    ("kind", "counts"), [("infrastructure", True), ("unknown", True), ("configuration", False), ("benign", False)]
)
def test_a_lost_executor_tells_of_a_host_unless_the_job_or_nobody_is_to_blame(kind, counts):
    """One killed for its own memory says nothing of the host."""
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
        pytest.param({"slowest_task_host": None}, False, id="nowhere"),
    ],
)
def test_the_slowest_task_tells_of_a_host_with_the_data_of_its_siblings(change, counts):
    """Data is the job's, time on the same data may be the host's."""
    assert (problem_of_stage({**STAGE, **change}) == HostProblem("h1", "slow_task", slow=True)) is counts


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        pytest.param({}, True, id="reads a file"),
        pytest.param({"stack": "org.apache.hadoop.hdfs.DFSInputStream.read"}, True, id="reads HDFS"),
        pytest.param({"stack": "com.shop.Client.get\njava.net.SocketInputStream.read"}, False, id="asks a service"),
        pytest.param({"stack": None}, False, id="no stack"),
        pytest.param({"stalled_ms": 59_999}, False, id="not for long"),
        pytest.param({"activity": "busy"}, False, id="it computes"),
    ],
)
def test_a_task_that_stands_still_in_storage_tells_of_it(change, counts):
    """The stack says where it waits."""
    assert (problem_of_task({**TASK, **change}) == HostProblem("h1", "storage_stalled", storage=True)) is counts


def failing(host: str, word: str = "node_lost") -> HostProblem:
    return HostProblem(host, word, failing=True)


def test_a_host_is_counted_over_applications():
    """Each application once; who suffers elsewhere; the word of most of them; ids in their order, at most eight."""
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
    }  # fmt: skip
    assert host_columns("h9", HostIndex(everyone))["elsewhere_applications"] == 5
    assert "failure" not in host_columns("h9", HostIndex(everyone))
    many = [observe(HostObservations(f"app-{n:02}"), NOW, [], [failing("h1")]) for n in range(20)]
    assert host_columns("h1", HostIndex(many))["application_ids"].count("app-") == 8


def test_ten_minutes_later_it_is_forgotten():
    """What is told again stays, the rest goes."""
    early = observe(HostObservations("app-1"), NOW, ["h1"], [failing("h1")])
    later = observe(early, NOW + 599_999, ["h2"], [])
    over = observe(early, NOW + 600_000, ["h2"], [])

    assert set(later.failing) == {"h1"}
    assert (set(over.failing), set(over.ran)) == (set(), {"h2"})
    assert recent_only(over, NOW + 1_200_000).ran == {}


def test_one_application_is_remembered_for_a_bounded_number_of_hosts(monkeypatch):
    """Whatever it tells; what it told last stays."""
    monkeypatch.setattr(hosts, "MOST_HOSTS", 3)
    found = observe(HostObservations("app-1"), NOW, [f"h{n}" for n in range(9)], [failing(f"h{n}") for n in range(9)])

    assert list(found.ran) == list(found.failing) == ["h6", "h7", "h8"]
