"""Remembers pods and nodes, and reports what changed about each pod."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse_collectors.pods.objects import Cause, Node, SparkPod, cause_of, gone
from sparkfuse_collectors.pods.watch import DELETED, LISTED, NODES, Change


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
        self._nodes: dict[str, Node] = {}
        self._gone: set[str] = set()
        self._on_node: dict[str, set[str]] = defaultdict(set)
        self._reported: dict[str, tuple[object, ...]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def apply(self, change: Change) -> Iterator[PodReport]:
        """Take over a change, and return the reports that differ from the last ones about the same pods."""
        pods = [each for each in change.objects if isinstance(each, SparkPod)]
        nodes = [each for each in change.objects if isinstance(each, Node)]
        if change.kind == LISTED:
            yield from self._list_nodes(nodes) if change.source == NODES else self._list_pods(pods, change.source)
            return
        for node in nodes:
            yield from self._put_node(node, removed=change.kind == DELETED)
        for pod in pods:
            yield from self._put(pod, change.source)
            if change.kind == DELETED:
                self._forget(pod.uid)

    def _list_pods(self, pods: list[SparkPod], source: str) -> Iterator[PodReport]:
        """Take over a complete list; the pods of its source that are not in it were deleted while nobody watched."""
        of_source = {uid for uid, of in self._source.items() if of == source}
        for uid in of_source - {pod.uid for pod in pods}:
            self._forget(uid)
        for pod in pods:
            yield from self._put(pod, source)

    def _list_nodes(self, nodes: list[Node]) -> Iterator[PodReport]:
        missing = self._nodes.keys() - {node.name for node in nodes}
        for node in nodes:
            yield from self._put_node(node)
        for name in sorted(missing):
            yield from self._put_node(self._nodes[name], removed=True)

    def _put(self, pod: SparkPod, source: str) -> Iterator[PodReport]:
        if pod.uid in self._pods and self._pods[pod.uid].node != pod.node:
            self._leave_node(self._pods[pod.uid])
        self._pods[pod.uid], self._source[pod.uid] = pod, source
        if pod.node:
            self._on_node[pod.node].add(pod.uid)
        yield from self._report(pod)

    def _put_node(self, node: Node, *, removed: bool = False) -> Iterator[PodReport]:
        """Take over a node; a removed one is kept until its last pod is gone."""
        name = node.name
        if removed:
            self._gone.add(name)
            node = gone(self._nodes.get(name, node))
        else:
            self._gone.discard(name)
        changed = self._nodes.get(name) != node
        self._nodes[name] = node
        if changed:
            for uid in sorted(self._on_node.get(name, ())):
                yield from self._report(self._pods[uid])
        self._drop_if_gone(name)

    def _drop_if_gone(self, name: str) -> None:
        if name in self._gone and not self._on_node.get(name):
            self._gone.discard(name)
            self._nodes.pop(name, None)

    def _report(self, pod: SparkPod) -> Iterator[PodReport]:
        node = self._nodes.get(pod.node)
        zone, cause = node.zone if node else "", cause_of(pod, node)
        # The message is left out, because some messages contain the age of a disturbance.
        known = (pod.node, zone, cause.cause if cause else "", cause.exit_code if cause else None)
        # Before it is placed, and without a cause, there is nothing to say about a pod.
        if self._reported.get(pod.uid, ("", "", "", None)) != known:
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
            self._drop_if_gone(pod.node)
