"""Tests that nodes name the hosts of executors on Kubernetes, and that ends of pods explain lost executors."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import ExecutorLoss, LiveRow
from sparkfuse_stream_jobs.detect import pods
from sparkfuse_stream_jobs.detect.state.run_state import RunState
from tests.unit.stream_jobs.detect_rows import WINDOW_MS as W
from tests.unit.stream_jobs.test_stream_jobs_detect_failure_rows import Identified, T

ADDRESS = "10.0.4.17"
DISCONNECTED = "Remote RPC client disassociated"


def started(*executors: str) -> Identified:
    """Return a run whose executors have the addresses of their pods as hosts, and a pod on a node each."""
    identified = Identified()
    for executor in executors:
        identified.rows(identified.run.pod(T + W, executor))
        identified.rows(identified.run.executor_added(T + W, executor, ADDRESS))
    return identified


def lost(rows: list[LiveRow]) -> ExecutorLoss:
    """Return the only loss among the rows that a row caused."""
    (found,) = [row.executor_loss for row in rows if row.HasField("executor_loss")]
    return found


@pytest.mark.parametrize("pod_first", [True, False])
def test_node_replaces_the_address_of_a_pod(pod_first: bool) -> None:
    """Rows of stages, tasks and failures, losses and host reports have the node, whichever fact arrived first."""
    identified = Identified()
    facts = [identified.run.pod(T + W, "2"), identified.run.executor_added(T + W, "2", ADDRESS)]
    for number, fact in enumerate(facts if pod_first else reversed(facts), 1):
        fact.row_seq = number + 1
        identified.rows(fact)
    run = identified.run
    [stage] = identified.rows(run.stage(T + W, 900, slowest_task_executor_id="2", slowest_task_host=ADDRESS))
    [task] = identified.rows(run.task(T + W, 1_000))
    [failure] = identified.rows(run.failure(T + W, executor_id="2", host=ADDRESS))
    [report] = identified.reports(run.application(T + W))

    assert (stage.stage.slowest_task_host, task.task.host, failure.failure.host) == ("worker-9",) * 3
    assert report.ran == ("worker-9",)
    assert lost(identified.rows(run.executor_removed(T + W))).host == "worker-9"
    [late] = identified.rows(run.failure(T + 2 * W, executor_id="2", host=ADDRESS))
    assert late.failure.host == "worker-9"


def test_rows_of_other_executors_keep_their_host() -> None:
    """Without a pod, the host is what Spark reports."""
    identified = started("1")
    identified.rows(identified.run.executor_added(T + W, "2", "node-7"))
    [task] = identified.rows(identified.run.task(T + W, 1_000))

    assert task.task.host == "node-7"


@pytest.mark.parametrize(
    ("cause", "exit_code", "kind", "failure"),
    [
        ("oom_killed", 137, "configuration", "container_memory"),
        ("evicted", 137, "infrastructure", "evicted"),
        ("preempted", None, "infrastructure", "preempted"),
        ("drained", None, "infrastructure", "node_drained"),
        ("spot_notice", None, "infrastructure", "spot_reclaimed"),
        ("node_lost", None, "infrastructure", "node_lost"),
        ("exited", 52, "configuration", "heap_memory"),
        ("exited", 1, "infrastructure", "executor_lost"),
        ("new_cause", None, "infrastructure", "executor_lost"),
    ],
)
@pytest.mark.parametrize("cause_first", [True, False])
def test_end_of_the_pod_explains_the_loss(
    cause: str, exit_code: int | None, kind: str, failure: str, cause_first: bool
) -> None:
    """The loss has the cause that Kubernetes reports, before or after Spark reports the loss, and is counted once."""
    identified = started("1", "2", "3")
    ended = {"cause": cause, "message": "as Kubernetes says", "exit_code": exit_code}
    if cause_first:
        identified.rows(identified.run.pod(T + W, "2", **ended))
        loss = lost(identified.rows(identified.run.executor_removed(T + 2 * W, "2", DISCONNECTED)))
    else:
        first = lost(identified.rows(identified.run.executor_removed(T + 2 * W, "2", DISCONNECTED)))
        assert (first.failure, first.lost_executors) == ("executor_lost", 1)
        loss = lost(identified.rows(identified.run.pod(T + 3 * W, "2", **ended)))

    assert (loss.executor_id, loss.failure_kind, loss.failure) == ("2", kind, failure)
    assert (loss.lost_executors, loss.lost_alike, loss.peak_executors) == (1, 1, 3)
    assert loss.reason.startswith(f"{DISCONNECTED}; Kubernetes: ")
    assert "as Kubernetes says" in loss.reason
    assert loss.lived_ms == 2 * W - 500 - (W - 1_000)
    following = lost(identified.rows(identified.run.executor_removed(T + 4 * W, "3", "worker lost")))
    assert following.lost_executors == 2


def test_exit_code_of_spark_does_not_hide_an_eviction() -> None:
    """Spark takes exit code 137 for exceeded memory; an eviction has this code too."""
    identified = started("2")
    identified.rows(identified.run.pod(T + W, "2", cause="evicted", exit_code=137))
    spark = "The executor with id 2 exited with exit code 137(SIGKILL, possible container OOM)."

    assert lost(identified.rows(identified.run.executor_removed(T + W, "2", spark))).failure == "evicted"


def test_disturbance_that_ended_is_no_cause() -> None:
    """A node that was not ready for a while did not end an executor that is lost later."""
    identified = started("2")
    identified.rows(identified.run.pod(T + W, "2", cause="node_lost"))
    identified.rows(identified.run.pod(T + 2 * W, "2"))
    loss = lost(identified.rows(identified.run.executor_removed(T + 3 * W, "2", DISCONNECTED)))

    assert (loss.failure, loss.reason) == ("executor_lost", DISCONNECTED)


def test_disturbance_before_the_executor_joined_is_no_cause() -> None:
    """The node was not ready while the executor started; an executor that is lost hours later has another cause."""
    identified = Identified()
    for cause in ("", "node_lost", ""):
        identified.rows(identified.run.pod(T + W, "2", cause=cause))
    identified.rows(identified.run.executor_added(T + 2 * W, "2", ADDRESS))

    assert (
        lost(identified.rows(identified.run.executor_removed(T + 3 * W, "2", DISCONNECTED))).failure == "executor_lost"
    )


def test_exit_is_explained_by_a_later_cause() -> None:
    """The container exits first, and the notice of its spot node arrives later."""
    identified = started("2")
    identified.rows(identified.run.pod(T + W, "2", cause="exited", exit_code=143))
    identified.rows(identified.run.executor_removed(T + W, "2", DISCONNECTED))
    loss = lost(identified.rows(identified.run.pod(T + 2 * W, "2", cause="spot_notice", exit_code=143)))

    assert (loss.failure, loss.lost_executors) == ("spot_reclaimed", 1)


@pytest.mark.parametrize("cause", ["drained", "spot_notice", "node_lost"])
def test_failure_of_the_executor_precedes_its_node(cause: str) -> None:
    """A full heap stays a full heap, because a retry on another node fails too."""
    identified = started("2")
    identified.rows(identified.run.pod(T + W, "2", cause=cause))
    loss = lost(
        identified.rows(identified.run.executor_removed(T + W, "2", "java.lang.OutOfMemoryError: Java heap space"))
    )

    assert loss.failure == "heap_memory"


def test_pods_without_an_executor_are_dropped() -> None:
    """A pod that ended before its executor joined is dropped after ten minutes."""
    identified = started("1")
    identified.rows(identified.run.pod(T + W, "7", cause="evicted"))
    identified.rows(identified.run.executor_removed(T + 1_000_000, "1", DISCONNECTED))

    assert pods_of(identified.state) == ["1"]


def test_removal_on_request_stays_benign() -> None:
    """An executor that Spark scaled down exits; its pod's end is no loss."""
    identified = started("2")
    loss = lost(identified.rows(identified.run.executor_removed(T + W, "2", "Executor killed by driver.")))
    after = identified.rows(identified.run.pod(T + 2 * W, "2", cause="drained"))

    assert (loss.failure_kind, loss.lost_executors) == ("benign", 0)
    assert not [row for row in after if row.HasField("executor_loss")]


def test_cause_explains_a_loss_once_and_for_ten_minutes_only() -> None:
    """A repeated cause, and a cause after ten minutes, add no row."""
    identified = started("1", "2")
    for executor in ("1", "2"):
        identified.rows(identified.run.executor_removed(T + W, executor, DISCONNECTED))
    identified.rows(identified.run.pod(T + 2 * W, "1", cause="evicted"))
    again = identified.rows(identified.run.pod(T + 3 * W, "1", cause="evicted"))
    late = identified.rows(identified.run.pod(T + W + 700_000, "2", cause="evicted"))

    assert not [row for row in [*again, *late] if row.HasField("executor_loss")]


def test_planned_ends_do_not_accuse_the_node() -> None:
    """Drained and reclaimed nodes are no problem of a host, but lost nodes and evictions are."""
    reports = {}
    for cause in ("drained", "spot_notice", "preempted", "node_lost", "evicted"):
        identified = started("2")
        identified.rows(identified.run.pod(T + W, "2", cause=cause))
        reports[cause] = identified.reports(identified.run.executor_removed(T + W, "2", DISCONNECTED))

    assert {cause for cause, found in reports.items() if found} == {"node_lost", "evicted"}


def test_pod_of_the_driver_is_not_an_executor() -> None:
    """Facts about the driver's pod pass without a row of a lost executor."""
    identified = Identified()
    rows = identified.rows(identified.run.pod(T + W, "driver", cause="oom_killed", exit_code=137))

    assert [row.view for row in rows] == ["pod_changed"]
    assert pods_of(identified.state) == []


def test_stored_pods_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of pods is limited, ended pods are dropped, and the end of the application drops all."""
    monkeypatch.setattr(pods, "MAX_PODS", 3)
    identified = started(*map(str, range(5)))
    full = pods_of(identified.state)
    for executor in ("0", "1"):
        identified.rows(identified.run.executor_removed(T + W, executor, DISCONNECTED))
    identified.rows(identified.run.executor_removed(T + 1_000_000, "2", DISCONNECTED))
    identified.rows(identified.run.pod(T + 1_000_000, "8"))
    after = pods_of(identified.state)
    identified.rows(identified.run.ended(T + 1_100_000))

    assert full == ["0", "1", "2"]
    assert after == ["2", "8"]
    assert pods_of(identified.state) == []


def pods_of(state: RunState) -> list[str]:
    """Return the executors whose pods are stored."""
    return sorted(name for name, _ in state.pods.items())
