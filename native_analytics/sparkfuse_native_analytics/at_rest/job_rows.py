"""The view job_live at rest: the jobs that ended badly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkfuse_native_analytics.at_rest.application import Application
from sparkfuse_native_analytics.at_rest.application_row import SUCCEEDED
from sparkfuse_native_analytics.at_rest.stage_rows import held
from sparkfuse_rules.knowledge.causes import first_cause
from sparkfuse_rules.knowledge.failures import classify

VIEW = "job_live"
_CANCELLED = frozenset({"cancelled", "context_stopped"})


def job_rows(application: Application) -> list[dict[str, Any]]:
    """The columns of job_live, a row for each job that ended badly, the first to end first."""
    jobs = application.tables["jobs"].to_pylist()
    failed = [job for job in jobs if job["result"] not in (None, SUCCEEDED)]
    if not failed:
        return []
    stages = _failed_stages(application)
    return [_row(job, stages) for job in sorted(failed, key=lambda job: (job["completed_ms"] or 0, job["job_id"]))]


def _failed_stages(application: Application) -> Mapping[int, Mapping[str, Any]]:
    """The stages whose last attempt failed, by id, the first to end first."""
    columns = ["stage_id", "status", "completed_ms", "failure_reason"]
    rows = application.tables["stages"].select(columns).to_pylist()
    last = {row["stage_id"]: row for row in rows}  # by attempt, so that the last one stays
    failed = [row for row in last.values() if row["status"] == "failed"]
    return {row["stage_id"]: row for row in sorted(failed, key=lambda row: row["completed_ms"] or 0)}


def _row(job: Mapping[str, Any], failed: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    of_job = set(job["stage_ids"])
    stage = next((failed[stage_id] for stage_id in failed if stage_id in of_job), None)
    # The job's own text lacks in old logs.
    reason = job["failure_reason"] or (stage["failure_reason"] if stage else None)
    what = classify(None, reason)
    elapsed = None
    if job["completed_ms"] is not None and job["submitted_ms"] is not None:
        elapsed = held(max(0, job["completed_ms"] - job["submitted_ms"]))
    return {
        "job_id": job["job_id"],
        "description": job["description"],
        "status": "cancelled" if what.reason in _CANCELLED else "failed",
        "elapsed_ms": elapsed,
        "failure_reason": reason,
        "failure_kind": what.kind,
        "failure": what.reason,
        "retry": what.retry,
        "first_cause": first_cause(reason),
        "failed_stage_id": stage["stage_id"] if stage else None,
    }
