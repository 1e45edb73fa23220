"""The pods of executors on Kubernetes: their nodes name the hosts of rows, and their ends explain lost executors.

On Kubernetes the host of an executor is the address of its pod, which no other application shares, so that problems of
a node could not be recognised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.executor_losses import WINDOW_MS, ExecutorLosses, ExecutorRemoval, loss_explained
from sparkfuse_rules.knowledge.failures import BENIGN
from sparkfuse_rules.knowledge.pods import EXITED, cause_text
from sparkfuse_stream_jobs.detect.failure_rows import row_like
from sparkfuse_stream_jobs.detect.state.run_state import PodState, RunState, add_count, application_of

DRIVER: Final = "driver"
EXECUTOR_LOSS: Final = "executor_loss"
# Largest number of pods of one application that are stored at the same time.
MAX_PODS = 10_000
MAX_EXIT_CODE = 2**31 - 1
# A reason is stored for as long as a cause can arrive.
MAX_REASON = 2_000
# The columns of each kind of row that contain an executor and its host.
_HOSTS: Mapping[str, tuple[str, str]] = {
    "stage": ("slowest_task_executor_id", "slowest_task_host"),
    "task": ("executor_id", "host"),
    "executor": ("executor_id", "host"),
    "failure": ("executor_id", "host"),
}


def of(executor_id: str, state: RunState) -> PodState | None:
    """Return the pod of an executor, also of one that was removed within the last ten minutes; None if unknown."""
    return state.pods.get(executor_id) if application_of(state).pods else None


def joined(executor_id: str, state: RunState) -> str:
    """Return the node of an executor that was added; empty if it is unknown."""
    pod = of(executor_id, state)
    return pod.node if pod else ""


def name_host(row: LiveRow, state: RunState) -> None:
    """Replace the address of a pod by the name of its node."""
    kind = row.WhichOneof("row") or ""
    if kind not in _HOSTS or not application_of(state).pods:
        return
    columns, (executor_id, host) = getattr(row, kind), _HOSTS[kind]
    pod = state.pods.get(getattr(columns, executor_id))
    if pod is not None and pod.node and columns.HasField(host):
        setattr(columns, host, pod.node)


def change(row: LiveRow, state: RunState) -> LiveRow | None:
    """Store what changed about a pod. Returns a new row of a lost executor if the change explains its loss."""
    changed, application = row.pod_changed, application_of(state)
    name = changed.executor_id
    if not name or name == DRIVER or application.ended:
        return None
    known = state.pods.get(name)
    if known is None:
        if application.pods >= MAX_PODS:
            return None
        add_count(state, "pods", 1)
    before, executor = known or PodState(), state.executors.get(name)
    pod = replace(before, node=changed.node or before.node, changed_ms=row.window_end_ms)
    if changed.cause or before.over_ms is None:  # without a cause, a disturbance of a running pod is over
        exit_code = changed.exit_code if changed.HasField("exit_code") else None
        pod = replace(pod, cause=changed.cause, message=changed.message, exit_code=exit_code)
    state.pods.put(name, pod)
    if executor is not None and pod.node and executor.host != pod.node:
        state.executors.put(name, replace(executor, host=pod.node))
    explains = before.counted_as and changed.cause not in {"", before.cause} and before.cause in {"", EXITED}
    return _explained(row, name, pod, state) if explains else None


def removed(executor_id: str, removal: ExecutorRemoval, columns: Mapping[str, Any], state: RunState) -> None:
    """Store the removal of an executor with its pod, so that a cause that arrives later can explain it."""
    application = application_of(state)
    if not application.pods:
        return
    if removal.removed_ms >= application.pods_dropped_at_ms + WINDOW_MS:
        _drop_old(removal.removed_ms, state)
    pod = state.pods.get(executor_id)
    if pod is None:
        if application_of(state).pods >= MAX_PODS:
            return
        add_count(state, "pods", 1)
    counted = "" if columns["failure_kind"] == BENIGN else columns["failure"]
    state.pods.put(
        executor_id,
        replace(
            pod or PodState(),
            over_ms=removal.removed_ms,
            added_ms=removal.added_ms,
            reason=(removal.reason or "")[:MAX_REASON],
            counted_as=counted,
        ),
    )


def loss_row(
    row: LiveRow, executor_id: str, removal: ExecutorRemoval, columns: Mapping[str, Any], host: str,
    pod: PodState | None,
) -> LiveRow:  # fmt: skip
    """Return the row of ``executor_loss`` with the columns of the loss, and with what Kubernetes reports about it."""
    result = row_like(row, EXECUTOR_LOSS)
    texts = [removal.reason or "", cause_text(pod.cause, pod.message, pod.exit_code) if pod and pod.cause else ""]
    values = {**columns, "executor_id": executor_id, "removed_ms": removal.removed_ms}
    if host:
        values["host"] = host
    if reason := "; ".join(filter(None, texts)):
        values["reason"] = reason
    if abs(values.get("exit_code", 0)) > MAX_EXIT_CODE:  # parsed from a text that user code may have written
        del values["exit_code"]
    for column, value in values.items():
        setattr(result.executor_loss, column, value)
    return result


def _explained(row: LiveRow, name: str, pod: PodState, state: RunState) -> LiveRow | None:
    if pod.over_ms is None or row.window_end_ms > pod.over_ms + WINDOW_MS:
        return None
    removal = ExecutorRemoval(pod.over_ms, pod.added_ms, pod.reason or None, pod.exit_code, pod.cause)
    losses, columns = loss_explained(state.losses.value() or ExecutorLosses(), removal, pod.counted_as)
    state.losses.update(losses)
    state.pods.put(name, replace(pod, counted_as=columns["failure"]))
    return loss_row(row, name, removal, columns, pod.node, pod)


def _drop_old(now_ms: int, state: RunState) -> None:
    """Drop the pods whose end is more than ten minutes ago, also of pods that never became executors."""
    before_ms = now_ms - WINDOW_MS
    old = [
        name
        for name, pod in state.pods.items()
        if (pod.over_ms or now_ms) < before_ms
        or (pod.cause and pod.changed_ms < before_ms and state.executors.get(name) is None)
    ]
    for name in old:
        state.pods.remove(name)
    application = application_of(state)
    state.application.update(replace(application, pods=max(0, application.pods - len(old)), pods_dropped_at_ms=now_ms))
