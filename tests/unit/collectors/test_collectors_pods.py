"""Tests what the pod watcher reads from pods and nodes, and which changes it reports."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_collectors.pods.objects import Cause, read_node, read_pod
from sparkfuse_collectors.pods.tracker import PodReport, Tracker
from sparkfuse_collectors.pods.watch import DELETED, LISTED, NODES, Change
from sparkfuse_rules.knowledge import pods
from tests.api_server import node, spark_pod, terminated

PODS = "pods"
RUNNING = {"name": "spark-kubernetes-executor", "state": {"running": {}}}
DISRUPTED = {"type": "DisruptionTarget", "status": "True", "message": "m"}


class Watched:
    """A tracker and the changes that it has seen."""

    def __init__(self) -> None:
        self.tracker = Tracker()

    def pods(self, *objects: Any, kind: str = "MODIFIED", source: str = PODS) -> list[PodReport]:
        return list(self.tracker.apply(Change(source, kind, [each for each in map(read_pod, objects) if each])))

    def nodes(self, *objects: Any, kind: str = "MODIFIED") -> list[PodReport]:
        return list(self.tracker.apply(Change(NODES, kind, list(map(read_node, objects)))))


def causes(reports: list[PodReport]) -> list[str | None]:
    return [report.cause.cause if report.cause else None for report in reports]


def test_pod_is_read_by_its_labels() -> None:
    """Executors have Spark's executor id, drivers the id `driver`; other pods are ignored."""
    executor, driver = spark_pod("etl-exec-3", "spark-1", "3", "worker-9"), spark_pod("etl-driver", "spark-1", "")
    read = [read_pod(each) for each in (executor, driver)]

    assert [(pod.app_id, pod.executor_id, pod.name, pod.node, pod.cause) for pod in read if pod] == [
        ("spark-1", "3", "spark/etl-exec-3", "worker-9", None),
        ("spark-1", "driver", "spark/etl-driver", "", None),
    ]
    assert read_pod({"metadata": {"name": "web", "uid": "1", "labels": {"app": "web"}}}) is None


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ({"containerStatuses": [terminated("OOMKilled", 137)]}, Cause("oom_killed", "", 137)),
        ({"containerStatuses": [terminated("Error", 52)]}, Cause("exited", "Error", 52)),
        ({"containerStatuses": [terminated("Completed", 0)]}, None),
        ({"containerStatuses": [RUNNING]}, None),
        (
            {"containerStatuses": [terminated("OOMKilled", 137, "proxy"), terminated("Error", 52)]},
            Cause("exited", "Error", 52),
        ),
        ({"containerStatuses": [terminated("OOMKilled", 137, "proxy"), RUNNING]}, None),
        ({"containerStatuses": [terminated("OOMKilled", 137, "renamed")]}, Cause("oom_killed", "", 137)),
        (
            {"containerStatuses": [terminated("Completed", 0, "proxy"), terminated("Error", 52)]},
            Cause("exited", "Error", 52),
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, Cause("evicted", "low on memory")),
        ({"reason": "Preempting", "message": "m"}, Cause("preempted", "m")),
        ({"reason": "NodeLost", "message": "m"}, Cause("node_lost", "m")),
        ({"reason": "Terminated", "message": "m"}, Cause("drained", "m")),
        ({"conditions": [DISRUPTED | {"reason": "PreemptionByScheduler"}]}, Cause("preempted", "m")),
        ({"conditions": [DISRUPTED | {"reason": "DeletionByTaintManager"}]}, Cause("node_lost", "m")),
        ({"conditions": [DISRUPTED | {"reason": "EvictionByEvictionAPI"}]}, Cause("drained", "m")),
        ({"conditions": [DISRUPTED | {"reason": "DeletionByPodGC"}]}, Cause("node_lost", "m")),
        (
            {
                "conditions": [DISRUPTED | {"reason": "TerminationByKubelet"}],
                "containerStatuses": [terminated("Error", 137)],
            },
            Cause("evicted", "m", 137),
        ),
        (
            {"reason": "Terminated", "message": "m", "conditions": [DISRUPTED | {"reason": "TerminationByKubelet"}]},
            Cause("drained", "m"),
        ),
        (
            {"conditions": [DISRUPTED | {"reason": "TerminationByKubelet", "message": "imminent node shutdown"}]},
            Cause("drained", "imminent node shutdown"),
        ),
        ({"conditions": [DISRUPTED | {"reason": "PreemptionByScheduler", "status": "False"}]}, None),
        ({"conditions": [DISRUPTED | {"reason": "SomethingNew"}]}, None),
    ],
)  # fmt: skip
def test_cause_of_the_end_of_a_pod(status: dict[str, Any], cause: Cause | None) -> None:
    """The causes are those that Kubernetes documents; a container that ends with exit code 0 has none."""
    pod = read_pod(spark_pod("etl-exec-3", "spark-1", "3", "worker-9", **status))

    assert pod is not None
    assert pod.cause == cause


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (node("n"), None),
        (node("n", "dedicated"), None),
        (node("n", "aws-node-termination-handler/spot-itn"), "spot_notice"),
        (node("n", "cloud.google.com/impending-node-termination"), "spot_notice"),
        (node("n", "node.kubernetes.io/unreachable"), "node_lost"),
        (node("n", "karpenter.sh/disrupted"), "drained"),
        (node("n", "ToBeDeletedByClusterAutoscaler", "aws-node-termination-handler/spot-itn"), "spot_notice"),
        (node("n", "node.kubernetes.io/unreachable", "ToBeDeletedByClusterAutoscaler"), "drained"),
        (node("n", ready="False"), "node_lost"),
        (node("n", ready="Unknown"), "node_lost"),
        (
            {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "PreemptScheduled", "status": "True"}]}},
            "spot_notice",
        ),
    ],
)  # fmt: skip
def test_cause_of_a_node(content: dict[str, Any], cause: str | None) -> None:
    """The cause comes from the taints and conditions that clouds and autoscalers set."""
    found = read_node(content)

    assert found.name == "n"
    assert (found.cause.cause if found.cause else None) == cause


def test_every_cause_has_a_text_and_known_failure() -> None:
    """Each cause of a pod is known where failures are classified."""
    read = {*pods.FAILURES, pods.EXITED}
    shown = [pods.cause_text(cause, "", 137) for cause in read]

    assert all(text.startswith("Kubernetes: the ") and text.endswith("exit code 137") for text in shown)


def test_reports_are_the_changes() -> None:
    """A pod is reported when it is placed, when its node or cause changes, and never twice alike."""
    watched = Watched()
    waiting = spark_pod("etl-exec-3", "spark-1", "3")
    placed = spark_pod("etl-exec-3", "spark-1", "3", "worker-9")
    seen = [
        watched.pods(waiting, kind="ADDED"),
        watched.pods(placed),
        watched.pods(placed),
        watched.nodes(node("worker-9", zone="eu-1a")),
        watched.nodes(node("worker-9", zone="eu-1a")),
        watched.nodes(node("worker-9", "aws-node-termination-handler/spot-itn", zone="eu-1a")),
        watched.nodes(node("worker-9", zone="eu-1a")),
        watched.nodes(node("worker-8", ready="False")),
    ]

    assert [len(reports) for reports in seen] == [0, 1, 0, 1, 0, 1, 1, 0]
    assert [(report.pod.node, report.zone) for report in seen[3]] == [("worker-9", "eu-1a")]
    assert causes(seen[5]) == ["spot_notice"]
    assert causes(seen[6]) == [None]


def test_node_explains_a_drained_pod() -> None:
    """A pod that is evicted, or whose container exits, because its spot node is reclaimed has this cause."""
    watched = Watched()
    watched.nodes(node("worker-9", "aws-node-termination-handler/spot-itn"))
    exited = spark_pod("a", "spark-1", "1", "worker-9", containerStatuses=[terminated("Error", 143)])
    evicted = spark_pod("b", "spark-1", "2", "worker-9", conditions=[DISRUPTED | {"reason": "EvictionByEvictionAPI"}])
    killed = spark_pod("c", "spark-1", "3", "worker-9", containerStatuses=[terminated("OOMKilled", 137)])
    reports = watched.pods(exited, evicted, killed, kind=LISTED)

    assert causes(reports) == ["spot_notice", "spot_notice", "oom_killed"]
    assert [report.cause.exit_code for report in reports if report.cause] == [143, None, 137]


def test_node_does_not_hide_the_failure_of_the_container() -> None:
    """A container that fails by itself, or that has finished, did not end because its node is drained or removed."""
    watched = Watched()
    watched.nodes(node("worker-9", "ToBeDeletedByClusterAutoscaler"))
    failed = spark_pod("a", "spark-1", "1", "worker-9", containerStatuses=[terminated("Error", 52)])
    finished = spark_pod("b", "spark-1", "2", "worker-9", containerStatuses=[terminated("Completed", 0)])

    assert causes(watched.pods(failed, finished)) == ["exited", None]
    assert causes(watched.nodes(node("worker-9"), kind=DELETED)) == []


def test_planned_cause_survives_the_removal_of_the_node() -> None:
    """A spot node is reclaimed, loses its connection and is removed; all of this is one cause."""
    watched = Watched()
    pod = spark_pod("a", "spark-1", "1", "worker-9")
    watched.nodes(node("worker-9"))
    watched.pods(pod)
    spot = "aws-node-termination-handler/spot-itn"
    noticed = watched.nodes(node("worker-9", spot))
    unreachable = watched.nodes(node("worker-9", spot, "node.kubernetes.io/unreachable", ready="Unknown"))
    removed = watched.nodes(node("worker-9", spot), kind=DELETED)
    evicted = pod | {"status": {"conditions": [DISRUPTED | {"reason": "DeletionByTaintManager"}]}}
    after = watched.pods(evicted, pod)
    watched.pods(pod, kind=DELETED)

    assert causes(noticed) == ["spot_notice"]
    assert unreachable == removed == after == []
    assert not watched.tracker._nodes


def test_message_alone_is_no_change() -> None:
    """A kubelet repeats a message with the age of the disturbance; it does not report all pods of the node again."""
    watched = Watched()
    watched.pods(spark_pod("a", "spark-1", "1", "worker-9"))
    sick = node("worker-9", ready="False")
    first = watched.nodes(sick)
    sick["status"]["conditions"][0]["message"] = "PLEG is not healthy, last seen 3m4s ago"

    assert (len(first), watched.nodes(sick)) == (1, [])


def test_removed_node_is_lost() -> None:
    """A node that leaves the cluster while a pod is on it ends the pod, also while nobody watched."""
    for change in ({"kind": DELETED}, {"kind": LISTED}):
        watched = Watched()
        watched.nodes(node("worker-9"), kind=LISTED)
        watched.pods(spark_pod("a", "spark-1", "1", "worker-9"))
        gone = [node("worker-9")] if change["kind"] == DELETED else []

        assert causes(watched.nodes(*gone, **change)) == ["node_lost"]


def test_deleted_pods_are_forgotten() -> None:
    """Nothing is kept about deleted pods; a list of one namespace does not forget the pods of another."""
    watched = Watched()
    first, second = spark_pod("a", "spark-1", "1", "worker-9"), spark_pod("b", "spark-2", "1", "worker-9")
    watched.pods(first, kind=LISTED, source="pods of one")
    watched.pods(second, kind=LISTED, source="pods of two")
    watched.pods(kind=LISTED, source="pods of one")
    after = watched.nodes(node("worker-9", ready="False"))
    watched.pods(second, kind=DELETED, source="pods of two")

    assert [report.pod.app_id for report in after] == ["spark-2"]
    assert len(watched.tracker) == 0
    assert not watched.nodes(node("worker-9"))


def test_pod_whose_node_changes_is_not_on_the_old_node() -> None:
    """Kubernetes never moves a pod, but an answer may say so; the old node then no longer concerns the pod."""
    watched = Watched()
    watched.pods(spark_pod("a", "spark-1", "1", "worker-8"))
    watched.pods(spark_pod("a", "spark-1", "1", "worker-9"))
    watched.pods(kind=LISTED)

    assert not watched.nodes(node("worker-8", ready="False"), node("worker-9", ready="False"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)
PARTS = ("metadata", "spec", "status", "labels", "taints", "conditions", "containerStatuses", "state", "terminated")


@given(st.dictionaries(st.sampled_from(PARTS), JSON | st.dictionaries(st.sampled_from(PARTS), JSON), max_size=4))
def test_malformed_objects_are_unknown(content: dict[str, Any]) -> None:
    """Any JSON object is either no pod of Spark, or a pod with unknown parts."""
    labels = {"spark-app-selector": "spark-1", "spark-exec-id": "1"}
    pod = {**content, "metadata": {"uid": "u", "labels": labels}}

    assert read_pod(content) is None or json.dumps(content)
    assert read_pod(pod) is not None
    assert isinstance(read_node(content).name, str)


def test_messages_are_scrubbed_and_shortened() -> None:
    """A message of Kubernetes can repeat what users wrote, such as an environment variable."""
    pod = read_pod(
        spark_pod("a", "spark-1", "1", reason="Evicted", message="x" * 290 + " password=hunter2 " + "x" * 1_000)
    )

    assert pod is not None
    assert pod.cause is not None
    assert "hunter2" not in pod.cause.message
    assert len(pod.cause.message) <= 300
