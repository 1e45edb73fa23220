"""Computes the queries (SQL executions) of an application, with sums over the stage attempts of each query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import cast

from sparkfuse_native_analytics.event_logs.table_rows import JobRow, SqlExecutionRow, StageRow
from sparkfuse_native_analytics.offline.analysis_types import AnalysedQuery
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.application_row import SUCCEEDED
from sparkfuse_native_analytics.offline.stage_rows import clamp_int64
from sparkfuse_rules.knowledge.call_sites import user_description

_SUMS = (
    "tasks", "run_ms", "input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes",
    "disk_spilled_bytes",
)  # fmt: skip


def queries(application: Application) -> list[AnalysedQuery]:
    """Return the queries of an application in the order of their ids."""
    stages: defaultdict[int, list[StageRow]] = defaultdict(list)
    columns = ["stage_id", "status", "sql_execution_id", *_SUMS]
    for row in application.tables["stages"].select(columns).to_pylist():
        if row["sql_execution_id"] is not None:
            stages[row["sql_execution_id"]].append(row)
    jobs: defaultdict[int, list[JobRow]] = defaultdict(list)
    job_columns = ["job_id", "sql_execution_id", "result", "completed_ms", "failure_reason"]
    for row in application.tables["jobs"].select(job_columns).to_pylist():
        if row["sql_execution_id"] is not None:
            jobs[row["sql_execution_id"]].append(row)
    executions = {row["sql_execution_id"]: row for row in application.tables["sql_executions"].to_pylist()}
    # A truncated log can contain stages of a query whose start event is lost.
    ids = sorted({*executions, *stages})
    return [_query(application, each, executions.get(each, {}), stages[each], jobs[each]) for each in ids]


def outcome_of(execution: SqlExecutionRow, jobs: Iterable[JobRow]) -> tuple[str, str | None]:
    """Return the outcome of a query (running, succeeded or failed), and why it failed.

    ``execution`` is a row of the kernel's table sql_executions, ``jobs`` are the rows of its jobs. Before Spark 3.4,
    the end event of a query does not contain the outcome; then the query counts as failed if one of its jobs failed.
    """
    if execution.get("failure_reason"):
        return "failed", execution["failure_reason"]
    if execution.get("ended_ms") is None:
        return "running", None
    failed = [job for job in jobs if job["result"] not in (None, SUCCEEDED)]
    if failed and execution.get("reported_status") is None:
        first = min(failed, key=lambda job: (job["completed_ms"] or 0, job["job_id"]))
        return "failed", first["failure_reason"]
    return "succeeded", None


def elapsed_ms(execution: SqlExecutionRow, until_ms: int | None) -> int | None:
    """Return the duration of a query in ms, up to ``until_ms`` if the query has no end; None if it has no start."""
    started, ended = execution.get("started_ms"), execution.get("ended_ms")
    end = until_ms if ended is None else ended
    return None if started is None or end is None else clamp_int64(max(0, end - started))


def _query(
    application: Application,
    query_id: int,
    execution: SqlExecutionRow,
    stages: list[StageRow],
    jobs: list[JobRow],
) -> AnalysedQuery:
    names = application.names.queries[query_id]
    status, failure_reason = outcome_of(execution, jobs)
    sums = dict(_sums(stages))
    return {
        "query_id": query_id,
        "root_query_id": execution.get("root_execution_id"),
        "name": names.name,
        "title": names.title,
        "description": user_description(execution.get("description")),
        "call_site": execution.get("call_site"),
        "status": status,
        "started_ms": execution.get("started_ms"),
        "ended_ms": execution.get("ended_ms"),
        "elapsed_ms": elapsed_ms(execution, application.until_ms),
        "failure_reason": failure_reason,
        "sources": names.sources or None,
        "sink": names.sink or None,
        "job_ids": sorted(job["job_id"] for job in jobs),
        "stage_ids": sorted({row["stage_id"] for row in stages}),
        "failed_stages": sum(row["status"] == "failed" for row in stages),
        "tasks": sums["tasks"],
        "run_ms": sums["run_ms"],
        "input_bytes": sums["input_bytes"],
        "output_bytes": sums["output_bytes"],
        "shuffle_read_bytes": sums["shuffle_read_bytes"],
        "shuffle_write_bytes": sums["shuffle_write_bytes"],
        "disk_spilled_bytes": sums["disk_spilled_bytes"],
    }


def _sums(stages: list[StageRow]) -> Iterator[tuple[str, int]]:
    for name in _SUMS:
        yield name, clamp_int64(sum(cast(int, row.get(name)) for row in stages))
