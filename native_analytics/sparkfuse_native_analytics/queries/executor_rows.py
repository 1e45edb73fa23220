"""Reads the executors of a run, and the runs that used a host."""

from __future__ import annotations

from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.queries.run_rows import Run
from sparkfuse_native_analytics.queries.select import select


@dataclass(frozen=True)
class Executor:
    """One executor of a run with the latest known value of each column; times are ms since the epoch."""

    executor_id: str
    host: str | None
    cores: int | None
    added_ms: int | None
    removed_ms: int | None
    reason: str | None
    running_tasks: int | None
    gc_share: float | None
    heap_used_bytes: int | None
    heap_max_bytes: int | None
    process_rss_bytes: int | None
    memory_limit_bytes: int | None
    seen_ms: int | None


@dataclass(frozen=True)
class RunOnHost:
    """One application attempt that had executors on a host; times are ms since the epoch."""

    app_id: str
    app_attempt: int
    app_start_ms: int
    executors: int
    lost_executors: int
    seen_ms: int | None


_ROWS = "row IN ('executor', 'executor_added', 'executor_removed', 'executor_loss')"
_EXECUTOR_ID = """coalesce(executor_executor_id, executor_added_executor_id, executor_removed_executor_id,
                executor_loss_executor_id)"""
_HOST = "coalesce(executor_host, executor_added_host, executor_loss_host)"
_PLACE = "(ifNull(row_epoch_ms, 0), row_seq)"
_ATTEMPT = "app_id = {app_id:String} AND app_start_ms = {app_start_ms:Int64} AND app_attempt = {app_attempt:Int32}"
# argMax ignores NULL, so each column has its latest known value.
_EXECUTORS = f"""
SELECT
    ifNull({_EXECUTOR_ID}, '') AS executor_id,
    argMax({_HOST}, {_PLACE}) AS host,
    argMax(executor_added_cores, {_PLACE}) AS cores,
    argMax(executor_added_added_ms, {_PLACE}) AS added_ms,
    argMax(coalesce(executor_removed_removed_ms, executor_loss_removed_ms), {_PLACE}) AS removed_ms,
    argMax(coalesce(executor_loss_reason, executor_removed_reason), {_PLACE}) AS reason,
    argMax(executor_running_tasks, {_PLACE}) AS running_tasks,
    argMax(executor_gc_share, {_PLACE}) AS gc_share,
    argMax(executor_heap_used_bytes, {_PLACE}) AS heap_used_bytes,
    argMax(executor_heap_max_bytes, {_PLACE}) AS heap_max_bytes,
    argMax(executor_process_rss_bytes, {_PLACE}) AS process_rss_bytes,
    argMax(executor_memory_limit_bytes, {_PLACE}) AS memory_limit_bytes,
    max(window_end_ms) AS seen_ms
FROM live
WHERE {_ATTEMPT} AND {_ROWS}
GROUP BY executor_id
ORDER BY isNull(removed_ms) DESC, seen_ms DESC, executor_id
LIMIT {{limit:UInt32}}
"""
_RUNS_ON_HOST = """
SELECT app_id, app_attempt, app_start_ms, uniqExact(executor_id) AS executors,
       uniqExactIf(executor_id, lost) AS lost_executors, max(seen_ms) AS seen_ms
FROM host_executors
WHERE host = {host:String} AND inserted_at >= fromUnixTimestamp64Milli({since_ms:Int64})
GROUP BY app_id, app_attempt, app_start_ms
ORDER BY seen_ms DESC, app_start_ms DESC, app_id
LIMIT {limit:UInt32}
"""


def executors(client: Client, run: Run, limit: int) -> list[Executor]:
    """Return the executors of a run, the present ones first; the driver has the id ``driver``.

    Raises StoreEmptyError.
    """
    return select(client, Executor, _EXECUTORS, {**_attempt(run), "limit": limit})


def runs_on_host(client: Client, host: str, since_ms: int, limit: int) -> list[RunOnHost]:
    """Return the runs that had executors on the host, the latest first; ``since_ms`` is in ms since the epoch.

    Raises StoreEmptyError.
    """
    return select(client, RunOnHost, _RUNS_ON_HOST, {"host": host, "since_ms": since_ms, "limit": limit})


def _attempt(run: Run) -> dict[str, object]:
    return {"app_id": run.app_id, "app_start_ms": run.app_start_ms, "app_attempt": run.app_attempt}
