"""Reads from pods and nodes of Kubernetes what concerns executors: application, node, zone, and the cause of an end.

Sources: the reference of the API (core/v1 Pod and Node), "Disruptions" for the reasons of the condition
DisruptionTarget, and the documentation of the programs that set the taints and conditions below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sparkfuse_rules.knowledge.pods import (
    DRAINED,
    EVICTED,
    EXITED,
    NODE_LOST,
    OOM_KILLED,
    PREEMPTED,
    SPOT_NOTICE,
)
from sparkfuse_rules.knowledge.scrubbing import scrub

DRIVER: Final = "driver"
MAX_MESSAGE = 300
MAX_SCRUBBED = 4_096
MAX_NAME = 512
_ZONE = "topology.kubernetes.io/zone"
_CONTAINERS = ("spark-kubernetes-executor", "spark-kubernetes-driver")
# Reasons of the condition DisruptionTarget (stable since Kubernetes 1.31, on by default since 1.26).
_DISRUPTIONS: Mapping[str, str] = {
    "PreemptionByScheduler": PREEMPTED,
    "DeletionByTaintManager": NODE_LOST,
    "EvictionByEvictionAPI": DRAINED,
    "DeletionByPodGC": NODE_LOST,
    "TerminationByKubelet": EVICTED,
}
_REASONS: Mapping[str, str] = {
    "Evicted": EVICTED,
    "Preempting": PREEMPTED,
    "NodeLost": NODE_LOST,
    "NodeShutdown": DRAINED,
    "Shutdown": DRAINED,
    "Terminated": DRAINED,  # "Pod was terminated in response to imminent node shutdown."
}
# The first taint in this order is the cause of a node: a node that leaves the cluster is often unreachable in the end.
_TAINTS: Mapping[str, str] = {
    "aws-node-termination-handler/spot-itn": SPOT_NOTICE,
    "cloud.google.com/impending-node-termination": SPOT_NOTICE,
    "aws-node-termination-handler/scheduled-maintenance": DRAINED,
    "aws-node-termination-handler/asg-lifecycle-termination": DRAINED,
    "karpenter.sh/disrupted": DRAINED,
    "karpenter.sh/disruption": DRAINED,
    "ToBeDeletedByClusterAutoscaler": DRAINED,
    "node.kubernetes.io/out-of-service": NODE_LOST,
    "node.cloudprovider.kubernetes.io/shutdown": NODE_LOST,
    "node.kubernetes.io/unreachable": NODE_LOST,
    "node.kubernetes.io/not-ready": NODE_LOST,
}
# Of AKS.
_CONDITIONS: Mapping[str, str] = {
    "PreemptScheduled": SPOT_NOTICE, "TerminateScheduled": DRAINED, "VMEventScheduled": DRAINED,
}  # fmt: skip
_PLANNED = (SPOT_NOTICE, DRAINED)
# Signals 9 and 15: the container was ended from outside. Other exit codes are its own.
_ENDED_FROM_OUTSIDE = (None, 137, 143)
_SHUTDOWN = re.compile(r"(?i)\bshut ?down")
Object = Mapping[str, Any]


@dataclass(frozen=True)
class Cause:
    """Why a pod ended or will end: one of sparkfuse_rules.knowledge.pods, and what Kubernetes says about it."""

    cause: str
    message: str = ""
    exit_code: int | None = None


@dataclass(frozen=True)
class SparkPod:
    """A pod of Spark; ``executor_id`` is "driver" for the driver, ``node`` is empty until the pod is placed.

    ``ended`` is whether Spark's container has ended, so that what happens to the node no longer matters.
    """

    uid: str
    app_id: str
    executor_id: str
    name: str
    node: str
    cause: Cause | None
    ended: bool = False


@dataclass(frozen=True)
class Node:
    """A node: its zone (empty if unknown), and why its pods will end; None while it works."""

    name: str
    zone: str = ""
    cause: Cause | None = None


def read_pod(pod: Object) -> SparkPod | None:
    """Return the pod of an executor or a driver; None for any other pod. An absent or malformed part is unknown."""
    metadata, spec, status = (_mapping(pod, part) for part in ("metadata", "spec", "status"))
    labels = _mapping(metadata, "labels")
    executor_id = DRIVER if labels.get("spark-role") == DRIVER else _text(labels, "spark-exec-id")
    uid, app_id = _text(metadata, "uid"), _text(labels, "spark-app-selector")
    if not (uid and app_id and executor_id):
        return None
    name = f"{_text(metadata, 'namespace')}/{_text(metadata, 'name')}"
    ended = _ended_container(status)
    return SparkPod(uid, app_id, executor_id, name, _text(spec, "nodeName"), _cause_of_pod(status, ended), bool(ended))


def read_node(node: Object) -> Node:
    """Return the state of a node."""
    metadata, spec, status = (_mapping(node, part) for part in ("metadata", "spec", "status"))
    zone = _text(_mapping(metadata, "labels"), _ZONE)
    taints = {_text(taint, "key") for taint in _list(spec, "taints")}
    cause = next((Cause(cause, f"taint {key}") for key, cause in _TAINTS.items() if key in taints), None)
    if cause is None:
        cause = next(_conditions(status), None)
    return Node(_text(metadata, "name"), zone, cause)


def gone(node: Node) -> Node:
    """Return the state of a node that was removed; a planned cause remains, because the removal was its aim."""
    planned = node.cause is not None and node.cause.cause in _PLANNED
    return node if planned else Node(node.name, node.zone, Cause(NODE_LOST, "the node was removed from the cluster"))


def cause_of(pod: SparkPod, node: Node | None) -> Cause | None:
    """Return why the pod ended or will end, by what is known about the pod and about its node.

    A spot node is drained, and its pods are deleted, because of its notice. A container that a signal ended on a node
    that leaves the cluster was ended because of the node.
    """
    of_node = node.cause if node else None
    if of_node is None or (pod.ended and pod.cause is None):
        return pod.cause
    if pod.cause is None:
        return of_node
    by_signal = pod.cause.cause == EXITED and pod.cause.exit_code in _ENDED_FROM_OUTSIDE
    follows = (pod.cause.cause == NODE_LOST and of_node.cause in _PLANNED) or (
        pod.cause.cause == DRAINED and of_node.cause == SPOT_NOTICE
    )
    return Cause(of_node.cause, of_node.message, pod.cause.exit_code) if by_signal or follows else pod.cause


def _cause_of_pod(status: Object, ended: Object) -> Cause | None:
    exit_code = _number(ended, "exitCode")
    if ended.get("reason") == "OOMKilled":
        return Cause(OOM_KILLED, exit_code=exit_code)
    # Before the condition: its reason TerminationByKubelet does not distinguish evictions, preemptions and shutdowns.
    if cause := _REASONS.get(_text(status, "reason")):
        return Cause(cause, _message(status), exit_code)
    for condition in _list(status, "conditions"):
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            message = _message(condition)
            cause = _DISRUPTIONS.get(_text(condition, "reason"))
            if cause == EVICTED and _SHUTDOWN.search(message):
                cause = DRAINED
            if cause:
                return Cause(cause, message, exit_code)
    return Cause(EXITED, _text(ended, "reason"), exit_code) if exit_code else None


def _ended_container(status: Object) -> Object:
    """Return how Spark's container ended; empty while it runs. Without Spark's name, the first container counts."""
    containers = _list(status, "containerStatuses")
    named = [each for each in containers if each.get("name") in _CONTAINERS]
    return next((_mapping(_mapping(each, "state"), "terminated") for each in named or containers), {})


def _conditions(status: Object) -> Iterator[Cause]:
    for condition in _list(status, "conditions"):
        kind, holds = _text(condition, "type"), condition.get("status")
        if kind in _CONDITIONS and holds == "True":
            yield Cause(_CONDITIONS[kind], _message(condition))
        elif kind == "Ready" and holds in {"False", "Unknown"}:
            yield Cause(NODE_LOST, _message(condition))


def _message(holder: Object) -> str:
    text = holder.get("message")
    return scrub(" ".join(text[:MAX_SCRUBBED].split()))[:MAX_MESSAGE] if isinstance(text, str) else ""


def _mapping(holder: object, name: str) -> Object:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(holder: Object, name: str) -> list[Object]:
    value = holder.get(name)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _text(holder: Object, name: str) -> str:
    value = holder.get(name)
    return value[:MAX_NAME] if isinstance(value, str) else ""


def _number(holder: Object, name: str) -> int | None:
    value = holder.get(name)
    return value if isinstance(value, int) and abs(value) < 1 << 31 else None
