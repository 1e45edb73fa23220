"""Adds to each row the core time and memory time that the executors of the application used before the row's time."""

from __future__ import annotations

from dataclasses import replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.allocation import joined, left
from sparkfuse_stream_jobs.detect.state.run_state import ApplicationState, ExecutorState, RunState, application_of

DRIVER, DEFAULT_PROFILE = "driver", 0


def memory_mib_of(row: LiveRow, application: ApplicationState) -> int | None:
    """Return the memory in MiB of the executor that this row reports as added; None if it is not known.

    Only the default resource profile is known from the application's configuration.
    """
    added = row.executor_added
    if added.resource_profile_id != DEFAULT_PROFILE:
        return None
    return application.driver_memory_mib if added.executor_id == DRIVER else application.executor_memory_mib


def executor_joined(row: LiveRow, memory_mib: int | None, state: RunState) -> None:
    """Add the executor that this row reports as added to the allocation of the application."""
    added, application = row.executor_added, application_of(state)
    at_ms = (added.added_ms or row.window_end_ms) - row.app_start_ms
    allocation = joined(application.allocation, max(0, added.cores), memory_mib, at_ms)
    state.application.update(replace(application, allocation=allocation))


def executor_left(row: LiveRow, executor: ExecutorState, state: RunState) -> None:
    """End the allocation of the executor that this row reports as removed."""
    application = application_of(state)
    at_ms = (row.executor_removed.removed_ms or row.window_end_ms) - row.app_start_ms
    allocation = left(application.allocation, executor.cores, executor.memory_mib, at_ms)
    state.application.update(replace(application, allocation=allocation))


def executor_not_counted(state: RunState) -> None:
    """Record that the allocation is no longer known, because there are more executors than the state may store."""
    application = application_of(state)
    allocation = replace(application.allocation, complete=False)
    state.application.update(replace(application, allocation=allocation))


def fill_allocation(row: LiveRow, state: RunState) -> None:
    """Add to the row the allocation up to its time, and the configured deadline; unknown values stay absent."""
    application = application_of(state)
    if application.deadline_ms is not None:
        row.run_deadline_ms = application.deadline_ms
    until_ms = row.stage.completed_ms or row.window_end_ms
    at_ms = min(until_ms, application.ended_ms or until_ms) - row.app_start_ms
    if (core_ms := application.allocation.core_ms(at_ms)) is not None:
        row.allocated_core_ms = core_ms
    if (memory_mib_ms := application.allocation.memory_mib_ms(at_ms)) is not None:
        row.allocated_memory_mib_ms = memory_mib_ms
