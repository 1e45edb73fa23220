"""Remembers pods and nodes, and tells what changed about each pod."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse_collectors.pods.objects import Cause, NodeState, SparkPod, cause_of, read_node, read_pod
from sparkfuse_collectors.pods.watch import DELETED, LISTED, NODES, Change
from sparkfuse_rules.knowledge.pods import NODE_LOST

_GONE = NodeState("", Cause(NODE_LOST, "the node was removed from the cluster"))


@dataclass(frozen=True)
class PodReport:
    """What is known about a pod now; ``cause`` is None while nothing ends it."""

    pod: SparkPod
    zone: str
    cause: Cause | None


class Tracker:
    """The pods of Spark and all nodes of a cluster."""

    def __init__(self) -> None:
        self._pods: dict[str, SparkPod] = {}
        self._source: dict[str, str] = {}
        self._nodes: dict[str, NodeState] = {}
        self._on_node: dict[str, set[str]] = defaultdict(set)
        self._reported: dict[str, tuple[str, str, Cause | None]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def apply(self, change: Change) -> Iterator[PodReport]:
        """Take over a change, and return the reports that differ from the last ones about the same pods."""
        if change.source == NODES:
            yield from self._list_nodes(change) if change.kind == LISTED else self._change_node(change)
        else:
            yield from self._list_pods(change) if change.kind == LISTED else self._change_pod(change)

    def _list_pods(self, change: Change) -> Iterator[PodReport]:
        """Take over a complete list; the pods of its source that are not in it were deleted while nobody watched."""
        listed = [pod for pod in map(read_pod, change.objects) if pod is not None]
        of_source = {uid for uid, source in self._source.items() if source == change.source}
        for uid in of_source - {pod.uid for pod in listed}:
            self._forget(uid)
        for pod in listed:
            yield from self._put(pod, change.source)

    def _list_nodes(self, change: Change) -> Iterator[PodReport]:
        listed = dict(map(read_node, change.objects))
        gone = self._nodes.keys() - listed.keys()
        for name, state in [*listed.items(), *((name, _GONE) for name in sorted(gone))]:
            yield from self._put_node(name, state)
        for name in gone:
            del self._nodes[name]

    def _change_pod(self, change: Change) -> Iterator[PodReport]:
        for pod in filter(None, map(read_pod, change.objects)):
            yield from self._put(pod, change.source)
            if change.kind == DELETED:
                self._forget(pod.uid)

    def _change_node(self, change: Change) -> Iterator[PodReport]:
        for name, state in map(read_node, change.objects):
            yield from self._put_node(name, _GONE if change.kind == DELETED else state)
            if change.kind == DELETED:
                self._nodes.pop(name, None)

    def _put(self, pod: SparkPod, source: str) -> Iterator[PodReport]:
        if pod.uid in self._pods and self._pods[pod.uid].node != pod.node:
            self._leave_node(self._pods[pod.uid])
        self._pods[pod.uid], self._source[pod.uid] = pod, source
        if pod.node:
            self._on_node[pod.node].add(pod.uid)
        yield from self._report(pod)

    def _put_node(self, name: str, state: NodeState) -> Iterator[PodReport]:
        if self._nodes.get(name) == state:
            return
        self._nodes[name] = state
        for uid in sorted(self._on_node.get(name, ())):
            yield from self._report(self._pods[uid])

    def _report(self, pod: SparkPod) -> Iterator[PodReport]:
        node = self._nodes.get(pod.node)
        zone, cause = node.zone if node else "", cause_of(pod, node)
        # Before it is placed, and without a cause, there is nothing to say about a pod.
        known = (pod.node, zone, cause)
        if self._reported.get(pod.uid, ("", "", None)) != known:
            self._reported[pod.uid] = known
            yield PodReport(pod, zone, cause)

    def _forget(self, uid: str) -> None:
        pod = self._pods.pop(uid)
        del self._source[uid]
        self._reported.pop(uid, None)
        self._leave_node(pod)

    def _leave_node(self, pod: SparkPod) -> None:
        if pod.node:
            self._on_node[pod.node].discard(pod.uid)
            if not self._on_node[pod.node]:
                del self._on_node[pod.node]
