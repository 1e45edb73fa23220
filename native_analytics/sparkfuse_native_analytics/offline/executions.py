"""Finds the queries and jobs of a log that are learned on their own, as in the detect job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_rules.knowledge.long_lived import has_run_long, is_served, key_of_job, key_of_query, serves_queries

_JOB = ("job_id", "completed_ms", "result", "description", "stage_ids", "sql_execution_id")
_QUERY = ("sql_execution_id", "ended_ms", "failure_reason")
_SUCCEEDED = "JobSucceeded"


@dataclass(frozen=True)
class Execution:
    """A query, or a job without a query, that ended: its run key, its end in ms since epoch, and its result."""

    run_key: str
    ended_ms: int
    succeeded: bool


def is_long_lived(application: Application) -> bool:
    """Return whether each query of the application is learned, because the application may never end."""
    if application.started_ms is None or application.until_ms is None:
        return False
    if serves_queries(application.name) or has_run_long(application.started_ms, application.until_ms):
        return True
    return any(is_served(text) for text in application.tables["jobs"]["description"].to_pylist())


def executions_of_stages(application: Application) -> Mapping[int, Execution]:
    """Return the ended query, or the ended job without a query, of each stage; stages without one are absent.

    An execution failed if it or one of its jobs did, or the last attempt of one of its stages.
    """
    jobs = application.tables["jobs"].select(_JOB).to_pylist()
    stages = application.tables["stages"].select(["stage_id", "sql_execution_id", "status"]).to_pylist()
    # Rows are sorted by attempt, so the last one remains.
    last = {stage["stage_id"]: stage for stage in stages}
    failed_stages = {stage_id for stage_id, stage in last.items() if stage["status"] == "failed"}
    failed = {job["sql_execution_id"] for job in jobs if job["completed_ms"] and job["result"] != _SUCCEEDED}
    failed |= {last[stage_id]["sql_execution_id"] for stage_id in failed_stages}
    queries = {
        query["sql_execution_id"]: Execution(
            key_of_query(application.run_key, query["sql_execution_id"]),
            query["ended_ms"],
            not query["failure_reason"] and query["sql_execution_id"] not in failed,
        )
        for query in application.tables["sql_executions"].select(_QUERY).to_pylist()
        if query["ended_ms"] is not None
    }
    of_jobs: dict[int, Execution] = {}
    for job in sorted(jobs, key=lambda each: (each["completed_ms"] or 0, each["job_id"])):
        if job["sql_execution_id"] is None and job["completed_ms"]:
            run_key = key_of_job(application.run_key, job["job_id"])
            stage_ids = job["stage_ids"] or ()
            succeeded = job["result"] == _SUCCEEDED and failed_stages.isdisjoint(stage_ids)
            execution = Execution(run_key, job["completed_ms"], succeeded)
            for stage_id in stage_ids:
                of_jobs.setdefault(stage_id, execution)
    return {
        stage["stage_id"]: ended
        for stage in stages
        if (ended := queries.get(stage["sql_execution_id"]) or of_jobs.get(stage["stage_id"]))
    }
