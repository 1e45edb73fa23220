"""Why Kubernetes ended the pod of an executor, as a failure.

The pod watcher reports the causes (`PodChanged.cause`). Kubernetes knows the cause better than Spark, which often only
sees that the connection to the executor has closed, or an exit code of 137, which several causes have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkfuse_rules.knowledge.failures import Failure

OOM_KILLED: Final = "oom_killed"
EVICTED: Final = "evicted"
PREEMPTED: Final = "preempted"
DRAINED: Final = "drained"
SPOT_NOTICE: Final = "spot_notice"
NODE_LOST: Final = "node_lost"
# The container ended by itself; the exit code says more, if anything does.
EXITED: Final = "exited"

FAILURES: Mapping[str, Failure] = {
    OOM_KILLED: Failure("configuration", "container_memory", "larger"),
    EVICTED: Failure("infrastructure", "evicted", "transient"),
    PREEMPTED: Failure("infrastructure", "preempted", "transient"),
    DRAINED: Failure("infrastructure", "node_drained", "transient"),
    SPOT_NOTICE: Failure("infrastructure", "spot_reclaimed", "transient"),
    NODE_LOST: Failure("infrastructure", "node_lost", "transient"),
}
# Causes for which a node leaves the cluster, or pods leave a node, although the node works.
PLANNED: Final = frozenset({"preempted", "node_drained", "spot_reclaimed"})
_TEXTS: Mapping[str, str] = {
    OOM_KILLED: "the container exceeded its memory limit (OOMKilled)",
    EVICTED: "the pod was evicted",
    PREEMPTED: "the pod was preempted",
    DRAINED: "the node was drained",
    SPOT_NOTICE: "the spot node was reclaimed",
    NODE_LOST: "the node was lost",
    EXITED: "the container exited",
}
MOST_CHARS = 500


def cause_text(cause: str, message: str, exit_code: int | None) -> str:
    """Return what Kubernetes reports about the end of a pod, in one line of at most MOST_CHARS characters."""
    text = f"Kubernetes: {_TEXTS.get(cause, cause)}"
    if exit_code is not None:
        text += f", exit code {exit_code}"
    return (f"{text}: {message}" if message else text)[:MOST_CHARS]
