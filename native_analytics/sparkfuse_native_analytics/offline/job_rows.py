"""The view job_live offline: jobs and queries that ended badly, by the same reasoning as detect's (troubles.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.application_row import SUCCEEDED
from sparkfuse_native_analytics.offline.stage_rows import clamp_int64
from sparkfuse_rules.knowledge.failures import (
    CANCELLED,
    FAILED,
    QUERY_FAILED,
    UNKNOWN,
    Failure,
    as_harmful,
    classify,
    ended_on_purpose,
)
from sparkfuse_rules.knowledge.first_cause import first_cause

VIEW = "job_live"
_STAGE_IN_TEXT = re.compile(r"\b(?:[Ss]tage|ResultStage|ShuffleMapStage) (\d{1,9})\b")


def job_rows(application: Application) -> list[dict[str, Any]]:
    """The columns of job_live, a row for each job or query that ended badly, the first to end first."""
    jobs = application.tables["jobs"].to_pylist()
    failed = [job for job in jobs if job["result"] not in (None, SUCCEEDED)]
    queries = _failed_queries(application)
    if not failed and not queries:
        return []
    stages, names = _failed_stages(application), _stage_names(application)
    ended = [(job["completed_ms"] or 0, job["job_id"], _row(job, stages, names)) for job in failed]
    told = {job["sql_execution_id"] for job, (_, _, row) in zip(failed, ended, strict=True) if row["status"] == FAILED}
    # The query around one whose failure is told fails of the same.
    told |= {query["root_execution_id"] for query in queries if query["sql_execution_id"] in told}
    for query in queries:
        if row := _query_row(query, jobs, told - {None}):
            ended.append((query["ended_ms"] or 0, row["job_id"], row))
            told |= {query["sql_execution_id"], query["root_execution_id"]}
    return [row for _, _, row in sorted(ended, key=lambda each: each[:2])]


def _failed_queries(application: Application) -> list[dict[str, Any]]:
    """The SQL executions that failed, the first to end first."""
    executions = application.tables["sql_executions"]
    if executions["failure_reason"].null_count == executions.num_rows:
        return []
    failed = [row for row in executions.to_pylist() if row["failure_reason"]]
    return sorted(failed, key=lambda row: (row["ended_ms"] or 0, row["sql_execution_id"]))


def _query_row(query: Mapping[str, Any], jobs: Iterable[Mapping[str, Any]], told: set[int]) -> dict[str, Any] | None:
    """The row of a query that failed though no job of it did; None where one did, or somebody cancelled it.

    A query that fails before it has any job has no row: programs ask for tables that may not be there, and go on.
    """
    execution, reason = query["sql_execution_id"], query["failure_reason"]
    of_query = [job["job_id"] for job in jobs if job["sql_execution_id"] == execution]
    what = classify(None, reason)
    if not of_query or told & {execution, query["root_execution_id"]} or ended_on_purpose(what):
        return None
    return {
        "job_id": max(of_query),
        "description": query["description"] or None,
        "status": QUERY_FAILED,
        "elapsed_ms": _elapsed(query["started_ms"], query["ended_ms"]),
        "failure_reason": reason,
        **_told(as_harmful(what), reason),
        "failed_stage_id": None,
    }


def _failed_stages(application: Application) -> Mapping[int, Mapping[str, Any]]:
    """The stages whose last attempt failed, by id, the first to end first."""
    columns = ["stage_id", "status", "completed_ms", "failure_reason"]
    rows = application.tables["stages"].select(columns).to_pylist()
    last = {row["stage_id"]: row for row in rows}  # by attempt, so that the last one stays
    failed = [row for row in last.values() if row["status"] == "failed"]
    return {row["stage_id"]: row for row in sorted(failed, key=lambda row: row["completed_ms"] or 0)}


def _stage_names(application: Application) -> Mapping[int, str]:
    rows = application.tables["stages"].select(["stage_id", "name"]).to_pylist()
    return {row["stage_id"]: row["name"] for row in rows if row["name"]}


def _row(job: Mapping[str, Any], failed: Mapping[int, Mapping[str, Any]], names: Mapping[int, str]) -> dict[str, Any]:
    of_job = set(job["stage_ids"])
    stage = next((failed[stage_id] for stage_id in failed if stage_id in of_job), None)
    reason, what = _why(job["failure_reason"] or "", (stage["failure_reason"] if stage else None) or "")
    status = CANCELLED if ended_on_purpose(what) else FAILED
    # What Spark's own pages call a job that its user calls nothing.
    last_stage = max(of_job & names.keys(), default=None)
    return {
        "job_id": job["job_id"],
        "description": job["description"] or (None if last_stage is None else names[last_stage]),
        "status": status,
        "elapsed_ms": _elapsed(job["submitted_ms"], job["completed_ms"]),
        "failure_reason": reason or None,
        **_told(as_harmful(what) if status == FAILED else what, reason),
        "failed_stage_id": _failed_stage(stage, reason) if status == FAILED else None,
    }


def _elapsed(began_ms: int | None, ended_ms: int | None) -> int | None:
    return None if began_ms is None or ended_ms is None else clamp_int64(max(0, ended_ms - began_ms))


def _told(what: Failure, reason: str) -> dict[str, Any]:
    return {
        "failure_kind": what.kind,
        "failure": what.reason,
        "retry": what.retry,
        "first_cause": first_cause(reason),
    }


def _why(of_job: str, of_stage: str) -> tuple[str, Failure]:
    """The job's own text, or that of the stage that failed first where the job's lacks (old logs) or says nothing."""
    found, by_stage = classify(None, of_job), classify(None, of_stage)
    if of_stage and (not of_job.strip() or (found == UNKNOWN and by_stage != UNKNOWN)):
        return of_stage, by_stage
    return of_job, found


def _failed_stage(stage: Mapping[str, Any] | None, reason: str) -> int | None:
    if stage is not None:
        return int(stage["stage_id"])
    named = _STAGE_IN_TEXT.search(reason)
    return int(named[1]) if named else None
