"""Stores executors, and emits a row of ``executor_loss`` for each executor that was lost."""

from __future__ import annotations

from dataclasses import replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.executor_losses import (
    ExecutorLosses,
    ExecutorRemoval,
    executor_added,
    executor_removed,
    removed_with_application,
)
from sparkfuse_stream_jobs.detect import allocated, pods
from sparkfuse_stream_jobs.detect.state.run_state import ExecutorState, RunState, add_count, application_of

DRIVER = pods.DRIVER
# Largest number of executors of one application that are stored at the same time.
MAX_EXECUTORS = 10_000


def add_executor(row: LiveRow, state: RunState) -> None:
    """Store an executor that was added. The driver is not stored, although its cores run the tasks in local mode."""
    added, application = row.executor_added, application_of(state)
    known = added.executor_id != DRIVER and state.executors.get(added.executor_id) is not None
    if known:
        return
    if application.executors >= MAX_EXECUTORS:
        allocated.executor_not_counted(state)
        return
    cores = max(0, added.cores)
    state.application.update(
        replace(application, executor_joined_at_ms=row.window_end_ms, cores=application.cores + cores)
    )
    memory_mib = allocated.memory_mib_of(row, application)
    allocated.executor_joined(row, memory_mib, state)
    if added.executor_id == DRIVER:
        return
    state.losses.update(executor_added(state.losses.value() or ExecutorLosses()))
    added_ms = added.added_ms if added.HasField("added_ms") else None
    host = pods.joined(added.executor_id, state) or added.host
    state.executors.put(added.executor_id, ExecutorState(host, added_ms, cores, memory_mib))
    add_count(state, "executors", 1)


def executor_loss_row(row: LiveRow, state: RunState) -> LiveRow | None:
    """Return the row of a removed executor; None if the end of the application removed it."""
    removed, application = row.executor_removed, application_of(state)
    known = state.executors.get(removed.executor_id)
    if known is not None:
        state.executors.remove(removed.executor_id)
        add_count(state, "executors", -1)
        add_count(state, "cores", -known.cores)
        allocated.executor_left(row, known, state)
    removed_ms = removed.removed_ms or row.window_end_ms
    if application.ended or removed.executor_id == DRIVER:
        return None
    pod = pods.of(removed.executor_id, state)
    removal = ExecutorRemoval(
        removed_ms=removed_ms,
        added_ms=known.added_ms if known else None,
        reason=removed.reason or None,
        exit_code=removed.exit_code if removed.HasField("exit_code") else (pod.exit_code if pod else None),
        pod_cause=pod.cause if pod else "",
    )
    losses, columns = executor_removed(state.losses.value() or ExecutorLosses(), removal)
    if application.ended_ms and removed_with_application(application.ended_ms, removed_ms, columns["failure"]):
        return None
    state.losses.update(losses)
    pods.removed(removed.executor_id, removal, columns, state)
    host = known.host if known and known.host else (pod.node if pod else "")
    return pods.loss_row(row, removed.executor_id, removal, columns, host, pod)
