"""Computes the view job_live from an event log, as the detect job does: failed and cancelled jobs and queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkfuse_contracts.generated.view_rows import JobLiveRow
from sparkfuse_native_analytics.event_logs.table_rows import FailureRow, JobRow, SqlExecutionRow, StageRow
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.application_row import SUCCEEDED
from sparkfuse_native_analytics.offline.display_names import DisplayNames
from sparkfuse_native_analytics.offline.stage_rows import clamp_int64
from sparkfuse_rules.knowledge.application_end import error_that_ends_driver
from sparkfuse_rules.knowledge.call_sites import user_description
from sparkfuse_rules.knowledge.failures import (
    CANCELLED,
    FAILED,
    QUERY_FAILED,
    Failure,
    as_harmful,
    classify,
    ended_on_purpose,
)
from sparkfuse_rules.knowledge.first_cause import first_cause
from sparkfuse_rules.knowledge.job_failures import failed_stage_of_job, failure_of_job

VIEW = "job_live"


def job_rows(application: Application) -> list[JobLiveRow]:
    """Return rows of job_live, one for each failed or cancelled job or query, in the order in which they ended."""
    jobs = application.tables["jobs"].to_pylist()
    failed = [job for job in jobs if job["result"] not in (None, SUCCEEDED)]
    queries = _failed_queries(application)
    if not failed and not queries:
        return []
    stages, names, errors = _failed_stages(application), application.names, _errors_that_ended_driver(application)
    ended = [(job["completed_ms"] or 0, job["job_id"], _row(job, stages, names, errors)) for job in failed]
    reported = {
        job["sql_execution_id"] for job, (_, _, row) in zip(failed, ended, strict=True) if row["status"] == FAILED
    }
    # If a failed query has a row, the query that started it fails for the same reason and gets no row.
    reported |= {query["root_execution_id"] for query in queries if query["sql_execution_id"] in reported}
    for query in queries:
        if row := _query_row(query, jobs, reported - {None}, names):
            ended.append((query["ended_ms"] or 0, row["job_id"], row))
            reported |= {query["sql_execution_id"], query["root_execution_id"]}
    return [row for _, _, row in sorted(ended, key=lambda each: each[:2])]


def _failed_queries(application: Application) -> list[SqlExecutionRow]:
    """Return the failed SQL executions in the order in which they ended."""
    executions = application.tables["sql_executions"]
    if executions["failure_reason"].null_count == executions.num_rows:
        return []
    failed = [row for row in executions.to_pylist() if row["failure_reason"]]
    return sorted(failed, key=lambda row: (row["ended_ms"] or 0, row["sql_execution_id"]))


def _query_row(
    query: SqlExecutionRow, jobs: Iterable[JobRow], reported: set[int], names: DisplayNames
) -> JobLiveRow | None:
    """Return the row of a query that failed although none of its jobs failed; None for any other query.

    A query that fails before its first job gets no row, because programs query tables that may not exist, and continue
    after the error.
    """
    execution, reason = query["sql_execution_id"], query["failure_reason"]
    of_query = [job["job_id"] for job in jobs if job["sql_execution_id"] == execution]
    failure = classify(None, reason)
    if not of_query or reported & {execution, query["root_execution_id"]} or ended_on_purpose(failure):
        return None
    return {
        "job_id": max(of_query),
        "description": _description(query["description"], execution, names),
        "status": QUERY_FAILED,
        "elapsed_ms": _elapsed(query["started_ms"], query["ended_ms"]),
        "failure_reason": reason,
        **_failure_columns(as_harmful(failure), reason or ""),
        "failed_stage_id": None,
    }


def _failed_stages(application: Application) -> Mapping[int, StageRow]:
    """Return the stages whose last attempt failed, by stage id, in the order in which they ended."""
    columns = ["stage_id", "status", "completed_ms", "failure_reason"]
    rows = application.tables["stages"].select(columns).to_pylist()
    last = {row["stage_id"]: row for row in rows}  # sorted by attempt, so the last one remains
    failed = [row for row in last.values() if row["status"] == "failed"]
    return {row["stage_id"]: row for row in sorted(failed, key=lambda row: row["completed_ms"] or 0)}


def _description(text: str | None, query_id: int | None, names: DisplayNames) -> str | None:
    """Return the user's description; if it is empty or is only Spark's call site, return the name of the query."""
    if users := user_description(text):
        return users
    query = names.queries.get(query_id) if query_id is not None else None
    return query.name if query else None


def describe_job(job: JobRow, names: DisplayNames) -> str | None:
    """Return the user's description of a job, else the name of its query, else the name of its last stage."""
    last_stage = max(set(job["stage_ids"]) & names.stages.keys(), default=None)
    return _description(job["description"], job["sql_execution_id"], names) or names.stage_name(last_stage)


def _errors_that_ended_driver(application: Application) -> Sequence[str]:
    failures: list[FailureRow] = application.tables["failures"].to_pylist()
    errors = (
        error_that_ends_driver(row["executor_id"], row["failure_class"], row["failure_reason"]) for row in failures
    )
    return [error for error in errors if error]


def _row(job: JobRow, failed: Mapping[int, StageRow], names: DisplayNames, errors: Sequence[str]) -> JobLiveRow:
    of_job = set(job["stage_ids"])
    stage = next((failed[stage_id] for stage_id in failed if stage_id in of_job), None)
    of_stage = (stage["failure_reason"] if stage else None) or ""
    reason, failure = failure_of_job(job["failure_reason"] or "", of_stage, errors)
    failed_stage = failed_stage_of_job(stage["stage_id"] if stage else None, reason)
    status = CANCELLED if ended_on_purpose(failure) else FAILED
    return {
        "job_id": job["job_id"],
        "description": describe_job(job, names),
        "status": status,
        "elapsed_ms": _elapsed(job["submitted_ms"], job["completed_ms"]),
        "failure_reason": reason or None,
        **_failure_columns(as_harmful(failure) if status == FAILED else failure, reason),
        "failed_stage_id": failed_stage if status == FAILED else None,
    }


def _elapsed(began_ms: int | None, ended_ms: int | None) -> int | None:
    return None if began_ms is None or ended_ms is None else clamp_int64(max(0, ended_ms - began_ms))


def _failure_columns(failure: Failure, reason: str) -> JobLiveRow:
    return {
        "failure_kind": failure.kind,
        "failure": failure.reason,
        "retry": failure.retry,
        "first_cause": first_cause(reason),
    }
